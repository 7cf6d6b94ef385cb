"""The terms of the product as frozen dataclasses and enums. This package imports no other package of Plimsoll."""
