"""Names: which are legal, and that two spellings of one name meet."""

import sys
import unicodedata

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.records.names import NAME_BYTES, Casing, folded, normal_name, normal_ref_name

# What is hard about case and composition: ß, İ, the iota below (U+0345) and what has it inside, ΐ and ǰ, which fold to
# several code points and compose again, final sigma, Kelvin and Ohm, Cherokee (folds upwards), a ligature.
HARD = "ßẞİıͅᾳᾼΐǰσςΣKΩꭰᎠﬃʼnÅÅéÉ"
MARKS = "\u0301\u0307\u0308\u030a\u0327\u0345"

texts = st.text(st.sampled_from(HARD + MARKS + "aZ"), max_size=6) | st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=6
)


def normal(text):
    """The text as a name, if it is one."""
    try:
        return normal_name(text)
    except Invalid:
        assume(False)


def assigned():
    return (
        chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cc", "Cn", "Cs")
    )


# Comparing


@given(texts, st.sampled_from(Casing))
@example("\u0345", Casing.FOLDED)
@example("ᾳ\u0307", Casing.FOLDED)
def test_folding_twice_is_folding_once(text, casing):
    once = folded(normal(text), casing)
    assert folded(once, casing) == once
    assert normal_name(once, refused="") == once, "what is kept in keys is itself a name"


@given(texts, st.sampled_from(Casing))
def test_composed_and_decomposed_spellings_meet(text, casing):
    spellings = [unicodedata.normalize(form, normal(text)) for form in ("NFC", "NFD")]
    assert len({folded(normal_name(spelling), casing) for spelling in spellings}) == 1
    assert len({folded(spelling, casing) for spelling in spellings}) == 1, "and the beginnings of names too"


def variants(name):
    """The name in other cases; made of its decomposed form, since str.upper() puts the iota of ᾳ before its marks."""
    apart = unicodedata.normalize("NFD", name)
    return [apart.casefold(), apart.lower(), apart.upper(), apart.title(), apart.swapcase()]


@given(texts)
def test_case_variants_meet(text):
    name = normal(text)
    assume("ı" not in name)  # its capital is I, whose small letter is i: Unicode's folding keeps it apart
    assert {folded(one, Casing.FOLDED) for one in variants(name)} == {folded(name, Casing.FOLDED)}


@pytest.mark.parametrize("name", ["ᾷ", "ῇ", "ῷ"])
def test_a_greek_name_with_iota_and_circumflex_is_found_by_its_capital(name):
    assert folded(name.title(), Casing.FOLDED) == folded(name.upper(), Casing.FOLDED) == folded(name, Casing.FOLDED)


def test_every_code_point_folds_to_a_name_and_stays_there():
    for character in assigned():
        if character in "|/@#.":
            continue
        form = folded(normal_name(character), Casing.FOLDED)
        assert folded(form, Casing.FOLDED) == normal_name(form) == form, f"U+{ord(character):04X}"
        assert folded(unicodedata.normalize("NFD", character), Casing.FOLDED) == form, f"U+{ord(character):04X}"
        met = {folded(variant, Casing.FOLDED) for variant in variants(character)}
        assert met == {form} or character == "ı", f"U+{ord(character):04X}"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("orders", "orders"),
        ("Orders_2", "orders_2"),
        ("Straße", "strasse"),
        ("STRASSE", "strasse"),
        ("İ", "i̇"),
        ("ı", "ı"),
        ("\u0345", "ι"),
        ("ᾳ", "αι"),
        ("ΑΙ", "αι"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("Å", "å"),  # Ångström
        ("A\u030a", "å"),
        ("ꭰ", "Ꭰ"),
        ("ǰ", "ǰ"),
        ("ﬃ", "ffi"),
    ],
)
def test_examples_of_folding(name, form):
    assert folded(normal_name(name), Casing.FOLDED) == form


def test_an_exact_catalog_tells_case_apart_and_nothing_else():
    assert folded("Orders", Casing.EXACT) == "Orders"
    assert folded("e\u0301", Casing.EXACT) == "é"


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=8))
def test_ascii_folds_as_all_text_does(text):
    assert folded(text, Casing.FOLDED) == text.casefold()
    assert folded(text, Casing.EXACT) == text


# What is refused


@given(texts)
def test_a_name_is_kept_as_written_but_for_normalisation(text):
    name = normal(text)
    assert name == unicodedata.normalize("NFC", text)
    assert normal_name(name) == name


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_nothing_and_dots_are_refused(name):
    for refuse in (normal_name, normal_ref_name):
        with pytest.raises(Invalid, match="can't be a name"):
            refuse(name)


@pytest.mark.parametrize(
    "name", ["a.b", ".hidden", "...", " ", "a b", "北京", "🙂", "a-b", "%", "\u00a0", "C:\\x", "'; --"]
)
def test_other_names_are_fine(name):
    assert normal_name(name) == name
    assert normal_ref_name(name) == name


@given(st.sampled_from("|/@#"), st.text("abc", max_size=3), st.text("abc", max_size=3))
def test_the_characters_that_mean_something_are_refused(character, before, after):
    with pytest.raises(Invalid) as caught:
        normal_name(before + character + after)
    assert caught.value.found == repr(character)


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        ("\x00", "U+0000"),
        ("\n", "U+000A"),
        ("\x1f", "U+001F"),
        ("\x7f", "U+007F"),
        ("\x85", "U+0085"),
        ("\u0378", "U+0378"),
        ("\uffff", "U+FFFF"),
        ("\U0010ffff", "U+10FFFF"),
        ("\ud800", "U+D800"),
    ],
)
def test_control_unassigned_and_half_characters_are_refused(character, shown):
    for refuse in (normal_name, normal_ref_name):
        with pytest.raises(Invalid) as caught:
            refuse(f"a{character}b")
        assert caught.value.found == shown
        str(caught.value).encode()  # the message itself can be printed


@pytest.mark.parametrize("unit", ["a", "é", "北", "🙂"])
def test_255_bytes_are_the_most(unit):
    most = NAME_BYTES // len(unit.encode())
    assert normal_name(unit * most) == unit * most
    with pytest.raises(Invalid, match=r"too long.*255 bytes"):
        normal_name(unit * most + "a" * (NAME_BYTES % len(unit.encode()) + 1))


def test_a_names_length_is_that_of_its_normal_form():
    assert len(normal_name("e\u0301" * 127).encode()) == 254


@pytest.mark.parametrize("name", [None, 1, b"orders", ["a"]])
def test_a_name_is_text(name):
    with pytest.raises(Invalid, match="a name has to be text"):
        normal_name(name)


# Refs


@pytest.mark.parametrize("name", ["dev", "feature/x", "users/ada/try.2", "a/...", "é/É"])
def test_a_ref_may_have_slashes(name):
    assert normal_ref_name(name) == name


@pytest.mark.parametrize("name", ["/", "/a", "a/", "a//b", "a/./b", "../a", "a/.."])
def test_a_ref_has_no_empty_or_dotted_part(name):
    with pytest.raises(Invalid):
        normal_ref_name(name)


@pytest.mark.parametrize("name", ["a|b", "a@b", "a#b", "x/a@b", "a\x00b", "x" * 256])
def test_a_ref_is_refused_like_a_name_otherwise(name):
    with pytest.raises(Invalid):
        normal_ref_name(name)
