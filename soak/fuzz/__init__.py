"""Random requests, drawn from the API's own document, and checks of their answers."""
