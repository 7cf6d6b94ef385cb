"""What can be wanted of an assignment, one spec a file."""
