"""What specs are made of: expressions whose values are arrays over rows (scope items) and columns (groups)."""
