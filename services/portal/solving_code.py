"""The solver's code, which a portal needs for dry runs and explanations alone.

It takes half as long to load as all the rest. So what uses it is imported where it is called, and loaded in a thread
soon after the app is made: the first requests come before it, and who needs it waits for what is left.
"""

from __future__ import annotations

from importlib import import_module
from threading import Timer

_FIRST_S = 1.0
"""The process becomes ready meanwhile, and answers who waits for that."""
_WHAT_USES_IT = (
    "services.portal.dry_run",
    "services.portal.api.explanation_out",
    "services.portal.explain_reservation",
)


def load_solving_code() -> None:
    """Load it soon, and return at once. For the end of a process's own start."""
    later = Timer(_FIRST_S, _load)
    later.name, later.daemon = "load-solving-code", True
    later.start()


def _load() -> None:
    for module in _WHAT_USES_IT:
        import_module(module)
