"""Patterns of LIKE: what they match, how they are written, and what is no pattern."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Invalid, TooLarge
from lakebed.table.filter.like import (
    LENGTH,
    Pattern,
    Wildcard,
    escaped,
    parse_pattern,
    prefix_pattern,
)

ALPHABET = "ab%_\\\né😀"
TEXTS = st.text(ALPHABET, max_size=8)


@st.composite
def written(draw: st.DrawFn) -> tuple[str, str]:
    """A pattern, and the regular expression that it means."""
    parts = {"%": ".*", "_": ".", "\\%": "%", "\\_": "_", "\\\\": r"\\"} | {one: re.escape(one) for one in "ab\né😀"}
    chosen = draw(st.lists(st.sampled_from(sorted(parts)), max_size=8))
    return "".join(chosen), "".join(parts[one] for one in chosen)


@given(written(), TEXTS)
def test_a_pattern_matches_what_it_means(pattern: tuple[str, str], text: str) -> None:
    expected = re.fullmatch(pattern[1], text, re.DOTALL) is not None
    assert parse_pattern(pattern[0]).matches(text) == expected


@given(written())
def test_the_text_of_a_pattern_is_read_as_it_again(pattern: tuple[str, str]) -> None:
    parsed = parse_pattern(pattern[0])
    assert parse_pattern(parsed.text) == parsed
    assert all(left is not right or left is Wildcard.ONE for left, right in pairwise(parsed.parts))


@given(written(), TEXTS)
def test_what_matches_begins_with_the_prefix(pattern: tuple[str, str], text: str) -> None:
    parsed = parse_pattern(pattern[0])
    if parsed.matches(text):
        assert text.startswith(parsed.prefix)
    if parsed.is_prefix:
        assert parsed.matches(text) == text.startswith(parsed.prefix)
    if parsed.is_exact:
        assert parsed.matches(text) == (text == parsed.prefix)


@given(TEXTS, TEXTS)
def test_any_text_can_be_a_prefix(prefix: str, text: str) -> None:
    assert prefix_pattern(prefix).matches(prefix + text)
    assert prefix_pattern(prefix) == parse_pattern(escaped(prefix) + "%")
    assert parse_pattern(escaped(prefix)).is_exact


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ()),
        ("a%b", ("a", Wildcard.ANY, "b")),
        ("%%", (Wildcard.ANY,)),
        ("%_%", (Wildcard.ONE, Wildcard.ANY)),
        ("a\\%%", ("a%", Wildcard.ANY)),
    ],
)
def test_wildcards_in_a_row_have_one_order(text: str, parts: tuple[str | Wildcard, ...]) -> None:
    assert parse_pattern(text) == Pattern(parts)


def test_the_escape_may_be_another_or_a_wildcard() -> None:
    assert parse_pattern("a!%!!%", "!") == Pattern(("a%!", Wildcard.ANY))
    assert parse_pattern("a\\%", "!") == Pattern(("a\\", Wildcard.ANY))
    assert parse_pattern("%%_", "%") == Pattern(("%", Wildcard.ONE))


@pytest.mark.parametrize(("text", "escape"), [("a\\", "\\"), ("\\a", "\\"), ("!a", "!"), ("a", ""), ("a", "!!")])
def test_a_misplaced_escape_is_refused(text: str, escape: str) -> None:
    with pytest.raises(Invalid, match="escape"):
        parse_pattern(text, escape)


def test_patterns_that_engines_would_choke_on_are_refused() -> None:
    assert parse_pattern("a" * LENGTH).is_exact
    with pytest.raises(TooLarge, match="at most 1000 characters"):
        parse_pattern("a%" * LENGTH)
    with pytest.raises(Invalid, match="surrogate"):
        prefix_pattern("\ud800")


def test_a_pattern_that_almost_matches_is_told_in_no_time() -> None:
    """A regular expression would try some 10^30 ways."""
    assert not parse_pattern("%a" * 100 + "%b").matches("a" * 300)
