import os
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.files.paths import PART_BYTES, PATH_BYTES, check_path, check_prefix, part_flaw

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
NEAR_PATHS = st.text("ab./\\\0\x1f\x7f\x9f -tmp", max_size=12)


def is_good(path: str) -> bool:
    """The rules of docs/internals/files.md once more, by other means."""
    try:
        size = len(path.encode("utf-8", "strict"))
    except UnicodeEncodeError:
        return False
    return (
        0 < size <= PATH_BYTES
        and not path.startswith("/")
        and os.path.normpath(path) == path
        and path != "."
        and path.split("/")[0] != ".."
        and "\\" not in path
        and not any(unicodedata.category(character) == "Cc" for character in path)
        and all(len(os.fsencode(part)) <= PART_BYTES and part[:5] != ".tmp-" for part in path.split("/"))
    )


def accepted(path: str) -> bool:
    try:
        return check_path(path) == path
    except Invalid:
        return False


@given(ANY_TEXT | NEAR_PATHS)
@example("x" * PART_BYTES)
@example("x" * (PART_BYTES + 1))
@example("é" * 127 + "x")
@example("é" * 128)
@example("/".join(["x" * 204] * 5))
@example("/".join(["x" * 204] * 5) + "x")
@example(".tmp")
@example("a/.tmp-")
@example("...")
def test_a_path_is_accepted_by_the_documented_rules_alone(path: str) -> None:
    assert accepted(path) == is_good(path)


@given(ANY_TEXT | NEAR_PATHS)
def test_an_accepted_path_stays_below_the_root(path: str) -> None:
    if accepted(path):
        assert os.path.abspath(f"/root/{path}") == f"/root/{path}"


@given(st.lists(NEAR_PATHS, min_size=1, max_size=3).map("/".join), st.integers(0, 20))
def test_every_prefix_of_a_good_path_is_good_and_names_its_folder(path: str, cut: int) -> None:
    if accepted(path):
        folder = check_prefix(path[:cut])
        assert path.startswith(folder)
        assert not folder or path[:cut].startswith(f"{folder}/")


@given(ANY_TEXT | NEAR_PATHS)
def test_a_refusal_can_be_printed_and_says_what_to_do(path: str) -> None:
    if not accepted(path):
        with pytest.raises(Invalid) as caught:
            check_path(path)
        assert caught.value.expected and caught.value.found and caught.value.advice
        assert str(caught.value).isprintable()
        str(caught.value).encode()


def test_a_very_long_path_is_shown_short() -> None:
    with pytest.raises(Invalid) as caught:
        check_path("x" * 100_000)
    assert len(str(caught.value)) < 500


def test_a_temporary_is_no_part_of_a_path() -> None:
    assert part_flaw(".tmp-0123") is not None
    assert part_flaw("tmp-0123") is None
