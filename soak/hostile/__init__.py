"""A client that means harm, and what the API says to it."""
