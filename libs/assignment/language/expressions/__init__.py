"""Build specs from expressions: arrays over rows (scope items) and columns (groups)."""
