"""The retention of each table, and the deletion of what is older."""
