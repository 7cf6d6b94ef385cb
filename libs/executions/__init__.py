"""Changes of executions that several services make: answers to commands, and the writes behind them."""
