"""Render the overlays with Kustomize."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders.deployment import ROOT, program

Objects = list[dict[str, Any]]


@pytest.fixture(scope="session", params=["small", "highly-available"])
def overlay(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def rendered(overlay: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file with all objects of an overlay."""
    told = program("kubectl", "kustomize", ROOT / "k8s" / "overlays" / overlay)
    assert told.returncode == 0, told.stderr
    path = tmp_path_factory.mktemp("k8s") / f"{overlay}.yaml"
    path.write_text(told.stdout)
    return path


@pytest.fixture(scope="session")
def objects(rendered: Path) -> Objects:
    return list(yaml.safe_load_all(rendered.read_text()))
