"""Load cost models from packages: a distribution on the path, with an entry point, as an installer leaves it."""

import json
import sys

import numpy as np
import pytest

from libs.domain.cost_model import Measured
from libs.flux.models.cost_models import CostModelError, installed_attributions
from services.cli.main import main
from tests.builders.world import write_table, write_world


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a package with one cost model on the path."""
    imported = []

    def install(service, body, package="store-costs"):
        module, folder = package.replace("-", "_"), tmp_path / package
        info = folder / f"{module}-1.2.dist-info"
        info.mkdir(parents=True)
        (folder / f"{module}.py").write_text(f"def attribute(measured):\n    {body}\n")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[plimsoll.cost_models]\n{service} = {module}:attribute\n")
        monkeypatch.syspath_prepend(str(folder))
        imported.append(module)

    yield install
    for module in imported:
        sys.modules.pop(module, None)


@pytest.fixture
def measured():
    return Measured(
        services=np.array(["front", "store"], object),
        products=np.array(["shop", "feed"], object),
        regions=np.array(["east"], object),
        minute=np.arange(2),
        usage=np.ones((2, 1, 2)),
        traffic=np.ones((2, 1, 2)),
        calls=np.array([[3.0, 0.0], [1.0, 3.0]]),
        cpu=np.zeros((2, 2)),
        requests=np.ones(2),
    )


def test_an_installed_model_speaks_for_its_service_alone(install, measured):
    install("store", "return dict(zip(measured.products, measured.calls[1] / measured.calls[1].sum()))")
    found = installed_attributions(measured)
    assert found[1] == pytest.approx([0.25, 0.75])
    assert np.isnan(found[0]).all()


def test_the_table_of_the_world_wins(install, measured):
    install("store", "raise RuntimeError('asked')")
    stated = np.array([[np.nan, np.nan], [0.9, 0.1]])
    assert installed_attributions(measured, stated)[1].tolist() == [0.9, 0.1]


def test_models_of_other_worlds_are_left_alone(install, measured):
    install("tao", "raise RuntimeError('asked')")
    assert np.isnan(installed_attributions(measured)).all()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("raise KeyError('disk')", "failed: KeyError: 'disk'"),
        ("return 0.5", "answered float"),
        ("return {'shop': 0.5, 'video': 0.5}", "names 'video', which is not a product of this world: shop, feed"),
        ("return {'shop': float('nan')}", "says nan of shop"),
        ("return {'shop': True}", "says True of shop"),
        ("return {'shop': 1.5, 'feed': -0.5}", "says -0.5 of feed: below 0"),
        ("return {'shop': 0.5, 'feed': 0.4}", "sum to 0.9"),
        ("return {}", "sum to 0"),
    ],
)
def test_what_is_wrong_with_a_model_is_named(install, measured, body, says):
    install("store", body)
    with pytest.raises(CostModelError) as caught:
        installed_attributions(measured)
    assert says in str(caught.value)
    assert "store: the cost model store_costs:attribute of store-costs 1.2" in str(caught.value)


def test_two_packages_for_one_service_are_refused(install, measured):
    install("store", "return {'shop': 1.0}")
    install("store", "return {'feed': 1.0}", package="other-costs")
    with pytest.raises(CostModelError, match="two packages"):
        installed_attributions(measured)


def test_the_command_uses_it_and_says_so(install, tmp_path, monkeypatch):
    world, out = write_world(tmp_path / "world", traces=40), tmp_path / "model.json"
    install("store", "return {'shop': 0.75, 'feed': 0.25}")
    monkeypatch.setattr("sys.argv", ["plimsoll", "flux", "model", str(world), "--out", str(out)])

    def modelled():
        with pytest.raises(SystemExit) as left:
            main()
        assert not left.value.code
        return json.loads(out.read_text())["services"]["store"]

    found = modelled()
    assert (found["metric"], found["attribution"]) == ("custom", {"shop": 0.75, "feed": 0.25})
    write_table(world, "cost_models", ["service", "product", "share"], [["store", "shop", 0.3], ["store", "feed", 0.7]])
    assert modelled()["attribution"] == {"shop": 0.3, "feed": 0.7}


def test_the_command_names_a_model_that_fails(install, tmp_path, monkeypatch, capsys):
    world = write_world(tmp_path / "world", traces=10)
    install("store", "return {'shop': 2.0}")
    monkeypatch.setattr("sys.argv", ["plimsoll", "flux", "model", str(world), "--out", str(tmp_path / "m.json")])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert "store-costs 1.2" in capsys.readouterr().err
