import hashlib

import pytest

from libs.identity.sealed import NotSealed, seal, unseal

SECRET = "plim_session_" + "s" * 43


def test_only_the_secret_opens_a_sealed_text() -> None:
    text = "a.b.c" * 3000
    sealed = seal(text, SECRET)
    assert unseal(sealed, SECRET) == text
    assert "a.b.c" not in sealed
    assert sealed != seal(text, SECRET)
    for other in (SECRET[:-1], hashlib.sha256(SECRET.encode()).hexdigest(), ""):
        with pytest.raises(NotSealed):
            unseal(sealed, other)


@pytest.mark.parametrize("change", [lambda text: text[:-8] + "AAAAAAAA", lambda text: "x.y", lambda text: ""])
def test_a_changed_text_is_refused(change) -> None:
    with pytest.raises(NotSealed):
        unseal(change(seal("bearer", SECRET)), SECRET)
