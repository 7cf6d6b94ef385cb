"""The loop: every kind of job, its retry on stale reads, the clock, and the errors that a stale write raises."""
