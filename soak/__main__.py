"""Run the soak that the first argument names."""

from __future__ import annotations

import sys
from collections.abc import Callable

from soak.api_command import soak_api
from soak.faults_command import judge_again, soak_faults
from soak.hostile_command import soak_hostile
from soak.mutants_command import soak_mutants
from soak.promise_command import soak_promise
from soak.shrink import shrink_history
from soak.solves_command import soak_solves

SOAKS: dict[str, Callable[[list[str]], int]] = {
    "api": soak_api,
    "faults": soak_faults,
    "hostile": soak_hostile,
    "judge": judge_again,
    "mutants": soak_mutants,
    "promise": soak_promise,
    "shrink": shrink_history,
    "solves": soak_solves,
}
"""Soak by name: a function from arguments to an exit status. A new soak is one file and one entry here."""


def main() -> int:
    """Run the soak that the first argument names, and return its exit status."""
    if len(sys.argv) < 2 or sys.argv[1] not in SOAKS:
        sys.exit(f"usage: soak {{{','.join(SOAKS)}}} ...")
    return SOAKS[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
