"""A stale attempt is repeated a limited number of times, and every other error passes at once."""

import pytest

from libs.reconcile.errors import StaleGeneration
from libs.reconcile.retry import ATTEMPTS_MAX, retry_stale
from libs.store.platform.refusals import AlreadyExists, NotFound, is_stale

STALE = StaleGeneration("server", "s1", expected=1, found=2)


class Attempts:
    """Raises these errors one after the other, then returns the number of attempts."""

    def __init__(self, *errors: Exception) -> None:
        self.errors, self.made, self.noted = list(errors), 0, list[tuple[int, Exception]]()

    def __call__(self) -> int:
        self.made += 1
        if self.errors:
            raise self.errors.pop(0)
        return self.made

    def run(self) -> int:
        return retry_stale(self, stale=is_stale, note=lambda number, error: self.noted.append((number, error)))


def test_a_stale_attempt_is_made_again() -> None:
    gone, taken = NotFound("reservation", 7), AlreadyExists("reservation", "web")
    attempts = Attempts(STALE, gone, taken)
    assert attempts.run() == 4
    assert attempts.noted == [(1, STALE), (2, gone), (3, taken)]


@pytest.mark.parametrize("error", [NotFound("region", "west"), ValueError("a mistake of ours")])
def test_any_other_error_goes_through_at_once(error: Exception) -> None:
    attempts = Attempts(STALE, error, STALE)
    with pytest.raises(type(error)) as raised:
        attempts.run()
    assert raised.value is error
    assert (attempts.made, attempts.noted) == (2, [(1, STALE)])


def test_the_last_of_many_stale_attempts_raises() -> None:
    attempts = Attempts(*[STALE] * (ATTEMPTS_MAX + 1))
    with pytest.raises(StaleGeneration):
        attempts.run()
    assert (attempts.made, len(attempts.noted)) == (ATTEMPTS_MAX, ATTEMPTS_MAX)
