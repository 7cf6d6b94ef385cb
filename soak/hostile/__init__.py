"""A hostile client, and checks of the API's answers to it."""
