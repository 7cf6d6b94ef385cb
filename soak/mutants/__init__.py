"""Defects planted in the platform on purpose, to test that the soak finds them. Only this folder knows them."""
