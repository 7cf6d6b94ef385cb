"""The scheduler: decide which job is due, for which region."""
