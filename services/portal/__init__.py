"""Capacity requests and reservations: the public face."""
