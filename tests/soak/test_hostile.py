"""What a bomb's outcome is complained of."""

from collections import Counter

from soak.hostile.attack import NO_ANSWER, Outcome
from soak.hostile.bombs import BUSY


def said(answers: dict[int, int], **more: object) -> list[str]:
    outcome = Outcome("x", frozenset({413}), Counter(answers), **more)  # type: ignore[arg-type]
    return outcome.complaints(rss_bytes_max=100 << 20, healthz_s_max=1.0)


def test_what_is_wrong_is_said() -> None:
    assert said({413: 3, BUSY: 2}) == []
    assert said({413: 3, 500: 1}) == ["x: 500 1 times"]
    assert said({413: 3, 200: 1}) == ["x: 200 1 times"]
    assert said({413: 3, NO_ANSWER: 1}) == ["x: no answer 1 times"]
    assert said({BUSY: 9}) == ["x: it was told to come again every time, so it was never read"]
    assert said({413: 1}, died=True) == ["x: the API's process ended"]
    assert said({413: 1}, rss_bytes=200 << 20) == ["x: the API took 200 MiB"]
    assert said({413: 1}, healthz_s=1.5) == ["x: /healthz took 1.50 s"]
