"""The `plimsoll` command."""
