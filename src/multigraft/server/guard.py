"""Who may ask: the Host and Origin a request names, and the key it carries. Decided before anything else of it is looked at."""

import hashlib
import hmac
import ipaddress
from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from multigraft.errors import InputError

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN_ROUTE = "/health"
"""The one route that needs no key, and tells nothing but whether scores come out."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What a server lets in.

    Args:
        host: the address it listens on.
        key: that requests carry; None: none, which only a loopback address may do.
        names: further host names it is reached by; where it listens on a loopback address, any other is refused, since that is a web page that had its own
            name point here.

    Raises:
        InputError: no key although others can reach it, or a key that cannot be sent.
    """

    host: str
    key: str | None = field(default=None, repr=False)
    names: Collection[str] = ()

    def __post_init__(self) -> None:
        if self.key is None and not is_loopback(self.host):
            message = f"a server on {self.host} can be reached from elsewhere, so it needs a key: name the environment variable that holds one with --key-env"
            raise InputError(message, field="--host")
        if self.key is not None and (not self.key.isascii() or not self.key.isprintable() or self.key != self.key.strip() or not self.key):
            message = "the key is empty, or holds white space at an end, a line break or a character outside ASCII"
            raise InputError(message, field="--key-env")

    def refuses(self, host: str | None, origin: str | None) -> bool:
        """Whether a request comes through a name that is not this server's, or from a web page of another site."""
        known = LOOPBACK_NAMES | {self.host.lower(), *(name.lower() for name in self.names)}
        if is_loopback(self.host) and _hostname(f"//{host or ''}") not in known:
            return True
        return origin is not None and _hostname(origin) not in known

    def opens(self, authorization: str | None) -> bool:
        """Whether the key is right; takes as long whatever was sent."""
        if self.key is None:
            return True
        kind, _, given = (authorization or "").partition(" ")
        return hmac.compare_digest(_digest(given.strip()), _digest(self.key)) and kind.lower() == "bearer"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _hostname(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").rstrip(".")
    except ValueError:
        return ""
