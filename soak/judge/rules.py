"""All rules, and the judge that asks each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from soak.history import History
from soak.judge.answers import generations_only_grow, no_internal_error, one_key_one_answer, same_generation_same_row
from soak.judge.bindings import granted_is_covered, moves_end_where_they_say, one_reservation_at_a_time
from soak.judge.effects import deletes_stay_deleted, done_at_most_once, done_is_kept, done_is_on_the_trail
from soak.judge.phases import phases_go_forward
from soak.judge.quiet import comes_to_rest
from soak.judge.violation import Violation

RULES: tuple[Callable[[History], Iterator[Violation]], ...] = (
    no_internal_error,
    one_key_one_answer,
    generations_only_grow,
    same_generation_same_row,
    phases_go_forward,
    done_is_kept,
    done_at_most_once,
    done_is_on_the_trail,
    deletes_stay_deleted,
    one_reservation_at_a_time,
    moves_end_where_they_say,
    granted_is_covered,
    comes_to_rest,
)


def judge(history: History) -> list[Violation]:
    """All that is wrong, by rule."""
    return [violation for rule in RULES for violation in rule(history)]
