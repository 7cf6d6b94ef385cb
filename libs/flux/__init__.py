"""Flux: attribution, baselines, service models, the joint program of capacity and traffic, and its execution plan."""
