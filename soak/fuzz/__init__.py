"""Requests drawn from the API's own document, and what is wrong with the answers."""
