"""The reference answers of a prompt."""

from multigraft.types import Json, Prompt


def references_of(prompt: Prompt, field: str | None) -> list[str]:
    """Return what is right.

    Args:
        prompt: with its row.
        field: of the row: a text, a number, or a list of them; None: the prompt's reference.

    Returns:
        The texts that are not blank, in order; empty when there are none.
    """
    found: Json = prompt.reference if field is None else prompt.fields.get(field)
    items = found if isinstance(found, list) else [found]
    texts = [str(item) for item in items if isinstance(item, str | int | float) and not isinstance(item, bool)]
    return [text for text in texts if text.strip()]
