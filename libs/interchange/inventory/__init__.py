"""Lists of servers from any source."""
