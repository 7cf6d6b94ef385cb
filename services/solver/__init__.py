"""Reservations and servers -> target bindings, hourly and on demand."""
