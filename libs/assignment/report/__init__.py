"""Report answers in names, as tables and frames, with explanations."""
