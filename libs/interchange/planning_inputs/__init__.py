"""Planning inputs as people send them: formats, checks of rows and of sets, differences."""
