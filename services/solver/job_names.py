"""What the solver's jobs are called: the API asks for them, and need not load what does them."""

from __future__ import annotations

SOLVE = "solve"
SIMULATE = "simulate"
