"""Keep a call of `solve` in one file, to run it again anywhere."""
