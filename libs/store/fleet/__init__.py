"""Regions, servers, their places and types, their unavailability, and a region as arrays."""
