"""The words of the product as frozen dataclasses and enums. Imports nothing of ours."""
