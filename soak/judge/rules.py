"""All rules, and the judge that applies them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from soak.history import History
from soak.judge.answers import (
    generations_only_grow,
    no_internal_error,
    one_key_one_answer,
    same_generation_same_row,
    shown_is_found,
)
from soak.judge.bindings import (
    granted_is_covered,
    grants_take_what_is_free,
    lineage_is_a_chain,
    moves_end_where_they_say,
    one_reservation_at_a_time,
)
from soak.judge.effects import deletes_stay_deleted, done_at_most_once, done_is_kept, one_write_a_generation
from soak.judge.executions import (
    capacity_comes_before_traffic,
    executions_end_where_they_say,
    ledger_shows_what_happened,
    nothing_is_ordered_twice,
    one_execution_at_a_place,
    orders_are_of_active_events,
)
from soak.judge.phases import phases_go_forward
from soak.judge.quiet import (
    comes_to_rest,
    jobs_fail_for_our_faults_only,
    leases_are_taken_back,
    runs_fail_for_our_faults_only,
)
from soak.judge.trail import done_is_on_the_trail
from soak.judge.violation import Violation
from soak.judge.world import joined_clean, joined_once, world_agrees

Rule = Callable[[History], Iterator[Violation]]
AT_ANY_TIME: tuple[Rule, ...] = (
    no_internal_error,
    one_key_one_answer,
    shown_is_found,
    generations_only_grow,
    same_generation_same_row,
    phases_go_forward,
    deletes_stay_deleted,
    one_write_a_generation,
    joined_once,
    joined_clean,
    grants_take_what_is_free,
    leases_are_taken_back,
    nothing_is_ordered_twice,
    ledger_shows_what_happened,
    one_execution_at_a_place,
    capacity_comes_before_traffic,
)
"""Rules that can be applied during a run."""
RULES: tuple[Rule, ...] = (
    *AT_ANY_TIME,
    done_is_kept,
    done_at_most_once,
    done_is_on_the_trail,
    one_reservation_at_a_time,
    moves_end_where_they_say,
    granted_is_covered,
    lineage_is_a_chain,
    world_agrees,
    orders_are_of_active_events,
    executions_end_where_they_say,
    comes_to_rest,
    jobs_fail_for_our_faults_only,
    runs_fail_for_our_faults_only,
)


def judge(history: History, rules: Iterable[Rule] = RULES) -> list[Violation]:
    """Return all violations, by rule."""
    return [violation for rule in rules for violation in rule(history)]
