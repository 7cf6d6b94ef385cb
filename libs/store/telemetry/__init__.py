"""Spans, usage and traffic: batches, sums, samples, sources and names."""
