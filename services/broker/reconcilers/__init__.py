"""The broker's loops."""
