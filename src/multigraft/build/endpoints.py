"""From tables of endpoints to the endpoints; here, and only here, keys are read from the environment."""

import os
from collections.abc import Sequence

from multigraft.config import ConcurrencyTable, EndpointTable
from multigraft.errors import InputError
from multigraft.wire.endpoints import Endpoint, Endpoints


def endpoints_of(tables: Sequence[EndpointTable], name: str, concurrency: ConcurrencyTable) -> Endpoints:
    """Make the endpoints of one model or scorer.

    Raises:
        InputError: the environment variable of a key is not set.
    """
    made = [Endpoint(url=table.url.rstrip("/"), key=_key(table, name), max_in_flight=table.max_in_flight) for table in tables]
    return Endpoints(made, name=name, attempt_timeout_s=concurrency.attempt_timeout_s, give_up_s=concurrency.give_up_s)


def _key(table: EndpointTable, name: str) -> str | None:
    if table.key_env is None:
        return None
    key = os.environ.get(table.key_env)
    if not key:
        message = f"the environment variable {table.key_env}, which holds the key of '{name}' at {table.url}, is not set"
        raise InputError(message)
    return key
