"""Problems of the assignment library, from files."""
