"""The base of the store: connections, transactions, jobs, schedules, tokens, audit, and bulk reads and writes."""
