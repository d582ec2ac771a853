"""What README.md, CHANGELOG.md and docs/ point at is there: pages, headings, files, folders; and what code names."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

BLOCK = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(<?([^)\s>]+)>?[^)]*\)")
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
FILE_IN_WORDS = re.compile(r"`([\w-]+(?:/[\w.-]+)+\.(?:py|md|proto|svg))(?:::\w+)*`")
FOLDER_IN_WORDS = re.compile(r"`(lakebed(?:/\w+)*|\w+(?:/\w+)*/)`")
PAGE_IN_CODE = re.compile(r"\bdocs/[\w/-]+\.md\b")


def pages(root: Path) -> list[Path]:
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def findings(root: Path) -> list[str]:
    """What points nowhere, one sentence each."""
    problems = []
    for page in pages(root):
        text = BLOCK.sub("", page.read_text(encoding="utf-8"))
        problems += [f"{page.relative_to(root)}: {one}" for one in (*links(page, text), *files(root, text))]
    return problems + [f"{path}: there is no {name}" for path, name in pages_in_code(root)]


def links(page: Path, text: str) -> Iterator[str]:
    for target in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue  # of the web: a test reads nothing there
        path, _, heading = target.partition("#")
        aim = page.parent / path if path else page
        if not aim.exists():
            yield f"the link {target} points nowhere"
        elif heading and heading not in headings(aim):
            yield f"the link {target} points to a heading that is not there"


def headings(page: Path) -> set[str]:
    """As GitHub makes anchors of them."""
    found = HEADING.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in found}


def files(root: Path, text: str) -> Iterator[str]:
    """Files in backticks: by their way from the root, or from the package. `build/` has what `make` writes later."""
    for name in FILE_IN_WORDS.findall(text):
        if not name.startswith("build/") and not any((root / start / name).exists() for start in ("", "lakebed")):
            yield f"there is no file {name}"


def folders(root: Path, text: str) -> list[str]:
    """What is wrong with the folders of `lakebed/` that a page lists: each is to be there, and on the page."""
    listed = set(FOLDER_IN_WORDS.findall(text))
    packages = {str(path.parent.relative_to(root)) for path in (root / "lakebed").rglob("__init__.py")} - {"lakebed"}
    nowhere = [one for one in listed if not any((root / start / one).is_dir() for start in ("", "lakebed", "docs"))]
    return [
        *(f"the folder {one} is not on the page" for one in sorted(packages - listed)),
        *(f"there is no folder {one}" for one in sorted(nowhere)),
    ]


def pages_in_code(root: Path) -> Iterator[tuple[Path, str]]:
    for folder in ("lakebed", "pyspark_lakebed", "bench", "demo", "torture"):
        for path in sorted((root / folder).rglob("*.py")):
            for name in PAGE_IN_CODE.findall(path.read_text(encoding="utf-8")):
                if not (root / name).exists():
                    yield path.relative_to(root), name


def test_everything_that_the_pages_and_the_code_point_at_is_there() -> None:
    assert len(pages(ROOT)) > 20
    assert findings(ROOT) == []


def test_the_page_of_the_architecture_lists_every_folder_and_no_other() -> None:
    assert folders(ROOT, (ROOT / "docs/architecture.md").read_text(encoding="utf-8")) == []


def test_a_folder_that_is_missing_on_the_page_and_one_that_is_gone_are_found(tmp_path: Path) -> None:
    (tmp_path / "lakebed/store").mkdir(parents=True)
    (tmp_path / "lakebed/store/__init__.py").write_text("")
    problems = [
        "the folder lakebed/store is not on the page",
        "there is no folder lakebed/shop",
        "there is no folder shop/",
    ]
    assert folders(tmp_path, "`lakebed/shop`, `shop/`, `store/`, `shop`") == problems
    assert folders(tmp_path, "`lakebed/store`") == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[a](docs/b.md)", "page.md: the link docs/b.md points nowhere"),
        ("words [a](page.md#none) words", "page.md: the link page.md#none points to a heading that is not there"),
        ("[a](#none)", "page.md: the link #none points to a heading that is not there"),
        ("![a](docs/picture.svg)", "page.md: the link docs/picture.svg points nowhere"),
        ("It is in `table/none.py`.", "page.md: there is no file table/none.py"),
        ("`tests/test_none.py::test_that`", "page.md: there is no file tests/test_none.py"),
    ],
)
def test_what_points_nowhere_is_found(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(text)
    assert findings(tmp_path) == [problem]


def test_a_page_that_the_code_names_and_is_gone_is_found(tmp_path: Path) -> None:
    (tmp_path / "lakebed").mkdir()
    (tmp_path / "lakebed/one.py").write_text('"""As docs/gone.md says."""')
    assert findings(tmp_path) == ["lakebed/one.py: there is no docs/gone.md"]


def test_links_that_lead_somewhere_and_code_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "lakebed").mkdir()
    (tmp_path / "lakebed/one.py").write_text("")
    page = """
        # What `it` is, in 3 words
        [here](#what-it-is-in-3-words) [self](page.md) [web](https://lakebed.invalid/none)
        `one[0](none)` `lakebed/one.py`
        ```python
        rows[0](none)
        ```
    """
    (tmp_path / "page.md").write_text("\n".join(line.strip() for line in page.splitlines()))
    assert findings(tmp_path) == []
