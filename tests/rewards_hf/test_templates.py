"""Chat templates are code that came with a model: what they may not do, and how long they may take."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.rewards_hf.answers import answer

from multigraft.errors import MultigraftError
from multigraft.rewards.hf.classifier import Classifier
from multigraft.rewards.hf.layouts import Chat, Conversation, Written
from multigraft.rewards.hf.model_reward import ModelReward
from multigraft.rewards.hf.templates import ChatTemplate, TemplateFailedError
from multigraft.types import FailureKind, Message

Closing = Callable[[ModelReward], ModelReward]
TURNS = [Message("user", "Hello"), Message("assistant", "  Hi \n")]


def rendered(source: str, *, limit_s: float = 5.0, messages: list[Message] = TURNS) -> str:
    template = ChatTemplate(source, constants={"bos_token": "<s>"}, limit_s=limit_s)
    try:
        return text_of(template, messages)
    finally:
        template.close()


def text_of(template: ChatTemplate, messages: list[Message] = TURNS) -> str:
    (text,) = template.render([messages])
    if isinstance(text, TemplateFailedError):
        raise text
    return text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m['content'] | trim }}{% endfor %}", "<s>[user]Hello[assistant]Hi"),
        (
            "{% for m in messages %}{% if m.role == 'user' %}{% continue %}{% endif %}{{ m | tojson }}{% endfor %}",
            '{"role": "assistant", "content": "  Hi \\n"}',
        ),
        ("{% for m in messages %}\n    {% generation %}{{ m.role }}{% endgeneration %}\n{% endfor %}", "userassistant"),
        # jinja reads powers from the left.
        ("{{ 9**9**9 }}", str((9**9) ** 9)),
        ("{{ strftime_now('%Y') if strftime_now is defined else 'no clock' }}", "no clock"),
        ("{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}", "2"),
    ],
)
def test_what_templates_do(source: str, text: str) -> None:
    assert rendered(source) == text


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ cycler.__init__.__globals__.os.popen('touch owned') }}", "reaches for what a template may not touch"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "reaches for what a template may not touch"),
        ("{% set _ = messages.append(1) %}", "reaches for what a template may not touch"),
        ("{% for i in range(10**9) %}x{% endfor %}", "OverflowError"),
        ("{{ 'a' * 10**10 }}", "more memory"),
        ("{{ 'a' * 10**6 }}", "it writes more than"),
        ("{{ raise_exception('no system turns') }}", "no system turns"),
        ("{% if %}", "TemplateSyntaxError"),
    ],
)
def test_what_templates_may_not(source: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(TemplateFailedError, match=reason):
        rendered(source)
    assert not list(Path.cwd().glob("owned"))


@pytest.mark.parametrize("source", ["{{ 9**(9**9) }}", "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"])
def test_a_template_that_never_ends_is_ended(source: str) -> None:
    before_s = time.monotonic()
    template = ChatTemplate(source, constants={}, limit_s=0.3)
    with pytest.raises(TemplateFailedError, match=r"takes longer than 0.3 s, or more memory"):
        text_of(template)
    # The process takes a moment to start, and the next conversation gets a new one.
    assert time.monotonic() - before_s < 30
    assert template._child is None
    template.close()


def test_one_that_takes_too_long_or_too_much_harms_no_other() -> None:
    """Together with others it would take their time or their memory, so all are rendered anew, each alone."""
    # Not constants, which jinja would work out before it looks at any conversation.
    slow = "{% if 'slow' in messages[0]['content'] %}{{ 9**(9**(9 * (messages | length))) }}{% endif %}"
    large = "{% if 'large' in messages[0]['content'] %}{{ messages[0]['content'] * 10**10 }}{% endif %}"
    template = ChatTemplate(slow + large + "{{ 1 // (messages[0]['content'] | length) }}{{ messages[0]['content'] }}", constants={}, limit_s=0.5)
    found = template.render([[Message("user", text)] for text in ("one", "slow", "two", "large", "", "three")])
    assert [str(one) for one in found if isinstance(one, str)] == ["0one", "0two", "0three"]
    reasons = [str(found[number]) for number in (1, 3, 4)]
    for reason, part in zip(reasons, ("takes longer than 0.5 s", "more memory than a template may", "ZeroDivisionError"), strict=True):
        assert part in reason
    one, refused, two = template.render([[Message("user", text)] for text in ("one", "large", "two")])
    assert (one, two) == ("0one", "0two")
    assert "more memory than a template may" in str(refused)
    template.close()


def test_one_process_renders_many() -> None:
    template = ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}", constants={})
    together = template.render([[Message("user", f"\u00e9{number}\n\u2028{'x' * number}")] for number in range(50)])
    child = template._child
    assert together[49] == f"\u00e949\n\u2028{'x' * 49}"
    with pytest.raises(TemplateFailedError):
        text_of(ChatTemplate("{{ 1 / 0 }}", constants={}))
    assert text_of(template) == "Hello  Hi \n"
    assert template._child is child
    template.close()


def test_secrets_of_the_environment_do_not_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    template = ChatTemplate("ok", constants={})
    text_of(template)
    assert template._child is not None
    environment = Path(f"/proc/{template._child._process.pid}/environ")
    if environment.exists():
        assert b"hf_secret" not in environment.read_bytes()
    template.close()


def test_where_a_system_turn_goes() -> None:
    turns = [Message("system", "Be brief."), Message("user", "Hello")]
    refusing = ChatTemplate("{% for m in messages %}{{ raise_exception('no') if m.role == 'system' }}[{{ m.content }}]{% endfor %}", constants={})
    dropping = ChatTemplate("{% for m in messages %}{% if m.role != 'system' %}[{{ m.content }}]{% endif %}{% endfor %}", constants={})
    taking = ChatTemplate("{% for m in messages %}[{{ m.content }}]{% endfor %}", constants={})
    for template, text in ((refusing, "[Be brief.\n\nHello][Hi]"), (dropping, "[Be brief.\n\nHello][Hi]"), (taking, "[Be brief.][Hello][Hi]")):
        chat = Chat(template, system=None)
        chat.check()
        assert chat.write([Conversation(turns, "Hi")]) == [Written(text)]
        template.close()


async def test_a_hostile_template_is_refused_at_the_start(tmp_path: Path, closing: Closing, tiny: Callable[[str], Path]) -> None:
    tiny("classifier")
    from tests.rewards_hf.tiny_models import classifier

    classifier(tmp_path, template="{{ cycler.__init__.__globals__.os.popen('touch owned') }}")
    with pytest.raises(MultigraftError, match="the chat template of the model cannot be used: it reaches for what a template may not touch"):
        await closing(Classifier(model=str(tmp_path))).start()
    assert not (tmp_path / "owned").exists()


async def test_a_template_that_fails_for_some_leaves_them_unscored(tmp_path: Path, closing: Closing, tiny: Callable[[str], Path]) -> None:
    tiny("classifier")
    from tests.rewards_hf.tiny_models import classifier
    from tests.rewards_hf.tiny_tokenizers import LLAMA3

    classifier(tmp_path, template="{% if 'bomb' in messages[-1]['content'] %}{{ raise_exception('too hot') }}{% endif %}" + LLAMA3)
    good, bad = await closing(Classifier(model=str(tmp_path))).score([answer("42"), answer("a bomb")])
    assert good.value is not None
    assert (bad.value, bad.reason) == (None, FailureKind.UNSCORABLE)
    assert "too hot" in bad.message
