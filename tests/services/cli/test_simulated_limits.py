"""A what-if shows the places whose limits it touches, and leaves the others out."""

import pytest

from services.cli.simulated_limits import show_power, show_uplinks

ABOVE = {"racks": 0, "gbit": 0.0}


def rack(name: str, *, now: tuple[float | None, float | None], then: tuple[float | None, float | None]) -> dict:
    return {
        "rack": name,
        "limit_gbit_now": now[0],
        "free_gbit_now": now[1],
        "limit_gbit": then[0],
        "free_gbit_after": then[1],
    }


def test_uplinks_that_do_not_change_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    racks = [
        rack("lifted", now=(20.0, 5.0), then=(None, None)),
        rack("new", now=(None, None), then=(20.0, 5.0)),
        rack("fuller", now=(20.0, 5.0), then=(20.0, 4.0)),
        rack("same", now=(20.0, 5.0), then=(20.0, 5.0 + 1e-12)),
    ]
    show_uplinks({"racks": racks, "limits": 3, "now": ABOVE, "after": ABOVE}, "after")
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines()[1:5]] == ["RACK", "lifted", "new", "fuller"]
    assert "same" not in said
    assert "In all, 3 racks would have a limit on the uplink." in said
    show_uplinks({"racks": racks[3:], "limits": 1, "now": ABOVE, "after": ABOVE}, "after")
    assert capsys.readouterr().out == "racks above their uplinks: 0 by 0.0 Gbit/s now, 0 by 0.0 Gbit/s after\n"


def test_likewise_power(capsys: pytest.CaptureFixture[str]) -> None:
    same = {"kind": "msb", "headroom": 0.1, "limit_w_now": 9e5, "limit_w": 9e5, "free_w_now": 1e4}
    domains = [same | {"domain": "msb-0", "free_w_after": 1e4}, same | {"domain": "msb-1", "free_w_after": 2e4}]
    show_power(domains, 2, "after")
    said = capsys.readouterr().out
    assert ("msb-0" in said, "msb-1" in said) == (False, True)


def test_many_that_change_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    racks = [rack(f"r{k}", now=(20.0, 5.0), then=(20.0, 4.0)) for k in range(23)]
    show_uplinks({"racks": racks, "limits": 40, "now": ABOVE, "after": ABOVE}, "after")
    assert "and 3 more racks that change; --output json has them" in capsys.readouterr().out
