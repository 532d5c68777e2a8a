"""Bodies that unpack to gigabytes, never end, or are not as long as they say: one failed row each, little memory, and the run goes on."""

from pathlib import Path

import pytest
from tests.reports.command import laid_out, one_each, openai, records_of, synth
from tests.reports.hostile_server import BODIES, hostile_server

from multigraft.rewards.remote import Remote
from multigraft.testing.reward_suite import candidate
from multigraft.types import Completion, FailureKind, Json
from multigraft.wire.body import has_too_many_values, parse
from multigraft.wire.endpoints import Endpoint, Endpoints

ENDS = {
    "gzip": FailureKind.TOO_LARGE,
    "deflate": FailureKind.TOO_LARGE,
    "values": FailureKind.TOO_LARGE,
    "chunks": FailureKind.TOO_LARGE,
    "unending": FailureKind.TOO_LARGE,
    "promise": FailureKind.TOO_LARGE,
    # These are never unpacked at all.
    "zstandard": FailureKind.MALFORMED,
    "brotli": FailureKind.MALFORMED,
    "twice": FailureKind.MALFORMED,
    "headers": FailureKind.CONNECTION,
    # What is left of the first answer spoils the second attempt, and then the connection is given up.
    "short": FailureKind.CONNECTION,
    "cut": FailureKind.CONNECTION,
}


def run_file(url: str) -> str:
    limits = "[concurrency]\nprompts_in_flight = 1\nmax_in_flight = 1\nmax_attempts = 2\nattempt_timeout_s = 20\n"
    return f'{one_each()}[[reward.parts]]\nkind = "scripted"\n{openai(url)}{limits}'


def test_every_body_is_one_failed_row_within_100_mb(tmp_path: Path) -> None:
    prompts = [text for kind in BODIES for text in (f"send {kind}", f"After {kind}, a question like any other.")]
    with hostile_server() as server:
        run = laid_out(tmp_path, run_file(server.url), *prompts)
        server.harmless = True
        harmless = synth(tmp_path, output="harmless")
        server.harmless = False
        done = synth(tmp_path)
    assert harmless.code == done.code == 0, done.err
    kinds = {}
    for record in records_of(run):
        (call,) = record.calls.values()
        asked = record.prompt.messages[0].content
        if asked.startswith("send "):
            kinds[asked.removeprefix("send ")] = call.sample.kind if not isinstance(call.sample, Completion) else call.sample.text
        else:
            assert call.text == "A fine answer."
    assert kinds == ENDS
    assert 20 < harmless.peak_mb < done.peak_mb
    assert done.peak_mb - harmless.peak_mb <= 100.0


async def test_a_reward_server_is_held_to_the_same() -> None:
    with hostile_server() as server:
        async with Endpoints([Endpoint(url=server.url)], name="rm", attempt_timeout_s=20.0) as endpoints:
            reward = Remote(endpoints, shape="pooling", model="m", max_batch=2)
            scores = await reward.score([candidate("send gzip"), candidate("send values", ordinal=1)])
    assert [(score.value, score.reason, score.retryable) for score in scores] == [(None, FailureKind.TOO_LARGE, False)] * 2
    # The batch, and each member by itself, since it may have been the fault of one.
    assert server.asked == ["gzip", "gzip", "values"]


def test_answers_with_log_probabilities_of_many_tokens_are_read() -> None:
    token = b'{"token":"abc","logprob":-0.123,"bytes":[97,98,99],"top_logprobs":[]}'
    many = b'{"choices":[' + b",".join([token] * 100_000) + b"]}"
    assert not has_too_many_values(many)
    assert has_too_many_values(b'{"choices":[' + b",".join([token] * 200_000) + b"]}")


@pytest.mark.parametrize(
    ("unit", "size_mb"), [(b"[],", 5), (b'{"":0},', 5), (b'{"a":{"b":{"c":0}}},', 5), (b"[[[]]],", 5), (b'"k":0,', 5), (b"0.5,", 30), (b'"",', 30)]
)
def test_no_small_thing_repeated_takes_much_memory(unit: bytes, size_mb: int) -> None:
    assert has_too_many_values(b"[" + unit * (size_mb * 10**6 // len(unit)) + b"0]")


def test_a_long_text_with_commas_is_no_bomb() -> None:
    text = "Well, [then] {as it were}: " * 40_000
    document = f'{{"choices": "{text}"}}'.encode()
    assert not has_too_many_values(document)
    expected: Json = {"choices": text}
    found = parse(document)
    assert found is not None
    assert found.value == expected
