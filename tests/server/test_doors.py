"""Who may ask a reward server, and how much: the key, the Host and Origin of web pages, sizes, forms, and the length of the queue."""

import gzip
import json
import socket
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.server.launch import Running, scripted, served, until

from multigraft.errors import InputError
from multigraft.server.guard import Guard, is_loopback

KEY = "canary-3f9a1c"
PAIR = {"text_1": "Why?", "text_2": "Because."}


@pytest.fixture(scope="module")
def locked() -> Iterator[Running]:
    with served(scripted(key=KEY, max_body_bytes=2**20, max_waiting=50)) as running:
        yield running


def with_key(key: str = KEY) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize("path", ["/score", "/v1/score", "/classify", "/v1/classify", "/pooling", "/multigraft/score", "/nowhere"])
def test_every_route_needs_the_key_and_tells_nothing_without(locked: Running, path: str) -> None:
    attempts = [{}, with_key("wrong"), with_key(KEY[:-1]), with_key(KEY + " x"), {"Authorization": KEY}, {"Authorization": f"Basic {KEY}"}, {"X-Api-Key": KEY}]
    answers = [locked.ask(path, PAIR, headers=headers) for headers in attempts]
    assert {answer.status for answer in answers} == {401}
    assert [answer.body for answer in answers] == [{"error": {"message": "unauthorised", "type": "unauthorised", "code": 401}}] * len(attempts)
    assert {(answer.headers["server"], answer.headers["www-authenticate"]) for answer in answers} == {("multigraft", "Bearer")}


def test_get_routes_need_the_key_but_health_does_not(locked: Running) -> None:
    assert [locked.ask(path).status for path in ("/stats", "/v1/models", "/", "/health")] == [401, 401, 401, 200]
    assert locked.ask("/health").body == {"status": "ok"}
    assert locked.ask("/v1/models", headers=with_key()).body["data"] == [
        {"id": "scripted", "object": "model", "owned_by": "multigraft", "version": "1-0", "max_batch": 8}
    ]
    assert locked.ask("/nowhere", headers=with_key()).status == 404


def test_the_key_opens(locked: Running) -> None:
    answer = locked.ask("/score", PAIR, headers=with_key())
    assert answer.status == 200
    assert answer.body["object"] == "list"
    assert answer.body["usage"]["total_tokens"] == 0
    (item,) = answer.body["data"]
    assert (item["index"], item["object"]) == (0, "score")
    assert 0.0 <= item["score"] < 1.0
    assert not any(KEY in line for line in locked.errors)


