"""Routers of the portal, one per resource."""
