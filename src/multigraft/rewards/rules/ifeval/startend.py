"""How the answer starts and ends."""

from multigraft.rewards.rules.check import Check, verdict


def end_checker(response: str, *, end_phrase: str) -> Check:
    """The answer ends with the phrase, in any case, quotes around the whole answer aside; credit when it occurs elsewhere: a half."""
    text, phrase = response.strip().strip('"').lower(), end_phrase.lower()
    ends = text.endswith(phrase)
    return verdict(f"{'ends' if ends else 'does not end'} with '{end_phrase}'", passed=ends, credit=0.5 if phrase in text else 0.0)


def quotation(response: str) -> Check:
    """Double quotes around the whole answer; credit: half for each end."""
    text = response.strip()
    ends = text.startswith('"') + text[1:].endswith('"')
    return verdict(f"{ends} of 2 ends in double quotes", passed=ends == 2, credit=ends / 2)
