"""A solve in one file, to be run again anywhere."""
