"""`plimsoll flux`: service models and plans from files alone."""
