"""Python imports this first, in processes whose PYTHONPATH has this folder: those of `soak mutants`, and no others."""

import os

if os.environ.get("SOAK_MUTANT"):
    from soak.mutants.plant import plant

    plant(os.environ["SOAK_MUTANT"])
