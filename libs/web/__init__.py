"""The parts that all HTTP services share: problem documents, tokens, idempotency, generations, cursors."""