HOSTS = ["evil.example", "evil.example:80", "", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.1@evil.example", "[::1"]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("path", ["/health", "/score", "/nowhere"])
def test_a_foreign_host_is_forbidden_before_anything_else(locked: Running, host: str, path: str) -> None:
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {KEY}\r\nConnection: close\r\n\r\n"
    reply = raw(locked, head.encode())
    assert reply.startswith(b"HTTP/1.1 403")
    assert b"access-control" not in reply.lower()


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://localhost.evil.example", "file://", "x"])
def test_a_page_of_another_site_is_forbidden(locked: Running, origin: str) -> None:
    answer = locked.ask("/score", PAIR, headers={**with_key(), "Origin": origin})
    assert answer.status == 403
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    options = f"OPTIONS /score HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\nConnection: close\r\n\r\n"
    reply = raw(locked, options.encode())
    assert reply.startswith(b"HTTP/1.1 403")
    assert b"access-control" not in reply.lower()


def test_its_own_names_are_known(locked: Running) -> None:
    for name in (f"localhost:{locked.port}", "localhost", "127.0.0.1", "[::1]:9", "LOCALHOST"):
        assert locked.ask("/score", PAIR, headers={**with_key(), "Host": name}).status == 200
    assert locked.ask("/score", PAIR, headers={**with_key(), "Origin": f"http://localhost:{locked.port}"}).status == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx"])
def test_what_a_form_can_send_is_forbidden(locked: Running, kind: str) -> None:
    assert locked.ask("/score", PAIR, headers={**with_key(), "Content-Type": kind}).status == 403


BAD: list[tuple[str, object, str]] = [
    ("/score", [1], "the body must be a JSON object"),
    ("/score", {"text_1": "a"}, "field 'text_2': Field required"),
    ("/score", {"text_1": ["a", 3], "text_2": ["b", "c"]}, "field 'text_1[1]': Input should be a valid string"),
    ("/score", {"text_1": ["a", "b"], "text_2": ["b"]}, "field 'text_2': must hold as many texts as 'text_1', or 'text_1' one; they hold 1 and 2"),
    ("/score", {"text_1": "a", "text_2": []}, "field 'text_2': Value should have at least 1 item after validation, not 0"),
    ("/score", PAIR | {"truncate_prompt_tokens": 9}, "field 'truncate_prompt_tokens': Input should be None"),
    ("/score", PAIR | {"api_base": "http://169.254.169.254"}, "field 'api_base': Extra inputs are not permitted"),
    ("/score", PAIR | {"extra_body": {"base_url": "x"}}, "field 'extra_body': Extra inputs are not permitted"),
    ("/score", PAIR | {"model": 3}, "field 'model': must be a text"),
    ("/classify", {"input": ["hello"]}, "field 'input[0]': must be turns in the form of ChatML or of Llama 3"),
    ("/classify", {"text": "<|im_start|>user\nhi<|im_end|>\n"}, "field 'text': must hold a prompt, and end with the assistant's response to it"),
    ("/classify", {"messages": [{"role": "user", "content": "a"}, {"role": "assistant"}]}, "field 'messages[1].content': Field required"),
    ("/multigraft/score", {"candidates": []}, "field 'candidates': List should have at least 1 item after validation, not 0"),
    ("/multigraft/score", {"candidates": [{"prompt": {"messages": [{"content": "x"}]}, "response": "x"}]}, "field 'candidates[0].prompt.messages[0].role'"),
    ("/multigraft/score", {"candidates": [{"prompt": {"messages": [{"role": "u", "content": "x"}]}, "response": 5}]}, "field 'candidates[0].response'"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "message"), BAD)
def test_what_does_not_fit_is_named(locked: Running, path: str, body: object, message: str) -> None:
    answer = locked.ask(path, body, headers=with_key())
    assert answer.status == 400
    assert answer.body["error"]["message"].startswith(message)


@pytest.mark.parametrize("data", [b"", b"{", b"nothing", b"\xff\xfe", b'{"a":' * 5000, b"[" * 200_000])
def test_what_is_no_json_is_refused(locked: Running, data: bytes) -> None:
    answer = locked.ask("/score", data=data, headers=with_key())
    assert (answer.status, answer.body["error"]["message"]) == (400, "the body must be a JSON object")


def test_numbers_that_are_none_never_come_back(locked: Running) -> None:
    body = b'{"candidates": [{"prompt": {"messages": [{"role": "user", "content": "x"}], "fields": {"a": NaN, "b": 1e999}}, "response": "y"}]}'
    answer = locked.ask("/multigraft/score", data=body, headers=with_key())
    assert answer.status == 200
    assert answer.body["data"][0]["score"] is not None


def resident_mb(running: Running) -> float:
    for line in Path(f"/proc/{running.process.pid}/status").read_text("utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_that_swells_is_cut_off(locked: Running, encoding: str) -> None:
    assert locked.ask("/score", PAIR, headers=with_key()).status == 200
    before = resident_mb(locked)
    swollen = b'{"text_1": "' + b"a" * (400 * 2**20) + b'"}'
    bomb = gzip.compress(swollen, 6) if encoding == "gzip" else zlib.compress(swollen, 6)
    assert len(bomb) < 2**20
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: locked.ask("/score", data=bomb, headers={**with_key(), "Content-Encoding": encoding}), range(16)))
    assert {answer.status for answer in answers} == {413}
    assert resident_mb(locked) - before < 60
    assert locked.ask("/score", PAIR, headers=with_key()).status == 200


def test_packed_bodies_are_read(locked: Running) -> None:
    plain = json.dumps(PAIR).encode()
    value = locked.ask("/score", PAIR, headers=with_key()).body["data"][0]["score"]
    for encoding, data in (("gzip", gzip.compress(plain)), ("deflate", zlib.compress(plain)), ("identity", plain)):
        assert locked.ask("/score", data=data, headers={**with_key(), "Content-Encoding": encoding}).body["data"][0]["score"] == value
    assert locked.ask("/score", data=plain, headers={**with_key(), "Content-Encoding": "br"}).status == 415
    assert locked.ask("/score", data=plain, headers={**with_key(), "Content-Encoding": "gzip"}).status == 400
    assert locked.ask("/score", data=gzip.compress(plain)[:-9], headers={**with_key(), "Content-Encoding": "gzip"}).status == 400


def test_a_body_that_is_too_large_is_refused_however_it_comes(locked: Running) -> None:
    large = json.dumps({"text_1": "a" * 2**20, "text_2": "b"}).encode()
    answer = locked.ask("/score", data=large, headers=with_key())
    assert (answer.status, answer.body["error"]["type"]) == (413, "too_large")
    head = f"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer {KEY}\r\n"
    assert raw(locked, f"{head}Content-Length: 99999999999\r\n\r\n{{".encode()).startswith(b"HTTP/1.1 413")
    chunks = b"".join(b"10000\r\n" + b"a" * 65536 + b"\r\n" for _ in range(20))
    assert raw(locked, f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunks).startswith(b"HTTP/1.1 413")


def test_a_body_of_millions_of_tiny_values_is_refused() -> None:
    with served(scripted()) as running:
        before = resident_mb(running)
        answer = running.ask("/score", data=b'{"text_1": "a", "text_2": [' + b"[]," * 5_000_000 + b"[]]}")
        assert (answer.status, answer.body["error"]["message"]) == (413, "the body holds too many values; send fewer candidates")
        assert resident_mb(running) - before < 80


def test_bodies_that_trickle_in_leave_room_for_no_more(locked: Running) -> None:
    head = f"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer {KEY}\r\nContent-Length: {2**20}\r\n\r\n{{"
    clients = [socket.create_connection(("127.0.0.1", locked.port), timeout=10) for _ in range(16)]
    for client in clients:
        client.sendall(head.encode())
    until(lambda: locked.ask("/score", PAIR, headers=with_key()).status == 429)
    assert locked.ask("/health").status == 200
    for client in clients:
        client.close()
    until(lambda: locked.ask("/score", PAIR, headers=with_key()).status == 200)


def test_more_than_the_queue_holds_is_too_much_for_ever(locked: Running) -> None:
    answer = locked.ask("/score", {"text_1": "a", "text_2": ["b"] * 51}, headers=with_key())
    assert answer.status == 413
    assert "51 candidates are more than the queue holds (50)" in answer.body["error"]["message"]
    assert len(locked.ask("/score", {"text_1": "a", "text_2": ["b"] * 50}, headers=with_key()).body["data"]) == 50


def test_a_full_queue_asks_to_come_back() -> None:
    with served(scripted(delay_s=0.4, max_batch=2, max_waiting=4)) as running, ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: running.ask("/score", PAIR | {"text_2": ["a", "b"]}), range(12)))
        refused = [answer for answer in answers if answer.status == 429]
        assert {answer.status for answer in answers} == {200, 429}
        assert len(refused) >= 6
        assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in refused)
        assert refused[0].body["error"]["type"] == "rate_limit"
        assert running.stats()["refused"] == 2 * len(refused)
        assert running.ask("/score", PAIR).status == 200


