"""Explanations, reviews, summaries and pictures of plans."""
