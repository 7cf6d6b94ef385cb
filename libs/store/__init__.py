"""The only SQL: one file per noun, returning domain objects or arrays."""
