"""What `./scripts/bench` runs: a file per benchmark. It may use everything; nothing uses it."""
