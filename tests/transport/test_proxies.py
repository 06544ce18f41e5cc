"""Proxies that the environment names: used as httpx uses them, within the deadline."""

from __future__ import annotations

import base64
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

import finstat_kit as fk
from finstat_kit.errors import TransportError
from tests.support.faults import HANG, SOON, FaultServer, reply
from tests.support.tls import certificate, server_side

HOST = "register.example"
COUNT = b'{"pocetZostavajucichId":7}'
OTHER = b'{"pocetZostavajucichId":9}'
TUNNEL = b"HTTP/1.1 200 Connected\r\n\r\n"
AUTHORIZATION = f"Proxy-Authorization: Basic {base64.b64encode(b'me:secret').decode()}\r\n"


def counts(url: str, timeout: float) -> list[int]:
    """Return the counts of units and reports."""
    with fk.Register(url, deadline=timeout, tries=1, rate=None) as reg:
        return [reg.units.count(), reg.reports.count()]


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def with_password(url: str) -> str:
    return url.replace("://", "://me:secret@")


def test_a_proxy_is_sent_the_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy is sent the whole address, and the name and password that stand in its own."""
    with FaultServer([reply(COUNT)], [reply(OTHER)]) as proxy:
        monkeypatch.setenv("http_proxy", with_password(proxy.url))
        assert counts(f"http://{HOST}/x", 5.0) == [7, 9]

    assert all(target.startswith(f"http://{HOST}/x/") for target in proxy.asked)
    assert all(AUTHORIZATION in headers for headers in proxy.headers)
    assert proxy.connections == 1


def test_a_tunnel_leads_to_a_host_with_a_known_certificate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Through a tunnel, to a host whose certificate SSL_CERT_FILE vouches for."""
    pem = certificate(tmp_path, HOST)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    with FaultServer([TUNNEL, server_side(pem)], [reply(COUNT)], [reply(OTHER)]) as proxy:
        monkeypatch.setenv("https_proxy", with_password(proxy.url))
        assert counts(f"https://{HOST}", 5.0) == [7, 9]

    assert proxy.asked[0] == f"{HOST}:443"
    assert AUTHORIZATION in proxy.headers[0]
    assert not any("Proxy" in headers for headers in proxy.headers[1:])
    assert proxy.connections == 1


def test_a_certificate_that_is_not_known_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is refused in the tunnel too."""
    pem = certificate(tmp_path, HOST)
    with FaultServer([TUNNEL, server_side(pem)], [reply(COUNT)]) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        cure = "self-signed.*Behind a company's proxy, set SSL_CERT_FILE"
        with pytest.raises(TransportError, match=cure):
            counts(f"https://{HOST}", 5.0)

    assert len(proxy.asked) == 1


def test_a_proxy_that_refuses_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it said is in the error."""
    with FaultServer([reply(b"", 407)]) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        with pytest.raises(TransportError, match="407"):
            counts(f"https://{HOST}", 5.0)


@pytest.mark.parametrize("steps", [[HANG], [TUNNEL]], ids=["no tunnel", "no TLS in the tunnel"])
def test_the_deadline_holds_through_a_proxy(
    monkeypatch: pytest.MonkeyPatch, steps: list[bytes]
) -> None:
    """It holds for what the proxy and the handshake behind it take."""
    with FaultServer(steps) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        begin = time.monotonic()
        with pytest.raises(TransportError, match="deadline"):
            counts(f"https://{HOST}", 0.25)

    assert 0.2 < time.monotonic() - begin < SOON


@pytest.mark.skipif(find_spec("socksio") is not None, reason="SOCKS is supported here")
def test_a_socks_proxy_without_its_library_is_refused_with_the_cure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The proxy of the environment is named, and what to install."""
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    with fk.Register("http://register.example") as reg:
        with pytest.raises(fk.UsageError, match=r"socks5://127.0.0.1:9.*httpx\[socks\]"):
            reg.units.count()


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    """The variable, its value and the cure, in the place of an error of a library."""
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text, encoding="ascii")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with (
        fk.Register("https://127.0.0.1:9", rate=None) as reg,
        pytest.raises(fk.UsageError, match=rf"SSL_CERT_FILE='{file}'.* or unset it"),
    ):
        reg.units.count()
