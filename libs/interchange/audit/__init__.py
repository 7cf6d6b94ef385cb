"""Files of old audit entries."""
