"""Links of the pages lead somewhere: to a file of the repository, and to a heading that is in it."""

import re
from pathlib import Path

import pytest
from tests.docs.blocks import ROOT, pages, prose_of

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchor_of(heading: str) -> str:
    """The anchor a Markdown host makes of a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", ""))
    return kept.replace(" ", "-")


def anchors_of(page: Path) -> set[str]:
    return {anchor_of(line.lstrip("#")) for line in prose_of(page).splitlines() if line.startswith("#")}


def broken_links(page: Path) -> list[str]:
    broken = []
    for target in LINK.findall(prose_of(page)):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors_of(file)):
            broken.append(target)
    return broken


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A heading\n[a](#a-heading) [b](#none) [c](missing.md) [d](page.md)\n```\n[e](inside-a-fence.md)\n```\n")
    assert broken_links(page) == ["#none", "missing.md"]


def test_every_page_of_the_docs_can_be_reached_from_the_index() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        waiting += [(page.parent / target.partition("#")[0]).resolve() for target in LINK.findall(prose_of(page)) if "://" not in target]
    assert set(ROOT.glob("docs/**/*.md")) - seen == set()
