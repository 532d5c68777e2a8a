"""Servers of rewards and judges that fail in every way (C18): what they could not score never wins, and only what is missing is scored later."""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from tests.runs.driver import Checks, Row, Server, Started, counting_server, job_at, rows_of
from tests.servers.counting_server import PASSING, SCORE_FAULTS, score_fault, score_of

SHARE = 0.2


def row_scores(folder: Path, *, num_prompts: int = 1000, batch: int = 1, attempt_timeout_s: float = 0.3) -> Row:
    """C18: best of 4 under a reward server whose scores fail for a fifth of the texts.

    A judge that the search does not see scores every response, on a server that fails likewise in other ways; another one scores the best of each prompt.

    Args:
        folder: of the run.
        num_prompts: 4 responses each.
        batch: texts a request. With several the faults of whole requests are left out, as they would hit nearly all of them.
        attempt_timeout_s: of a request.
    """
    checks = Checks()
    faults = [kind for kind in SCORE_FAULTS if batch == 1 or kind not in {"timeout", "rate_limit"}]
    others = faults[::-1]
    with (
        counting_server(score_fault_share=SHARE, score_faults=faults) as server,
        counting_server(score_fault_share=SHARE, score_faults=others) as outside,
        counting_server() as picked,
    ):
        of_all, of_best = f'name = "outside", at = "all", {_remote(outside, batch)}', f'name = "picked", at = "best", {_remote(picked, batch)}'
        reward = f"[reward]\nparts = [{{ {_remote(server, batch)} }}]\n[judge]\nparts = [{{ {of_all} }}, {{ {of_best} }}]\n"
        concurrency = f"[concurrency]\nmax_in_flight = 64\nmax_attempts = 2\nattempt_timeout_s = {attempt_timeout_s}\n"
        job = job_at(folder, server, num_prompts=num_prompts, settings=f'[strategy]\nname = "parallel"\nn = 4\n{reward}{concurrency}', max_in_flight=64)
        first = job.finish(within_s=600.0)
        texts = _texts(job.run)
        fault_of = {text: score_fault(text, SHARE, faults) for group in texts.values() for text in group.values()}
        asked = server.count()["asked"]
        checks.hold(f"first run ended with {first.code}: {first.err}", first.code == 0)
        judged = {text: score_fault(text, SHARE, others) for text in fault_of}
        _oracle(checks, job.run, {text: None if fault else score_of(text) for text, fault in fault_of.items()}, "first run")
        _judges(checks, job.run, {text: None if fault else score_of(text) for text, fault in judged.items()}, "first run")
        for each in (server, outside):
            each.control(passing_faults=False)
        before, before_outside = server.stats()["by_text"], outside.stats()["by_text"]
        second = job.finish(job.resuming, within_s=600.0)
        checks.hold(f"resume ended with {second.code}: {second.err}", second.code == 0)
        after = server.stats()["by_text"]
        rescored = {text for text, count in after.items() if count != before.get(text, 0)}
        missing = {text for text, fault in fault_of.items() if fault in PASSING}
        checks.hold("the judge was asked again for what it lacked, once", _asked_again(outside, before_outside) == _each_once(judged))
        checks.hold(f"rescored {len(rescored)}, missing were {len(missing)}", rescored == missing)
        checks.hold("each once", all(after[text] == before[text] + 1 for text in rescored))
        values = {text: score_of(text) if fault is None or fault in PASSING else None for text, fault in fault_of.items()}
        _oracle(checks, job.run, values, "resumed run")
        _judges(checks, job.run, {text: score_of(text) if fault is None or fault in PASSING else None for text, fault in judged.items()}, "resumed run")
        settled = outside.stats()["by_text"], picked.stats()["by_text"]
        third = job.finish(job.resuming)
        checks.hold("a third run scores nothing", third.code == 0 and server.stats()["by_text"] == after)
        checks.hold("and has nothing judged", (outside.stats()["by_text"], picked.stats()["by_text"]) == settled)
        checks.hold("no model was asked again", server.count()["asked"] == asked == 4 * num_prompts)
    unscored = sum(fault is not None for fault in fault_of.values())
    return Row(
        f"C18 reward faults of {len(faults)} kinds on {SHARE:.0%} of {4 * num_prompts} scores, and of as many of a judge, {batch} a request",
        "what is not scored never wins; every choice is the oracle's; resume scores only what is missing, and so it is with judges",
        f"{unscored} of {len(fault_of)} unscored, {len(rescored)} of them scored by resume, best of 4 equal to the oracle's on {len(texts)} prompts; "
        f"of a judge {sum(fault is not None for fault in judged.values())} unscored, {len(_each_once(judged))} of them scored by resume",
        tuple(dict.fromkeys(checks.failed)),
    )


def _remote(server: Server, batch: int) -> str:
    return f'kind = "remote", shape = "pooling", max_batch = {batch}, endpoints = [{{ url = "{server.url}" }}]'


def _each_once(faults: Mapping[str, str | None]) -> dict[str, int]:
    return {text: 1 for text, fault in faults.items() if fault in PASSING}


def _asked_again(server: Server, before: Mapping[str, int]) -> dict[str, int]:
    return {text: more for text, count in server.stats()["by_text"].items() if (more := count - before.get(text, 0))}


def _judges(checks: Checks, run: Path, values: Mapping[str, float | None], when: str) -> None:
    """Compare what the judges said with the true scores, and whom they judged with who has the highest reward."""
    rows = rows_of(run, "SELECT scorer, number, call_id, value, reason FROM scores WHERE scorer IN ('outside', 'picked') ORDER BY sequence")
    said = {(scorer, number, call_id): (value, reason) for scorer, number, call_id, value, reason in rows}
    rewards = {(number, call_id): reward for number, call_id, reward in rows_of(run, "SELECT number, call_id, reward FROM outcomes ORDER BY sequence")}
    for number, group in _texts(run).items():
        for call_id, text in group.items():
            value, reason = said.get(("outside", number, call_id), (None, None))
            checks.hold(
                f"{when}: a judge said {value} ({reason}) where {values[text]} is true", value == values[text] and (value is None) == (reason is not None)
            )
        known = {call_id: reward for call_id in group if (reward := rewards.get((number, call_id))) is not None}
        if known:
            best = max(known, key=known.__getitem__)
            checks.hold(f"{when}: the best of a prompt was not judged", said.get(("picked", number, best)) == (score_of(group[best]), None))


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
