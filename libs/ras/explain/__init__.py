"""Explain the servers of a reservation. Every claim comes from another solve."""
