"""Hold one folder per deployable process. Services meet in tables and over HTTP, and never import each other."""
