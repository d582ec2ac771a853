"""The pages of docs/ read alike on a forge and as a site: each is in its navigation, and both show the same text."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

BLOCK = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
ITEM = re.compile(r"( *)([-*+]|\d+[.)]) ")
LINK = re.compile(r"\]\(<?([^)#\s>]+)[^)]*\)")
TAG = re.compile(r"</?([a-z]+)[^>]*>")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


def navigation() -> list[str]:
    """The pages of the navigation, in their order."""
    return list(pages_of(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]))


def pages_of(entry: object) -> Iterator[str]:
    match entry:
        case str():
            yield entry
        case list():
            for one in entry:
                yield from pages_of(one)
        case dict():
            yield from pages_of(list(entry.values()))


def traps(page: str) -> list[str]:
    """What a forge shows otherwise than the site: one follows CommonMark, the other Markdown as it was first."""
    lines = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), page).splitlines()
    return [f"line {number}: {trap}" for number, trap in numbered_traps(lines)]


def numbered_traps(lines: list[str]) -> Iterator[tuple[int, str]]:
    for number, (before, line) in enumerate(zip(["", *lines], lines, strict=False), 1):
        words = CODE.sub("", line)
        item = ITEM.match(line)
        if item and item[1]:
            yield number, "a list in a list: they differ in how far it is indented"
        if item and re.match(r"\s*([-*+]|1[.)]) ", line) and is_text(before):
            yield number, "a list needs an empty line before it"
        if line.startswith("|") and re.search(r"`[^`|]*\\\|", line):
            yield number, "write <code>&#124;</code> for a vertical bar in a table"
        if any(tag not in {"code", "br", "sub", "sup"} for tag in TAG.findall(words)):
            yield number, "what looks like HTML is not shown: put it in backticks"


def is_text(line: str) -> bool:
    return bool(line.strip()) and not ITEM.match(line) and not line.startswith(("#", " ", "|", "<!--"))


def links_out(page: Path, docs: Path = DOCS) -> list[str]:
    """Links that lead out of docs/, where the site has nothing, or to a folder, of which it has no page."""
    text = re.sub(r"`[^`\n]*`", "", BLOCK.sub("", page.read_text(encoding="utf-8")))
    aims = [target for target in LINK.findall(text) if not re.match(r"[a-z]+:", target)]
    return [aim for aim in aims if docs not in (page.parent / aim).resolve().parents or (page.parent / aim).is_dir()]


def named(path: Path) -> str:
    return str(path.relative_to(DOCS))


PAGES = sorted(DOCS.rglob("*.md"))


def test_every_page_is_in_the_navigation_once() -> None:
    pages = [
        named(path) for path in PAGES if not re.match(r"\d{4}-", path.name)
    ]  # decisions are listed on their own page
    assert sorted(navigation()) == sorted(pages)


def test_every_page_is_on_the_first_one() -> None:
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    listed = {str(Path(target)) for target in LINK.findall(text)}
    assert [page for page in navigation() if page != "README.md" and page not in listed] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_page_reads_alike_everywhere(page: Path) -> None:
    assert traps(page.read_text(encoding="utf-8")) == []
    assert links_out(page) == []


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("words\n- one\n", ["line 2: a list needs an empty line before it"]),
        ("words\n\n- one\n  - two\n", ["line 4: a list in a list: they differ in how far it is indented"]),
        ("| `a\\|b` |", ["line 1: write <code>&#124;</code> for a vertical bar in a table"]),
        ("| list<string> |", ["line 1: what looks like HTML is not shown: put it in backticks"]),
        ("```text\n- a\n<b>\n```\n\n- `list<string>`\n- ``a`b<c>``\n\nwords\n1970. More\n", []),
        ("# Title\n- one\n- two\n  words\n- three <code>&#124;</code>\n", []),
    ],
)
def test_what_reads_otherwise_is_found(page: str, found: list[str]) -> None:
    assert traps(page) == found


def test_a_link_out_of_the_pages_is_found(tmp_path: Path) -> None:
    (tmp_path / "docs/guide").mkdir(parents=True)
    page = tmp_path / "docs/guide/page.md"
    page.write_text(
        "[a](../../lakebed/one.py) [b](page.md#x) [c](https://lakebed.invalid) [d](../guide/) `[e](../../x)`"
    )
    assert links_out(page, tmp_path / "docs") == ["../../lakebed/one.py", "../guide/"]
