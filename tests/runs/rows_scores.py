"""A reward server that fails in every way (C18): what it could not score never wins, and only what is missing is scored later."""

import json
from collections import defaultdict
from pathlib import Path

from tests.runs.driver import Checks, Row, Started, counting_server, job_at, rows_of
from tests.servers.counting_server import PASSING, SCORE_FAULTS, score_fault, score_of

SHARE = 0.2


def row_scores(folder: Path, *, num_prompts: int = 1000, batch: int = 1, attempt_timeout_s: float = 0.3) -> Row:
    """C18: best of 4 under a reward server whose scores fail for a fifth of the texts.

    Args:
        folder: of the run.
        num_prompts: 4 responses each.
        batch: texts a request. With several the faults of whole requests are left out, as they would hit nearly all of them.
        attempt_timeout_s: of a request.
    """
    checks = Checks()
    faults = [kind for kind in SCORE_FAULTS if batch == 1 or kind not in {"timeout", "rate_limit"}]
    with counting_server(score_fault_share=SHARE, score_faults=faults) as server:
        reward = f'[reward]\nparts = [{{ kind = "remote", shape = "pooling", max_batch = {batch}, endpoints = [{{ url = "{server.url}" }}] }}]\n'
        concurrency = f"[concurrency]\nmax_in_flight = 64\nmax_attempts = 2\nattempt_timeout_s = {attempt_timeout_s}\n"
        job = job_at(folder, server, num_prompts=num_prompts, settings=f'[strategy]\nname = "parallel"\nn = 4\n{reward}{concurrency}', max_in_flight=64)
        first = job.finish(within_s=600.0)
        texts = _texts(job.run)
        fault_of = {text: score_fault(text, SHARE, faults) for group in texts.values() for text in group.values()}
        asked = server.count()["asked"]
        checks.hold(f"first run ended with {first.code}: {first.err}", first.code == 0)
        _oracle(checks, job.run, {text: None if fault else score_of(text) for text, fault in fault_of.items()}, "first run")
        server.control(passing_faults=False)
        before = server.stats()["by_text"]
        second = job.finish(job.resuming, within_s=600.0)
        checks.hold(f"resume ended with {second.code}: {second.err}", second.code == 0)
        after = server.stats()["by_text"]
        rescored = {text for text, count in after.items() if count != before.get(text, 0)}
        missing = {text for text, fault in fault_of.items() if fault in PASSING}
        checks.hold(f"rescored {len(rescored)}, missing were {len(missing)}", rescored == missing)
        checks.hold("each once", all(after[text] == before[text] + 1 for text in rescored))
        values = {text: score_of(text) if fault is None or fault in PASSING else None for text, fault in fault_of.items()}
        _oracle(checks, job.run, values, "resumed run")
        third = job.finish(job.resuming)
        checks.hold("a third run scores nothing", third.code == 0 and server.stats()["by_text"] == after)
        checks.hold("no model was asked again", server.count()["asked"] == asked == 4 * num_prompts)
    unscored = sum(fault is not None for fault in fault_of.values())
    return Row(
        f"C18 reward faults of {len(faults)} kinds on {SHARE:.0%} of {4 * num_prompts} scores, {batch} a request",
        "what is not scored never wins; every choice is the oracle's; resume scores only what is missing",
        f"{unscored} of {len(fault_of)} unscored, {len(rescored)} of them scored by resume, best of 4 equal to the oracle's on {len(texts)} prompts",
        tuple(dict.fromkeys(checks.failed)),
    )


def _texts(run: Path) -> dict[int, dict[int, str]]:
    texts: dict[int, dict[int, str]] = defaultdict(dict)
    for number, call_id, text in rows_of(run, "SELECT number, call_id, text FROM responses WHERE text IS NOT NULL"):
        texts[number][call_id] = text
    return texts


def _oracle(checks: Checks, run: Path, values: dict[str, float | None], when: str) -> None:
    """Compare every reward, and every choice of a best response, with those of the true scores."""
    rewards = {(number, call_id): reward for number, call_id, reward in rows_of(run, "SELECT number, call_id, reward FROM outcomes ORDER BY sequence")}
    for number, group in _texts(run).items():
        for call_id, text in group.items():
            checks.hold(f"{when}: a reward differs: {rewards.get((number, call_id))} for {values[text]}", rewards.get((number, call_id)) == values[text])
    exported = run.parent / "best.jsonl"
    ended = Started(["export", str(run), "--sft", str(exported), "--keep", "duplicate"]).ended()
    checks.hold(f"{when}: export ended with {ended.code}: {ended.err}", ended.code == 0)
    chosen = {row["prompt_id"]: row["completion"][0]["content"] for row in map(json.loads, exported.read_text().splitlines())}
    best: dict[str, str] = {}
    texts = _texts(run)
    for number, prompt_id in rows_of(run, "SELECT number, prompt_id FROM prompts"):
        scored = {text: value for text in texts[number].values() if (value := values[text]) is not None}
        if scored:
            best[prompt_id] = max(scored, key=scored.__getitem__)
    checks.hold(f"{when}: {len(set(best.items()) ^ set(chosen.items()))} choices differ from the oracle's", best == chosen)
