import pytest
from multidict import CIMultiDict

from multigraft.wire.retry_after import retry_after_s

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"

CASES: list[tuple[dict[str, str], float | None]] = [
    ({}, None),
    ({"retry-after": ""}, None),
    ({"retry-after": "0"}, 0.0),
    ({"retry-after": "1"}, 1.0),
    ({"retry-after": " 7 "}, 7.0),
    ({"retry-after": "1.5"}, 1.5),
    ({"retry-after": "0.05"}, 0.05),
    ({"retry-after": "+3"}, 3.0),
    ({"retry-after": "1e2"}, 100.0),
    ({"retry-after": "120"}, 120.0),
    ({"retry-after": "3600"}, 3600.0),
    ({"retry-after": "1e9"}, 1e9),
    ({"retry-after": "-5"}, None),
    ({"retry-after": "-0.0"}, 0.0),
    ({"retry-after": "NaN"}, None),
    ({"retry-after": "-nan"}, None),
    ({"retry-after": "inf"}, None),
    ({"retry-after": "-Infinity"}, None),
    ({"retry-after": "1e400"}, None),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "5 seconds"}, None),
    ({"retry-after": "1_000"}, None),
    ({"retry-after": "٣"}, None),
    ({"retry-after": "0x10"}, None),
    ({"retry-after": "1,5"}, None),
    ({"retry-after": "5, 7"}, None),
    ({"retry-after-ms": "250"}, 0.25),
    ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
    ({"retry-after-ms": "-1", "retry-after": "9"}, 9.0),
    ({"retry-after-ms": "nan"}, None),
    ({"retry-after": "Sun, 06 Nov 1994 08:49:47 GMT", "date": DATE}, 10.0),
    ({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT", "date": DATE}, 0.0),
    ({"retry-after": "Sun, 06 Nov 1994 08:49:36 GMT", "date": DATE}, None),
    ({"retry-after": "Sun, 06 Nov 1994 09:49:37 GMT", "date": DATE}, 3600.0),
    ({"retry-after": "Sun, 06 Nov 1994 08:49:47 GMT"}, None),
    ({"retry-after": "Sun, 06 Nov 1994 08:49:47 GMT", "date": "yesterday"}, None),
    ({"retry-after": "Fri, 31 Dec 100000 23:59:59 GMT", "date": DATE}, None),
    ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT", "date": DATE}, 252_618_189_022.0),
    ({"retry-after": "Sun, 99 Nov 1994 08:49:47 GMT", "date": DATE}, None),
    ({"retry-after": "Sunday, 06-Nov-94 08:49:47 GMT", "date": DATE}, 10.0),
    ({"retry-after": "Sun, 06 Nov 1994 09:49:47 +0100", "date": DATE}, 10.0),
    ({"retry-after": "Sun, 06 Nov 1994 08:49:47 -9999999", "date": DATE}, None),
    ({"retry-after": "\x00"}, None),
    ({"retry-after": "9" * 400}, None),
]


@pytest.mark.parametrize(("headers", "seconds"), CASES)
def test_what_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    found = retry_after_s(CIMultiDict(headers))
    assert found == seconds
    assert found is None or 0.0 <= found < float("inf")


def test_names_are_found_in_any_case() -> None:
    assert retry_after_s(CIMultiDict({"Retry-After": "2"})) == 2.0
