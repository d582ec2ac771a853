"""Types: their text reads as it prints, and what is no type is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.table.types.types import (
    BOOLEAN,
    DATE,
    FLOAT,
    INT,
    LONG,
    NAMES,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UUID,
    Decimal,
    Field,
    Fixed,
    List,
    Map,
    Simple,
    Struct,
    leaves,
    parse_type,
)

names = st.text(st.characters(exclude_categories=["Cc", "Cn", "Cs"]), min_size=1, max_size=8) | st.sampled_from(
    ["a", "long", "struct", "`", "``", "a`b", " a ", "a.b", "1", "<", ":", "é"]
)
decimals = st.tuples(st.integers(1, 38), st.integers(0, 38)).map(lambda pair: Decimal(max(pair), pair[1]))
simple = st.sampled_from(list(NAMES.values())) | decimals | st.integers(1, 2**31 - 1).map(Fixed)


def with_parts(inner):
    fields = st.lists(st.builds(Field, names, inner), min_size=1, max_size=3)
    return st.builds(List, inner) | st.builds(Map, inner, inner) | fields.map(tuple).map(structs)


def structs(fields):
    try:
        return Struct(fields)
    except Invalid:  # two names are one; as a filter, unique_by, Hypothesis warns of this strategy's long repr
        return Struct(fields[:1])


types = st.recursive(simple, with_parts, max_leaves=8)


@given(types)
def test_the_text_of_a_type_reads_as_the_type(type):
    assert parse_type(str(type)) == type


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("long", LONG),
        (" LONG ", LONG),
        ("bigint", LONG),
        ("bool", BOOLEAN),
        ("integer", INT),
        ("real", FLOAT),
        ("timestamp", TIMESTAMP),
        ("timestamp_ntz", TIMESTAMP),
        ("timestamptz", TIMESTAMPTZ),
        ("time", TIME),
        ("timestamp_ns", TIMESTAMP_NS),
        ("TIMESTAMPTZ_NS", TIMESTAMPTZ_NS),
        ("uuid", UUID),
        ("fixed(16)", Fixed(16)),
        (" FIXED [ 16 ] ", Fixed(16)),
        ("map<uuid, list<fixed[3]>>", Map(UUID, List(Fixed(3)))),
        ("decimal(10,2)", Decimal(10, 2)),
        ("decimal( 10 , 2 )", Decimal(10, 2)),
        ("list<string>", List(STRING)),
        ("map<string,list<int>>", Map(STRING, List(INT))),
        ("struct<a: int, `b c`: struct<d:date>>", Struct((Field("a", INT), Field("b c", Struct((Field("d", DATE),)))))),
        ("struct<`a``b`: int>", Struct((Field("a`b", INT),))),
        ("struct<long: long>", Struct((Field("long", LONG),))),
    ],
)
def test_types_by_text(text, type):
    assert parse_type(text) == type


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "lnog",
        "`long`",
        "long long",
        "long>",
        "list",
        "list<",
        "list<>",
        "list<int",
        "list<int,int>",
        "map<int>",
        "struct<>",
        "struct<<: int>",
        "struct<,: int>",
        "struct<``: int>",
        "struct<a: int,>",
        "struct<`a: int>",
        "decimal(a, b)",
        "decimal(1٠, 2)",
        "decimal(-1, 2)",
        "decimal(" + "9" * 5000 + ", 2)",
        "fixed",
        "fixed()",
        "fixed(a)",
        "fixed(0)",
        "fixed(16]",
        "fixed[16)",
        "fixed<16>",
        "fixed(2147483648)",
        "fixed(99999999999)",
        "struct<[: int>",
        "decimal(39, 2)",
        "decimal(0, 0)",
        "decimal(5, 6)",
        "struct<a: int, A: int>",
        "long;",
        "list<" * 5000,
        "list<" * 101 + "int" + ">" * 101,
    ],
)
def test_what_names_no_type_is_invalid(text):
    with pytest.raises(Invalid):
        parse_type(text)


@pytest.mark.parametrize(("begin", "most"), [("list<", 16), ("map<int, ", 16), ("struct<a: ", 32)])
def test_a_text_nested_more_deeply_than_readers_read_is_refused(begin, most):
    text = begin * most + "int" + ">" * most
    assert str(parse_type(text)) == text
    found = 32 + 32 // most
    with pytest.raises(Invalid, match=f"nested too deeply .expected at most 32 levels.*found {found} levels"):
        parse_type(f"{begin}{text}>")
    with pytest.raises(Invalid, match="nested too deeply"):
        parse_type(begin * 20_000)


def test_a_refusal_says_what_it_knows():
    with pytest.raises(Invalid, match=r"'word': this is not the name of a type .expected boolean, int, .*found 'word'"):
        parse_type("word")
    with pytest.raises(Invalid, match="Did you mean bigint"):
        parse_type("bigin")


@pytest.mark.parametrize(
    ("names", "type"),
    [
        ("bool BOOLEAN", "boolean"),
        ("tinyint smallint integer byte short int8 int16 int32 uint8 uint16", "int"),
        ("bigint int64 BIGINT uint32", "long"),
        ("real float32", "float"),
        ("float64 float8", "double"),
        ("numeric(5,2) dec(5,2) number(5,2)", "decimal(5, 2)"),
        ("numeric decimal decimal(10)", "decimal(10, 0)"),
        ("text str utf8 varchar large_string string_view", "string"),
        ("bytes bytea blob varbinary large_binary", "binary"),
        ("binary(16)", "fixed(16)"),
        ("datetime timestamp_ntz timestamp(3)", "timestamp"),
        ("timestamp_ltz timestamptz", "timestamptz"),
        ("timestamp(9)", "timestamp_ns"),
        ("array<tinyint> list<byte>", "list<int>"),
        ("struct<a:bigint> struct<a:long>", "struct<a: long>"),
    ],
)
def test_other_names_of_types_are_known(names, type):
    assert {str(parse_type(name)) for name in names.split()} == {type}


@pytest.mark.parametrize(
    ("name", "type"),
    [
        ("double precision", "double"),
        ("timestamp with time zone", "timestamptz"),
        ("TIMESTAMP(9) WITHOUT TIME ZONE", "timestamp_ns"),
        ("struct<a int, `b c` array<text>>", "struct<a: int, `b c`: list<string>>"),
    ],
)
def test_names_of_several_words_are_known(name, type):
    assert str(parse_type(name)) == type


@pytest.mark.parametrize(("name", "length"), [("varchar(20)", 20), ("CHAR(2)", 2), ("char", 1), ("varbinary(4)", 4)])
def test_a_field_knows_its_declared_length(name, length):
    assert Field("a", name).max_length == length
    assert Field("a", name) == Field("a", "binary" if "binary" in name else "string")
    with pytest.raises(Invalid, match="only a column"):
        parse_type(name)


@pytest.mark.parametrize("name", ["varchar()", "varchar(0)", "varchar(a)", "varchar(1, 2)", "timestamp(10)"])
def test_a_length_is_a_number(name):
    with pytest.raises(Invalid, match="this is not the name of a type"):
        Field("a", name)


def test_a_struct_has_fields_of_different_names():
    with pytest.raises(Invalid, match="a struct has no field"):
        Struct(())
    with pytest.raises(Invalid, match="two columns have the same name"):
        Struct((Field("a", INT), Field("a", INT)))


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (39, 0), (5, 6), (5, -1)])
def test_a_decimal_has_up_to_38_digits_and_no_more_behind_the_point(precision, scale):
    with pytest.raises(Invalid, match="a decimal's precision or scale is out of range"):
        Decimal(precision, scale)


@pytest.mark.parametrize("length", [0, -1, 2**31])
def test_a_fixed_has_at_least_one_byte_and_as_many_as_an_int_counts(length):
    with pytest.raises(Invalid, match=r"the length of a fixed is out of range .expected 1 to 2147483647 bytes"):
        Fixed(length)


def test_the_type_of_a_field_may_be_text_and_is_nothing_but_a_type():
    assert Field("a", "list<int>").type == List(INT)
    with pytest.raises(Invalid, match=r"a: this is not a type .*found int"):
        Field("a", 5)


def test_a_field_without_a_table_has_no_id_and_no_name_in_files():
    assert (Field("a", INT).id, Field("a", INT).physical_name) == (0, "")


def test_leaves_are_reached_through_structs_and_not_through_lists_and_maps():
    type = parse_type("struct<x: int, inner: struct<y: string, list: list<int>>, map: map<int, int>>")
    paths = leaves((Field("a", LONG), Field("b", type), Field("c", "list<struct<z: int>>")))
    assert [[one.name for one in path] for path in paths] == [["a"], ["b", "x"], ["b", "inner", "y"]]


def test_every_simple_type_is_a_leaf():
    for one in (*NAMES.values(), Decimal(5, 2), Fixed(5)):
        assert isinstance(one, Simple)
        assert list(leaves((Field("a", one),))) == [(Field("a", one),)]
