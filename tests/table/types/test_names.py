"""Names of columns: what is legal, and when two are one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.table.types.names import NAME_BYTES, check_column_names, folded_column


@pytest.mark.parametrize(
    "name", ["a", "a b", "a.b", "a/b", "a|b", "`", "Straße", "列", "e\u0301", "1", "x" * NAME_BYTES]
)
def test_any_printable_text_is_a_name(name):
    check_column_names([name])


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "empty or too long .*found 0"),
        ("x" * (NAME_BYTES + 1), "empty or too long .*found 256"),
        ("é" * 128, "empty or too long"),
        ("a\nb", r"control or unknown character .found U\+000A"),
        ("a\x00", r"found U\+0000"),
        ("\ud800", r"found U\+D800"),
        ("\uffff", r"found U\+FFFF"),
        (5, "a column's name must be text .expected str, found int"),
        (None, "a column's name must be text"),
    ],
)
def test_what_is_no_name_is_refused(name, problem):
    with pytest.raises(Invalid, match=problem):
        check_column_names([name])


@pytest.mark.parametrize(
    ("one", "other"),
    [("a", "A"), ("Straße", "STRASSE"), ("\u00e9", "e\u0301"), ("\u00c9", "e\u0301"), ("K", "\u212a"), ("ſ", "s")],
)
def test_names_are_compared_without_case_and_form(one, other):
    assert folded_column(one) == folded_column(other)
    with pytest.raises(Invalid, match="two columns have the same name"):
        check_column_names([one, "between", other])


def test_one_name_twice_is_refused_even_if_it_is_the_same_object():
    name = "a"
    with pytest.raises(Invalid, match=r"'a': two columns have the same name .found 'a' too"):
        check_column_names([name, name])


def test_names_that_differ_are_two():
    check_column_names(["a", "b", "a ", "a.b", "ı", "i"])


@given(st.text())
def test_folding_twice_is_folding_once(name):
    assert folded_column(folded_column(name)) == folded_column(name)


@given(st.text(st.characters(exclude_categories=["Cc", "Cn", "Cs"]), min_size=1, max_size=20))
def test_a_name_is_the_same_in_upper_and_lower_case(name):
    check_column_names([name])
    assert folded_column(name.casefold()) == folded_column(name)
