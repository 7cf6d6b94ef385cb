"""What every HTTP service shares: problem documents, tokens, idempotency, generations, cursors."""
