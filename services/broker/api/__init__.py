"""Routers of the broker, one per resource."""
