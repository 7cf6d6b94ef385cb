"""Compiled functions: how they are compiled and cached, and the little that all of them share."""
