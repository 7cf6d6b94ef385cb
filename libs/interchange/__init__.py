"""The interchange file formats: arrays in, arrays out."""
