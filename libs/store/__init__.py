"""The only SQL of Plimsoll. One file per noun; functions return domain objects or arrays."""
