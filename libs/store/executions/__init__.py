"""Executions of placement plans. docs/designs/0035 says what they promise."""
