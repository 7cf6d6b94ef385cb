"""Pages that people look at. They are a client of the REST API (docs/designs/0042-pages.md)."""
