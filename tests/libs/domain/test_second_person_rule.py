"""A token cannot approve what it asked for."""

import pytest

from libs.domain.approval import ApprovalLimits
from libs.domain.second_person_rule import lacks_second_person


@pytest.mark.parametrize(
    ("four_eyes", "actor", "lacks"), [(True, "olga", True), (True, "otto", False), (False, "olga", False)]
)
def test_a_second_person_is_anybody_who_did_not_ask(four_eyes: bool, actor: str, lacks: bool) -> None:
    assert lacks_second_person(ApprovalLimits(four_eyes=four_eyes), ["rita", "olga"], actor) is lacks
