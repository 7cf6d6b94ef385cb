"""From demand and usage to a capacity model per service."""
