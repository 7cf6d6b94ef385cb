from pathlib import Path

import pytest

from libs.domain.principal import Role
from libs.identity.issuers import Rule
from libs.identity.issuers_file import parse_issuers, read_issuers
from libs.identity.yaml_places import FileError

WHOLE = """\
issuers:
  - name: corp
    issuer: https://login.example.org/realms/corp
    audience: [plimsoll, api://plimsoll]
    algorithms: [RS256, ES256]
    token_types: [at+jwt]
    person_claim: oid
    login: {client_id: plimsoll-cli, pages_client_id: plimsoll-pages, scopes: [openid, profile]}
    rules:
      - {when: {groups: plimsoll-admins, mfa: true}, role: admin}
      - when: {realm.groups: 'capacity-{owner}'}
        role: requester
        owners: [shared]
      - {when: anyone, role: viewer}
  - name: cluster
    issuer: https://kubernetes.default.svc.cluster.local
    audience: plimsoll
    keys: {url: https://kubernetes.default.svc/openid/v1/jwks, token_file: /var/run/token}
    rules:
      - {when: {sub: 'system:serviceaccount:health:reporter'}, role: health}
"""


def test_a_whole_file() -> None:
    corp, cluster = parse_issuers(WHOLE)
    assert (corp.name, corp.audiences, corp.algorithms) == ("corp", ("plimsoll", "api://plimsoll"), ("RS256", "ES256"))
    assert (corp.token_types, corp.person_claim) == (("at+jwt",), "oid")
    assert corp.login is not None
    assert corp.login.scopes == ("openid", "profile")
    assert corp.login.pages_client_id == "plimsoll-pages"
    assert corp.rules[0] == Rule(
        when=(("groups", "plimsoll-admins"), ("mfa", "true")), role=Role.ADMIN, owners=(), line=10
    )
    assert (corp.rules[1].owners, corp.rules[2].when) == (("shared",), ())
    assert (cluster.source.token_file, cluster.login) == (Path("/var/run/token"), None)
    assert (cluster.algorithms, cluster.person_claim) == (("RS256",), "sub")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("role: admin", "role: admn", r"line 10: issuers\[0\].rules\[0\].role is admn, .* did you mean admin\?"),
        ("name: cluster", "name: corp", r"line 15: issuers\[1\].name is that of issuers\[0\] too"),
        ("name: cluster", "name: 'a|b'", r"line 15: issuers\[1\].name may have letters"),
        ("audience: plimsoll", "audince: x", r"line 17: issuers\[1\].audince is unknown: did you mean audience\?"),
        ("    audience: plimsoll\n", "", r"line 15: issuers\[1\] has no audience"),
        ("[RS256, ES256]", "[HS256]", r"line 5: issuers\[0\].algorithms\[0\] is HS256, which is unknown"),
        ("[RS256, ES256]", "[none]", r"line 5: issuers\[0\].algorithms\[0\] is none"),
        ("[RS256, ES256]", "[]", r"line 5: issuers\[0\].algorithms must name at least one"),
        ("https://login", "http://login", r"line 3: .*PLIMSOLL_ISSUERS_HTTP_ALLOWED"),
        ("https://login", "ldap://login", r"line 3: issuers\[0\].issuer must begin with https"),
        ("when: anyone", "when: {}", r"line 14: issuers\[0\].rules\[2\].when must name 1 to 10 claims"),
        ("when: anyone, role", "role", r"line 14: issuers\[0\].rules\[2\] has no when"),
        ("mfa: true", "mfa: null", r"line 10: issuers\[0\].rules\[0\].when.mfa must be a text"),
        ("mfa: true", "groups: x", r"line 10: issuers\[0\].rules\[0\].when has groups twice"),
        ("'capacity-{owner}'", "'{owner}-{owner}'", r"line 11: .* more than once"),
        ("role: viewer}", "role: viewer, owners: [x]}", r"line 14: .*owners names owners; only a requester"),
        ("groups: plimsoll-admins", "groups: 'x-{owner}'", r"line 10: .*when names owners; only a requester"),
        (
            "/var/run/token}",
            "/var/run/token, ca_file: /none.pem}",
            r"line 18: issuers\[1\].keys.ca_file cannot be used",
        ),
        ("name: cluster", "name: &x cluster", r"line 15: anchors and aliases are not allowed"),
        ("rules:\n      - {when: {sub", "rules:\n     - - {when: {sub", r"rules\[0\] must be a mapping"),
        ("issuers:\n", "issuers: [}\n", r"line 1: is not YAML"),
        (WHOLE, "", "line 1: the file is empty"),
        (WHOLE, "[" * 5000, "line 1: is not YAML"),
    ],
)
def test_an_error_names_the_line_and_the_field(old: str, new: str, said: str) -> None:
    assert WHOLE.count(old) >= 1
    with pytest.raises(FileError, match=said):
        parse_issuers(WHOLE.replace(old, new, 1))


def test_http_needs_a_setting_except_to_this_host() -> None:
    [corp, _] = parse_issuers(WHOLE.replace("https://login", "http://login"), http=True)
    assert corp.source.http
    parse_issuers(WHOLE.replace("https://login.example.org", "http://127.0.0.1:1"))


def test_an_error_names_the_file_too(tmp_path: Path) -> None:
    path = tmp_path / "issuers.yaml"
    path.write_bytes(b"issuers:\n\xff")
    with pytest.raises(FileError, match=r"issuers\.yaml: line 2: is not UTF-8"):
        read_issuers(path)
    path.write_text("issuers: [" + " " * (1 << 20) + "]")
    with pytest.raises(FileError, match="more than 1,048,576 bytes"):
        read_issuers(path)
