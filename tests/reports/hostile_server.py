"""A server that answers each prompt with exactly the bytes a test gives it, whatever HTTP says of them. Prompts that name no kind of body get an answer."""

import json
import re
import socketserver
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

MEGABYTE = 2**20
Send = Callable[[bytes], None]


class ConnectionEndedError(Exception):
    """The server closes the connection."""


def answer(text: str = "A fine answer.") -> bytes:
    """The body of a completion."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return json.dumps({"object": "chat.completion", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}).encode()


def head(length: int | None, **headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", "content-type: application/json", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines + ([] if length is None else [f"content-length: {length}"]) + ["", ""]).encode()


def packed_zeros(megabytes: int, window_bits: int) -> bytes:
    """So many megabytes of a JSON text in a thousandth of the bytes: one block, flushed so that it stands for itself, again and again."""
    squeeze = zlib.compressobj(9, wbits=window_bits)
    start = squeeze.compress(b'{"choices": "') + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(b"0" * MEGABYTE) + squeeze.flush(zlib.Z_FULL_FLUSH)
    return start + block * megabytes


def zstandard_zeros(megabytes: int) -> bytes:
    """A frame of blocks that each say: one byte, 128 KiB times."""
    block = ((128 * 1024) << 3 | 1 << 1).to_bytes(3, "little") + b"0"
    return b"\x28\xb5\x2f\xfd" + bytes([0b00000000, 0x58]) + block * (8 * megabytes)


def many_values(megabytes: int) -> bytes:
    """JSON that takes twenty-five times its size once it is read."""
    return b'{"choices": [' + b"[]," * (megabytes * MEGABYTE // 3) + b"[]]}"


def _whole(body: bytes, **headers: str) -> Callable[[Send], None]:
    def send(out: Send) -> None:
        out(head(len(body), **headers) + body)

    return send


def _endless_chunks(out: Send) -> None:
    out(head(None, transfer_encoding="chunked"))
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    while True:
        out(chunk)


def _endless_until_closed(out: Send) -> None:
    out(head(None, connection="close"))
    while True:
        out(b" " * 65536)


def _endless_headers(out: Send) -> None:
    out(b"HTTP/1.1 200 OK\r\n")
    while True:
        out(b"x-more: " + b"a" * 4000 + b"\r\n")


def _long_promise(out: Send) -> None:
    out(head(3 * 10**9) + answer())


def _broken_promise(out: Send) -> None:
    out(head(len(answer()) + 1000) + answer())
    raise ConnectionEndedError


def _shorter_than_sent(out: Send) -> None:
    out(head(len(answer()) - 30) + answer())


BODIES: Mapping[str, Callable[[Send], None]] = {
    "gzip": _whole(packed_zeros(2000, 31), content_encoding="gzip"),
    "deflate": _whole(packed_zeros(2000, 15), content_encoding="deflate"),
    "zstandard": _whole(zstandard_zeros(512), content_encoding="zstd"),
    "brotli": _whole(b"\x5b\xff\xff\x7f" * 4096, content_encoding="br"),
    "twice": _whole(packed_zeros(64, 31), content_encoding="gzip, gzip"),
    "values": _whole(zlib.compress(many_values(30)), content_encoding="deflate"),
    "chunks": _endless_chunks,
    "unending": _endless_until_closed,
    "headers": _endless_headers,
    "promise": _long_promise,
    "cut": _broken_promise,
    "short": _shorter_than_sent,
}
"""What is sent, by the word that asks for it: `send gzip`."""


class Hostile:
    """Where the server is, and which kinds of bodies it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.url = ""
        self.harmless = False
        """Answer everything well, to see what a run takes without any trouble."""

    def serve(self, body: bytes, out: Send) -> None:
        found = re.search(rb"send (\w+)", body)
        kind = "" if found is None else found[1].decode()
        self.asked.append(kind)
        if kind in BODIES and not self.harmless:
            BODIES[kind](out)
        else:
            out(head(len(answer())) + answer())


@contextmanager
def hostile_server() -> Iterator[Hostile]:
    hostile = Hostile()
    with raw_server(hostile.serve) as hostile.url:
        yield hostile


@contextmanager
def raw_server(serve: Callable[[bytes, Send], None]) -> Iterator[str]:
    """Serve requests by a function of the body that sends bytes as they are.

    Returns:
        The server's URL.
    """

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(ConnectionEndedError, OSError):
                while length := self._length():
                    serve(self.rfile.read(length), self._out)

        def _length(self) -> int:
            length = 0
            while (line := self.rfile.readline().strip().lower()) != b"":
                if line.startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            return length

        def _out(self, data: bytes) -> None:
            self.wfile.write(data)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def replies(serve: Callable[[dict[str, Any]], str]) -> Callable[[bytes, Send], None]:
    """Answer each request with a text made from its JSON body, whether or not the text is JSON."""

    def send(body: bytes, out: Send) -> None:
        text = serve(json.loads(body)).encode()
        out(head(len(text)) + text)

    return send
