"""Lines that a terminal would break in the middle of a word."""

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.cli.folding import folded, folded_for


def test_a_long_line_is_broken_between_words_and_what_follows_is_indented() -> None:
    assert folded("  found: one two three", 12) == "  found: one\n    two\n    three"
    assert folded("short\n\n  also short", 12) == "short\n\n  also short"


def test_what_can_be_copied_stays_in_one_line() -> None:
    line = "Create one: `lakebed init a b c`, or not"
    assert folded(line, 15).split("\n") == ["Create one:", "  `lakebed init a b c`,", "  or not"]


@given(st.text(st.sampled_from("ab `\n"), max_size=60), st.integers(10, 30))
def test_nothing_but_blanks_is_changed_and_what_can_fit_does(text: str, width: int) -> None:
    found = folded(text, width)
    assert found.split() == text.split()
    assert folded(text, 1_000) == text
    for line in found.split("\n"):
        is_one_word = " " not in line.strip() or "`" in line
        assert len(line) <= width or is_one_word


@pytest.mark.parametrize("stream", [StringIO()])
def test_what_is_not_a_terminal_gets_the_line_whole(stream: StringIO) -> None:
    assert folded_for(stream, "word " * 100) == "word " * 100
