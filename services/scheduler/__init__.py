"""The scheduler: which job is due, for which region."""
