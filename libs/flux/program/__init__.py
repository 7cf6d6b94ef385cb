"""The joint program of capacity and traffic, and its solution."""
