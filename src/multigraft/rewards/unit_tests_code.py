"""Finding the code in an answer: fenced or bare, a whole function or only its body. Text goes in and texts come out; nothing is parsed or run here."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Literal

Where = Literal["auto", "chat", "completion"]
"""Where code stands: in the fenced blocks of a chat answer, or as the bare continuation of the prompt; `auto`: the first if there is a fence."""

_FENCE = re.compile(r"^[ \t]{0,12}(?P<mark>`{3,}|~{3,})[ \t]*(?P<language>[\w+.-]*)")
_PYTHON = {"python", "py", "python3", "py3", ""}
_CODE_STARTS = re.compile(
    r"(?:async +def|def|class|import|from|if|for|while|try|with|else|elif|except|finally|return|print|assert|raise|del|global)\b|[@#)\]}\"']|\w+ *[=([.]"
)
_FIRST_LINE = re.compile(r"^(?:def|async +def|import|from \w[\w.]* +import|class|@)\b", re.MULTILINE)
_INDENT = "    "


def code_of_prompt(text: str, entry_point: str) -> str:
    """Find the code that a prompt asks to be completed.

    Args:
        text: of the prompt.
        entry_point: name of the function.

    Returns:
        The text itself when the function stands in it, the block when it stands in a fenced one; empty when the function is only described.
    """
    for block in (*(block for _, block in fenced_blocks(text)), text):
        if defines(block, entry_point):
            return block
    return ""


def readings(answer: str, prompt_code: str, entry_point: str, where: Where = "auto") -> tuple[str, ...]:
    """Make whole programs of an answer.

    Args:
        answer: of the model.
        prompt_code: what it was to complete; may be empty.
        entry_point: name of the function.
        where: code stands in the answer.

    Returns:
        Programs, likeliest first and each once; the first that compiles is the one that is meant.
    """
    answer = answer.replace("\r\n", "\n")
    blocks = fenced_blocks(answer) if where != "completion" else ()
    found: list[str] = []
    for code in _in_order(blocks, entry_point) if blocks else _bare(answer, entry_point, where):
        found.extend(_whole(code, prompt_code, entry_point) if defines(code, entry_point) else _body(code, prompt_code))
    return tuple(dict.fromkeys(found))


def defines(code: str, entry_point: str) -> bool:
    """Whether a function of this name begins at the margin."""
    return re.search(rf"^(?:async +)?def +{re.escape(entry_point)}\b", code, re.MULTILINE) is not None


def fenced_blocks(text: str) -> tuple[tuple[str, str], ...]:
    """Find fenced blocks; one that is never closed goes to the end, as an answer may be cut off.

    Returns:
        The language (small letters, empty when not named) and the content of each, without common indentation.
    """
    blocks: list[tuple[str, str]] = []
    mark, language, lines = "", "", [""]
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if not mark and fence:
            mark, language, lines = fence["mark"], fence["language"].lower(), []
        elif mark and fence and fence["mark"].startswith(mark) and line.strip() == fence["mark"]:
            blocks.append((language, textwrap.dedent("\n".join(lines)) + "\n"))
            mark = ""
        elif mark:
            lines.append(line)
    if mark:
        blocks.append((language, textwrap.dedent("\n".join(lines)) + "\n"))
    return tuple(blocks)


def _in_order(blocks: Sequence[tuple[str, str]], entry_point: str) -> list[str]:
    """Order blocks: the last that defines the function, as answers correct themselves, then Python before others, long before short."""
    ordered = sorted(
        enumerate(blocks),
        key=lambda numbered: (
            defines(numbered[1][1], entry_point),
            numbered[1][0] in _PYTHON,
            defines(numbered[1][1], entry_point) * numbered[0],
            len(numbered[1][1]),
        ),
        reverse=True,
    )
    return [block for _, (_, block) in ordered[:3]]


def _bare(answer: str, entry_point: str, where: Where) -> Iterator[str]:
    yield answer
    start = _FIRST_LINE.search(answer)
    if where != "completion" and start and start.start() > 0 and defines(answer, entry_point):
        yield answer[start.start() :]


def _whole(code: str, prompt_code: str, entry_point: str) -> Iterator[str]:
    # What stands before the function in the prompt: imports and helpers that answers rarely repeat.
    before = re.split(rf"^(?:async +)?def +{re.escape(entry_point)}\b", prompt_code, maxsplit=1, flags=re.MULTILINE)[0] if prompt_code else ""
    yield f"{before}\n{code}"
    start = re.search(rf"^(?:async +)?def +{re.escape(entry_point)}\b", code, re.MULTILINE)
    after = start.end() if start else 0
    yield f"{before}\n{code[:after]}{_cut(code[after:], keep_code=True)}"
    yield f"{before}\n{code[:after]}{_cut(code[after:], keep_code=False)}"


def _body(code: str, prompt_code: str) -> Iterator[str]:
    if not prompt_code:
        yield code
        return
    start = prompt_code if prompt_code.endswith("\n") else f"{prompt_code}\n"
    for body in (code, _cut(code, keep_code=True), _cut(code, keep_code=False)):
        yield start + body
        # A first line whose indentation was stripped, and a body written at the margin.
        yield start + _INDENT + body.lstrip()
        yield start + textwrap.indent(body, _INDENT)


def _cut(code: str, *, keep_code: bool) -> str:
    """Cut at the first line at the margin that ends the function; such lines that look like code may stay."""
    lines = code.split("\n")
    for number, line in enumerate(lines[1:], start=1):
        if line and not line[0].isspace() and not (keep_code and _CODE_STARTS.match(line)):
            return "\n".join(lines[:number]) + "\n"
    return code
