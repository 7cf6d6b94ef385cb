"""Proxies are named by addresses and networks, and a name is refused at the start."""

import pytest

from libs.reconcile.environment import read_environment
from libs.web.listening import ListenSettings


@pytest.mark.parametrize("proxies", ["10.0.0.7", "10.244.0.0/16, fd00::/8", "*"])
def test_addresses_and_networks_are_taken(proxies: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIMSOLL_TRUSTED_PROXIES", proxies)
    assert read_environment(ListenSettings).trusted_proxies == proxies


@pytest.mark.parametrize("proxies", ["nginx", "10.0.0.1/16", "10.0.0.7;10.0.0.8", "10.0.0.7,", ""])
def test_others_are_refused_by_the_name_of_the_variable(proxies: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """10.0.0.1/16 is no network, because it has bits beyond its mask: uvicorn would compare it with client names."""
    monkeypatch.setenv("PLIMSOLL_TRUSTED_PROXIES", proxies)
    with pytest.raises(SystemExit, match=r"PLIMSOLL_TRUSTED_PROXIES is wrong: .*such as 10\.0\.0\.7"):
        read_environment(ListenSettings)
