"""Pages: links lead somewhere, code names pages that there are, and what is generated says so."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
GENERATED = ("clauses.md", "evidence.md", "grid.md", "kafka-bugs.md", "kafka-promises.md")


def files(*patterns: str) -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in done.stdout.splitlines() if (ROOT / name).exists()]


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    words = [re.sub(r"[^\w\- ]", "", title.lower()) for title in HEADING.findall(prose(page))]
    return {each.strip().replace(" ", "-") for each in words}


def broken(page: Path) -> list[str]:
    """Links of a page, to this repository, that lead nowhere."""
    found = []
    for link in LINK.findall(prose(page)):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", files("*.md"), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_link_that_leads_nowhere_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A Page\n\n[a](#a-page) [b](#b) [c](other.md) [d](https://example.org)\n")
    assert broken(page) == ["#b", "other.md"]


def test_code_names_pages_that_there_are() -> None:
    mention = re.compile(r"\bdocs/[\w-]+\.md\b")
    missing = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files("*.py", "*.sh", "*.yml", "*.toml", "*.md", "Makefile", "*.html")
        for name in mention.findall(file.read_text())
        if not (ROOT / name).exists()
    }
    assert missing == set()


def test_no_page_has_what_a_merge_left() -> None:
    """Both sides of a conflict, as git marks them."""
    marks = re.compile(r"^(<{7}|={7}|>{7})(?: |$)", re.MULTILINE)
    assert marks.search("a\n>>>>>>> 1234567 (b)\n")
    assert [page.name for page in files("*.md") if marks.search(page.read_text())] == []


@pytest.mark.parametrize("name", GENERATED)
def test_what_is_generated_says_so(name: str) -> None:
    head = "\n".join((ROOT / "docs" / name).read_text().splitlines()[:4])
    assert re.search(r"python -m [\w.]+", head), head


def test_the_first_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= 900
