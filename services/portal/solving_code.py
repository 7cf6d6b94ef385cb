"""Load the solver's code late, because only dry runs and explanations need it.

The solver's code takes half as long to load as all other code of the portal. So callers import it inside functions, and
a thread loads it soon after the app is made. A request that needs the code earlier waits until it is loaded.
"""

from __future__ import annotations

from importlib import import_module
from threading import Timer

_FIRST_S = 1.0
"""Seconds to wait before loading. The process becomes ready and answers readiness probes in this time."""
_WHAT_USES_IT = (
    "services.portal.approval_effects",
    "services.portal.dry_run",
    "services.portal.api.explanation_out",
    "services.portal.explain_reservation",
)


def load_solving_code() -> None:
    """Load the code soon, and return at once. Call it at the end of a process's start."""
    later = Timer(_FIRST_S, _load)
    later.name, later.daemon = "load-solving-code", True
    later.start()


def _load() -> None:
    for module in _WHAT_USES_IT:
        import_module(module)
    from libs.assignment import load_solver
    from libs.ras.solve import SOLVER

    load_solver(SOLVER)
