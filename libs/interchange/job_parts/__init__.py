"""The content and the answers of parts of jobs, which workers of other machines read."""
