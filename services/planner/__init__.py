"""Traces, use and inputs -> service models -> a plan of capacity and traffic over regions, weekly and on demand."""
