"""An unknown name is answered with near ones, also where very many are known."""

import pytest

from libs.web import names
from libs.web.names import unknown_name


def test_of_few_names_all_are_compared() -> None:
    known = {f"rack-{k:03d}" for k in range(1000)}
    assert unknown_name("rack", "rack", "tack-007", known).known[0] == "rack-007"


@pytest.mark.parametrize("name", ["rack-01234", "rack-", "aaa", "zzz"])
def test_of_many_names_those_with_the_same_beginning_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def near(word: str, known: list[str], **_: object) -> list[str]:
        compared.append(len(known))
        return [one for one in known if word == "rack-01234" and one.startswith(word)]

    monkeypatch.setattr(names, "get_close_matches", near)
    error = unknown_name("rack", "rack", name, {f"rack-{k:06d}" for k in range(30_000)})
    assert compared[0] <= 1100, "30,000 names took a second, and a request may have 100 wrong ones"
    assert error.known[0] == ("rack-012340" if name == "rack-01234" else "rack-000000")


@pytest.mark.parametrize("name", ["tack-012345", "ack-012345", "rrack-012345", "arck-012345"])
def test_of_many_names_those_one_slip_away_are_compared_too(name: str) -> None:
    error = unknown_name("rack", "rack", name, {f"rack-{k:06d}" for k in range(30_000)})
    assert "rack-012345" in error.known
