from collections.abc import Mapping
from typing import Any

import pytest

from libs.domain.principal import Role
from libs.identity.issuers_file import parse_issuers
from libs.identity.rules import Access, evaluate, values_of

RULES = """
      - {when: {groups: admins, mfa: true}, role: admin}
      - {when: {groups: suspended}, role: viewer}
      - {when: {groups: 'capacity-{owner}'}, role: requester}
      - {when: {groups: platform}, role: requester, owners: [web, db]}
"""


def access(claims: Mapping[str, Any], rules: str = RULES) -> Access:
    [issuer] = parse_issuers("issuers: [{name: a, issuer: https://a, audience: b, rules: []}]".replace("[]", "[]"))
    content = "issuers:\n  - name: a\n    issuer: https://a\n    audience: b\n    rules:" + rules
    [issuer] = parse_issuers(content)
    return evaluate(issuer, claims)


@pytest.mark.parametrize(
    ("claims", "role", "owners"),
    [
        ({"groups": ["admins"], "mfa": True}, Role.ADMIN, set()),
        ({"groups": ["admins"], "mfa": "false"}, None, set()),
        ({"groups": ["admins", "suspended", "capacity-ads"], "mfa": False}, Role.VIEWER, set()),
        ({"groups": ["capacity-ads", "capacity-search", "lunch"]}, Role.REQUESTER, {"ads", "search"}),
        ({"groups": ["platform", "capacity-ads"]}, Role.REQUESTER, {"ads", "web", "db"}),
        ({"groups": "platform"}, Role.REQUESTER, {"web", "db"}),
        ({"groups": ["capacity-", "Platform", "xcapacity-a"]}, None, set()),
        ({"groups": [["platform"], {"platform": 1}, None, 3.5]}, None, set()),
        ({"groups": ["capacity-" + "x" * 201]}, None, set()),
        ({}, None, set()),
    ],
)
def test_the_first_rule_that_matches_gives_the_role(
    claims: Mapping[str, Any], role: Role | None, owners: set[str]
) -> None:
    found = access(claims)
    assert (found.role, set(found.owners)) == (role, owners)


def test_a_rule_for_anyone() -> None:
    assert access({}, "\n      - {when: anyone, role: viewer}\n").role is Role.VIEWER


def test_a_dot_leads_into_a_claim_unless_a_claim_has_the_whole_name() -> None:
    claims = {"a.b": "whole", "a": {"b": ["within", 7, True], "c": {"d": "deep"}}}
    assert values_of(claims, "a.b") == ("whole",)
    assert values_of({"a": claims["a"]}, "a.b") == ("within", "7", "true")
    assert values_of(claims, "a.c.d") == ("deep",)
    assert values_of(claims, "a.c.d.e") == values_of(claims, "a.c") == values_of(claims, "x") == ()


@pytest.mark.parametrize(
    "claims",
    [{"_claim_names": {"groups": "src1", "other": "src2"}}, {"hasgroups": True}, {"hasgroups": "true"}],
)
def test_groups_that_entra_left_out_are_not_the_same_as_none(claims: Mapping[str, Any]) -> None:
    assert access(claims).left_out == ("groups",)
    assert access({**claims, "groups": []}).left_out == ()
    assert access({"_claim_names": ["groups"], "hasgroups": False}).left_out == ()
