"""The world folder: measurements, planning inputs, service models and plans."""
