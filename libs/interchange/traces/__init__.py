"""Trace files of several tracing systems as arrays of spans, a batch at a time."""
