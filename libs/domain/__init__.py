"""The words of the product as frozen dataclasses and enums. This package imports nothing of ours."""
