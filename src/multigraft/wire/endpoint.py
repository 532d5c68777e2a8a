"""One server, as its user describes it."""

from dataclasses import dataclass, field

from yarl import URL

_VERSION = "/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where one server is, and how much it may be asked at once."""

    url: str
    """Base URL: the root of a server (`http://127.0.0.1:8000`), or a base with a path (`https://api.example.com/v1`)."""
    key: str | None = field(default=None, repr=False)
    """Sent as a bearer token, and nowhere else; never shown."""
    max_in_flight: int = 256
    """The most calls at once; >= 1. Fewer are sent while the server says that it is too much."""
    start_in_flight: int = 64
    """Calls at once to start with; grows within a few round trips."""

    def __post_init__(self) -> None:
        try:
            url = URL(self.url)
            sound = url.scheme in {"http", "https"} and bool(url.host)
        except ValueError:
            sound = False
        if not sound:
            message = f"endpoint URL must look like 'http://127.0.0.1:8000', not {self.url[:80]!r}"
            raise ValueError(message)
        if url.user is not None or url.password is not None or url.query_string or url.fragment:
            message = f"endpoint URL of {url.host} may hold no user, password, query or fragment; give a key by itself"
            raise ValueError(message)
        if self.key is not None and (not self.key.isascii() or not self.key.isprintable() or self.key != self.key.strip() or not self.key):
            message = f"the key for {url.host} is empty or holds white space, a line break or a character outside ASCII; check where it comes from"
            raise ValueError(message)
        for name in ("max_in_flight", "start_in_flight"):
            if getattr(self, name) < 1:
                message = f"{name} must be at least 1, not {getattr(self, name)}"
                raise ValueError(message)

    def address(self, path: str) -> URL:
        """Join a path of a call to the base.

        A base with a path of its own stands for the version, as OpenAI's clients have it: `https://host/api/v1` and `/v1/chat/completions` give
        `https://host/api/v1/chat/completions`. A path without a version is taken from the root of a base that ends in `/v1`.

        Args:
            path: such as `/v1/chat/completions` or `/score`.

        Returns:
            The address to post to.
        """
        base = self.url.rstrip("/")
        if path.startswith(_VERSION + "/"):
            if URL(base).path not in {"", "/"}:
                path = path[len(_VERSION) :]
        elif base.endswith(_VERSION):
            base = base[: -len(_VERSION)]
        return URL(base + path)
