"""Templates are places and nothing else: what looks like a program in a template, a prompt or an answer is refused or stays as it is written."""

import json
import resource
from pathlib import Path
from typing import Any

import pytest
from tests.reports.command import laid_out, one_each, openai, records_of, synth
from tests.reports.hostile_server import raw_server, replies

PROGRAMS = (
    "{{cycler.__init__.__globals__.os.popen('touch MARKER').read()}}",
    "{{9**9**9}}",
    "{{''.__class__.__mro__[1].__subclasses__()}}",
    "{{ prompt.__class__ }}",
    "{{prompt|upper}}",
)
"""What a template engine would run."""
PLAIN = (
    "{0.__class__} {prompt.__class__} {prompt!r} {role:>9} %s %(prompt)s ${HOME} $(touch MARKER) `touch MARKER` {% for i in range(9**9) %}{% endfor %} {# x #}"
)
"""What has no meaning in ours."""
HOSTILE = f"{' '.join(PROGRAMS)} {PLAIN} {{{{prompt}}}} {{{{response}}}} {{{{responses}}}} {{prompt}} {{response}} {{content}} {{low}}"


class Talk:
    """A chat server that writes hostile answers, grades them, and keeps what it was sent."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.judged: list[str] = []

    def serve(self, body: dict[str, Any]) -> str:
        text = "\n".join(message["content"] for message in body["messages"])
        judging = body["model"] == "critic"
        (self.judged if judging else self.asked).append(text)
        content = "Score: 7" if judging else f"Answer {len(self.asked)}: {HOSTILE}"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 500, "completion_tokens": 5}})


def judged_by(template: str | None = None) -> str:
    wording = "" if template is None else f"template = {json.dumps(template)}\n"
    return f'[[reward.parts]]\nkind = "graded_judge"\nmodel = "critic"\n{wording}'


@pytest.mark.parametrize("strategy", ["toa", "moa"])
def test_prompts_and_answers_stay_as_they_are_in_every_message(tmp_path: Path, strategy: str) -> None:
    talk = Talk()
    with raw_server(replies(talk.serve)) as url:
        settings = f'[strategy]\nname = "{strategy}"\nn = 6\nmax_parallel = 1\n{judged_by()}{openai(url, "writer")}{openai(url, "critic")}'
        run = laid_out(tmp_path, settings, f"Question: {HOSTILE}")
        done = synth(tmp_path)
    assert done.code == 0, done.err
    (record,) = records_of(run)
    assert [call.text for call in record.calls.values()] == [f"Answer {number}: {HOSTILE}" for number in range(1, 7)]
    assert all(f"Question: {HOSTILE}" in text for text in talk.asked)
    shown = [(number, text) for text in talk.asked for number in range(1, 7) if f"Answer {number}: " in text]
    assert shown, "no message showed an earlier answer"
    assert all(f"Answer {number}: {HOSTILE}" in text for number, text in shown)
    assert len(talk.judged) == 6
    for number, text in enumerate(talk.judged, 1):
        assert f"Question: {HOSTILE}" in text
        assert f"Answer {number}: {HOSTILE}" in text
    assert not list(tmp_path.rglob("MARKER"))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("role", ["refine", "aggregate", "fuse"])
def test_a_program_in_a_template_is_refused_before_anything_is_asked(tmp_path: Path, role: str, program: str) -> None:
    from multigraft.errors import UnknownNameError
    from multigraft.prompting.library import load_templates

    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    with pytest.raises(UnknownNameError):
        load_templates(**{role: f"{program} {{{{prompt}}}} {{{{response}}}} {{{{responses}}}}"})
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 1.0


def test_the_refusal_is_told_at_the_command_line(tmp_path: Path) -> None:
    wording = json.dumps(f"{PROGRAMS[0]} {{{{prompt}}}} {{{{response}}}}")
    laid_out(tmp_path, f'[templates]\nrefine = {wording}\n[[models]]\nname = "a"\nkind = "scripted"\n', "Which?")
    done = synth(tmp_path)
    assert done.code == 2
    assert "cycler" in done.err
    assert "Traceback" not in done.err
    assert not list(tmp_path.rglob("MARKER"))


def test_what_means_nothing_in_a_template_is_sent_as_it_is(tmp_path: Path) -> None:
    talk = Talk()
    refine = json.dumps(f"{PLAIN} {{{{prompt}}}} and {{{{response}}}}")
    judging = f"{PLAIN} {PROGRAMS[0]} {PROGRAMS[1]} {{prompt}} {{response}}"
    with raw_server(replies(talk.serve)) as url:
        models = f"{openai(url, 'writer')}{openai(url, 'critic')}"
        settings = f'[strategy]\nname = "toa"\nn = 6\nmax_parallel = 1\n[templates]\nrefine = {refine}\n{judged_by(judging)}{models}'
        laid_out(tmp_path, settings, "A short question?")
        done = synth(tmp_path)
    assert done.code == 0, done.err
    refined = [text for text in talk.asked if text != "A short question?"]
    assert refined, "nothing was refined"
    assert set(refined) <= {f"{PLAIN} A short question? and Answer {number}: {HOSTILE}" for number in range(1, 7)}
    for text in talk.judged:
        assert text.startswith(f"{PLAIN} {PROGRAMS[0]} {PROGRAMS[1]} <")
    assert not list(tmp_path.rglob("MARKER"))


def test_the_turn_of_a_reward_server_is_no_program_either(tmp_path: Path) -> None:
    seen: list[str] = []

    def pooled(body: dict[str, Any]) -> str:
        seen.extend(body["input"])
        return json.dumps({"data": [{"index": index, "data": [1.0]} for index in range(len(body["input"]))]})

    turn = f"{PLAIN} {PROGRAMS[0]} [{{role}}] {{content}}\n"
    with raw_server(replies(pooled)) as url:
        writer = f'[[models]]\nname = "writer"\nkind = "scripted"\nanswers = [{json.dumps(HOSTILE)}]\n'
        part = f'[[reward.parts]]\nkind = "remote"\nshape = "pooling"\nturn = {json.dumps(turn)}\nendpoints = [{{ url = "{url}" }}]\n'
        laid_out(tmp_path, one_each() + writer + part, "Which?")
        done = synth(tmp_path)
    assert done.code == 0, done.err
    assert seen == [f"{PLAIN} {PROGRAMS[0]} [user] Which?\n{PLAIN} {PROGRAMS[0]} [assistant] {HOSTILE}\n"]