def test_a_client_that_leaves_frees_its_places() -> None:
    with served(scripted(delay_s=0.3, max_batch=1, max_waiting=8)) as running:
        body = json.dumps({"text_1": "a", "text_2": ["b"] * 8}).encode()
        head = f"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", running.port), timeout=10) as client:
            client.sendall(head + body)
            until(lambda: running.stats()["waiting"] >= 5)
        began = time.monotonic()
        until(lambda: running.stats()["waiting"] == 0)
        assert time.monotonic() - began < 1.0, "seven candidates would take two seconds"
        assert running.stats()["given_up"] >= 4
        assert running.ask("/score", PAIR).status == 200


def raw(running: Running, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as client:
        client.sendall(sent)
        return client.recv(65536)


def test_a_server_others_can_reach_needs_a_key() -> None:
    for host in ("192.168.1.7", "::", "example.com", ""):
        with pytest.raises(InputError, match="so it needs a key"):
            Guard(host=host)
        assert not Guard(host=host, key=KEY).refuses("anything.example", None)
        assert Guard(host=host, key=KEY).refuses("anything.example", "http://evil.example")
    for host in ("127.0.0.1", "localhost", "::1", "127.9.9.9"):
        assert is_loopback(host)
        assert Guard(host=host).opens(None)


def test_further_names_are_let_in() -> None:
    guard = Guard(host="127.0.0.1", names=["Rewards.example"])
    assert not guard.refuses("rewards.example:8000", "https://rewards.example")
    assert guard.refuses("other.example", None)


@pytest.mark.parametrize("key", ["", " x", "x\n", "schlüssel", "a\tb"])
def test_keys_that_cannot_be_sent_are_refused(key: str) -> None:
    with pytest.raises(InputError, match="the key is empty, or holds"):
        Guard(host="127.0.0.1", key=key)


def test_a_key_is_never_shown() -> None:
    assert KEY not in repr(Guard(host="127.0.0.1", key=KEY))
