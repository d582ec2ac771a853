"""Names of columns: what is legal, when two are one, and what a column is called in files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.table.types.names import (
    NAME_BYTES,
    check_column_names,
    folded_column,
    is_plain_name,
    physical_name,
    physical_names_of,
)


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


@pytest.mark.parametrize("name", ["a", "A", "_", "_1", "select", "Order_ID", "x" * NAME_BYTES])
def test_a_plain_word_is_called_the_same_in_files(name):
    assert physical_name(name, 7) == name


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("${user.name}", "user_name_7"),
        ("Order ID", "Order_ID_7"),
        ("a.b", "a_b_7"),
        ("2024", "c_2024_7"),
        ("列", "c_7"),
        ("Größe", "Gr_e_7"),
        ("_metadata", "metadata_7"),
        ("_Metadata", "Metadata_7"),
        ("x y" * 80, ("x_y" * 80)[:40] + "_7"),
    ],
)
def test_any_other_name_is_a_plain_word_in_files(name, stored):
    assert physical_name(name, 7) == stored


@given(st.lists(st.text("aA_ .1é$", min_size=1, max_size=3), unique_by=folded_column, max_size=8), st.integers(1, 20))
def test_no_two_columns_are_called_the_same_in_files(names, first):
    stored = physical_names_of(names, range(first, first + len(names)))
    assert all(map(is_plain_name, stored))
    assert len(set(map(folded_column, stored))) == len(names)
    assert all(one == other for one, other in zip(names, stored, strict=True) if is_plain_name(one))


def test_a_name_in_files_that_a_plain_column_has_is_not_taken():
    assert physical_names_of(["a b", "A_B_1"], [1, 2]) == ["a_b_1_1", "A_B_1"]
    assert physical_name("a b", 5, {"a_b_5", "a_b_5_5"}) == "a_b_5_5_5"
