"""A folder is one deployable process; they meet in tables and HTTP, never by import."""
