"""Readers and writers of the interchange file formats, between files and arrays."""
