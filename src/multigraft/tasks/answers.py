"""Answers of others to the same prompts, to compare with: a file of one answer a row."""

from pathlib import Path

from multigraft.errors import InputError
from multigraft.tasks.files import read_rows
from multigraft.tasks.text import without_surrogates

KEYS = ("id", "prompt_id", "name", "uid", "question_id")
TEXTS = ("answer", "output", "response", "text")


def read_answers(path: Path) -> dict[str, str]:
    """Read answers by the name or the id of their prompt.

    Args:
        path: JSONL, CSV or Parquet; a row holds one of `id`, `prompt_id`, `name`, `uid`, `question_id`, and one of `answer`, `output`, `response`, `text`.

    Returns:
        At least one text, by key; half a surrogate pair becomes U+FFFD, as in prompts.

    Raises:
        InputError: names file, line and field: no key or no text in a row, a key twice, or no row.
    """
    answers: dict[str, str] = {}
    for row in read_rows(path):
        key = next((row.values[name] for name in KEYS if row.values.get(name) is not None), None)
        text = next((row.values[name] for name in TEXTS if row.values.get(name) is not None), None)
        if not isinstance(key, str | int) or isinstance(key, bool):
            message = f"a row needs the name or id of its prompt, as one of {', '.join(KEYS)}"
            raise row.error(message, "id")
        if not isinstance(text, str):
            message = f"a row needs a text, as one of {', '.join(TEXTS)}"
            raise row.error(message, "answer")
        name = without_surrogates(str(key))
        if name in answers:
            message = f"a second answer to '{name}'"
            raise row.error(message, "id")
        answers[name] = without_surrogates(text)
    if not answers:
        message = "no answer in it"
        raise InputError(message, file=str(path))
    return answers
