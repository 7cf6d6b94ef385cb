"""The kind of the MSBs is written in two ways, and requests may use either."""

from pydantic import TypeAdapter

from libs.web.domain_kinds import PlaceKind, PoweredKind


def test_msbs_may_be_written_in_both_ways() -> None:
    of_place, of_power = TypeAdapter(PlaceKind), TypeAdapter(PoweredKind)
    assert [of_place.validate_python(kind) for kind in ("MSB", "msb", "rack", "Msb")] == ["msb", "msb", "rack", "Msb"]
    assert [of_power.validate_python(kind) for kind in ("MSB", "msb", "row")] == ["MSB", "MSB", "row"]
