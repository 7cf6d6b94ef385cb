"""Files of any format: atomic writes, bounds, tables, and errors that name the place."""
