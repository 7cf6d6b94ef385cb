"""Install a mutant. Python imports this first in processes with this folder in PYTHONPATH: those of `soak mutants`."""

import os

if os.environ.get("SOAK_MUTANT"):
    from soak.mutants.plant import plant

    plant(os.environ["SOAK_MUTANT"])
