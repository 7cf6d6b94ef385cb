"""From spans to the demand of each product in each service."""
