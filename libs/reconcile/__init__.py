"""The loop, the clock, generations, and the errors a stale write raises."""
