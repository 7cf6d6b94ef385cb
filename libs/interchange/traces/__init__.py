"""Readers of trace files of several tracing systems, as arrays of spans in batches."""
