"""Compute target bindings from reservations and servers, hourly and on demand."""
