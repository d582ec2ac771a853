"""What can't be done is refused with its reason, and nothing has changed; law 10."""

import pyarrow
import pytest

import lakebed
from lakebed import Corrupt, Field, Invalid, NotFound, Schema, TooLarge
from lakebed.table.types.types import Struct

pytestmark = pytest.mark.usefixtures("in_files")  # its tests look at files


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


@pytest.fixture
def table(main):
    table = main.create_table("t", [Field("id", "long", required=True), Field("name", "string")])
    table.append(pyarrow.table({"id": range(1000), "name": [f"name {number}" for number in range(1000)]}))
    return table


BAD_SCHEMAS = {
    "nothing": None,
    "text": "id long",
    "number": 17,
    "no column": {},
    "no field": [],
    "no type": {"id": None},
    "unknown type": {"id": "varchar(3"},
    "a name twice": [Field("id", "long"), Field("ID", "string")],
    "no name": {"": "long"},
    "a reserved name": {"id": "long", "_Row_Id": "long"},
    "names alone": ["id", "name"],
    "a type": pyarrow.int64(),
    "unknown Arrow type": pyarrow.schema({"id": pyarrow.duration("s")}),
}


@pytest.mark.parametrize("schema", BAD_SCHEMAS.values(), ids=BAD_SCHEMAS.keys())
def test_what_is_no_schema_is_refused(main, unchanged, schema):
    with unchanged(), pytest.raises(Invalid):
        main.create_table("new", schema)


def test_a_schema_may_come_in_many_forms(main):
    forms = [
        {"id": "long", "name": "string"},
        Schema({"id": "long", "name": "string"}),
        (Field("id", "long"), Field("name", "string")),
        pyarrow.schema({"id": pyarrow.int64(), "name": pyarrow.string()}),
    ]
    made = [main.create_table(f"t{number}", form).schema for number, form in enumerate(forms)]
    assert all(schema == made[0] for schema in made)


BAD_ROWS = {
    "none": None,
    "list": [1],
    "other columns": pyarrow.table({"id": [1], "other": [1]}),
    "no required column": pyarrow.table({"name": ["a"]}),
    "another type": pyarrow.table({"id": ["one"]}),
    "null in a required column": pyarrow.table({"id": pyarrow.array([1, None], pyarrow.int64())}),
    "a column twice": pyarrow.table([pyarrow.array([1]), pyarrow.array([2])], names=["id", "ID"]),
}


@pytest.mark.parametrize("rows", BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_rows_that_do_not_fit_are_refused(table, unchanged, rows):
    with unchanged(), pytest.raises(Invalid):
        table.append(rows)


def test_rows_whose_reader_fails_half_way_leave_nothing(table, unchanged):
    def batches():
        yield from numbers(1, 2).to_batches()
        raise OSError("the network is gone")

    reader = pyarrow.RecordBatchReader.from_batches(numbers().schema, batches())
    with unchanged(), pytest.raises(OSError, match="network"):
        table.append(reader)


@pytest.mark.parametrize("where", ["id >", "nope = 1", "id = 'x'", "id = 1; DROP TABLE t", "", "id", 17])
def test_a_condition_that_cannot_be_understood_is_refused(table, unchanged, where):
    with unchanged(), pytest.raises(Invalid):
        table.scan(where)


def test_columns_and_limits_that_are_none_are_refused(table):
    for asked in ({"columns": ["nope"]}, {"columns": ["id", "ID"]}, {"limit": -1}, {"limit": "3"}):
        with pytest.raises(Invalid):
            table.scan(**asked)


def data_file(folder):
    [path] = folder.rglob("*.parquet")
    return path


def test_a_missing_data_file_is_corrupt(table, folder, unchanged):
    path = data_file(folder)
    path.unlink()
    with unchanged(), pytest.raises(Corrupt, match="no file") as caught:
        table.scan().to_arrow()
    assert path.name in str(caught.value)


def test_a_shrunken_data_file_is_corrupt(table, folder, unchanged):
    path = data_file(folder)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with unchanged(), pytest.raises(Corrupt, match=f"expected {len(whole)} bytes, found {len(whole) - 1} bytes"):
        table.scan().to_arrow()


@pytest.mark.parametrize("place", [0.01, 0.25, 0.5, 0.75, 0.999])
def test_a_data_file_with_a_flipped_bit_is_corrupt(table, folder, unchanged, place):
    path = data_file(folder)
    damaged = bytearray(path.read_bytes())
    damaged[int(len(damaged) * place)] ^= 1
    path.write_bytes(bytes(damaged))
    with unchanged(), pytest.raises(Corrupt) as caught:
        table.scan().to_arrow()
    assert path.name in str(caught.value)


def test_a_data_file_that_is_another_one_is_corrupt(table, folder, main, unchanged):
    other = main.create_table("other", {"id": "long"})
    first = data_file(folder)
    other.append(numbers(1))
    [second] = [path for path in folder.rglob("*.parquet") if path != first]
    second.write_bytes(first.read_bytes())
    with unchanged(), pytest.raises(Corrupt):
        other.scan().to_arrow()


def test_a_damaged_file_does_not_keep_the_rest_from_being_read(table, main, folder):
    version = table.version
    path = data_file(folder)
    table.append(numbers(5000))
    path.unlink()
    assert table.scan("id = 5000").to_arrow()["id"].to_pylist() == [5000]
    with pytest.raises(Corrupt):
        table.at(version=version).scan().to_arrow()
    table.append(numbers(5001))
    assert table.scan("id > 4999").count() == 2


def test_a_change_that_one_commit_cannot_hold_is_too_large(main, table, unchanged):
    for call in (
        lambda: main.set_properties({"k": "v" * 200_000}),
        lambda: table.set_properties({"k": "v" * 200_000}),
        lambda: main.create_namespace("n", properties={"k": "v" * 200_000}),
    ):
        with unchanged(), pytest.raises(TooLarge):
            call()
    with unchanged(), pytest.raises(TooLarge), main.transaction("too much") as tx:
        for number in range(120):
            tx.create_namespace(f"n{number}", properties={"k": "v" * 90_000})


@pytest.mark.parametrize("told", [{"message": 17}, {"author": b"ada"}, {"message": "\ud800"}, {"author": "\ud800"}])
def test_a_message_and_an_author_are_texts(main, table, unchanged, told):
    calls = [
        lambda: main.create_namespace("n", **told),
        lambda: main.create_branch("b", **told),
        lambda: main.set_properties({"a": "b"}, **told),
        lambda: table.append(numbers(1), **told),
    ]
    for call in calls:
        with unchanged(), pytest.raises(Invalid):
            call()


def test_texts_that_cannot_be_written_down_are_refused(main, table, unchanged):
    calls = [
        lambda: main.set_properties({"k": "\ud800"}),
        lambda: table.set_properties({"\ud800": "v"}),
        lambda: main.create_namespace("\ud800"),
        lambda: main.create_table("new", {"\ud800": "long"}),
        lambda: main.create_table("new", {"id": "long"}, comment="\ud800"),
    ]
    for call in calls:
        with unchanged(), pytest.raises(Invalid):
            call()


MISTAKES = {
    "a text for a flag of a merge": (lambda main: main.merge(main.branch("dev"), dry_run="no"), "dry_run is True or"),
    "a text for a flag of a listing": (lambda main: main.tables(recursive="no"), "recursive is True or False"),
    "a text for a flag of a drop": (lambda main: main.drop_namespace("n", cascade="no"), "cascade is True or False"),
    "a column's name for a flag": (lambda main: added(main, first="id"), "first is True or False"),
    "a text for required": (lambda main: added(main, required="no", default=1), "required is True or False"),
    "a log's token alone": (lambda main: main.log(token=main.log(limit=1).token), "goes with a limit"),
    "an author that is no text": (lambda main: main.log(author=3), "an author is text"),
    "a name with an empty part": (lambda main: main.table("n."), "'n.': a part of this name is empty"),
    "a name for a time": (lambda main: main.at("dev"), "this is neither a version nor a time"),
    "a handle for a moment": (lambda main: main.reset(main.branch("dev")), "found Catalog"),
    "a name for a branch's moment": (lambda main: main.create_branch("x", at="dev"), "neither a version nor a time"),
    "a class for a type": (lambda main: main.create_table("x", {"id": int}), "such as long"),
    "text for the default of a date": (lambda main: added(main, type="date", default="2026-11-01"), "expected a date"),
    "no Spark session": (lambda main: main.table("t").read(None), "this is not a Spark session"),
}


def added(main, *, type="int", **given):
    with main.table("t").evolve() as change:
        change.add_column("new", type, **given)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_and_not_taken_for_something_else(main, unchanged, mistake):
    main.create_namespace("n")
    main.create_branch("dev")
    call, said = MISTAKES[mistake]
    with unchanged(), pytest.raises(Invalid, match=said):
        call(main)


def test_an_author_who_is_no_text_is_refused_at_once(folder):
    with pytest.raises(Invalid, match="an author is text"):
        lakebed.connect(folder, author=3)


def test_a_path_is_not_taken_for_a_columns_new_name(main, unchanged):
    """In Iceberg and Spark too the new name is the last part alone; `home.town` in `home` would be a trap."""
    people = main.create_table("people", {"home": "struct<city: string>"})
    with (
        unchanged(),
        pytest.raises(Invalid, match=r"expected 'town', found 'Home\.town'"),
        people.evolve() as change,
    ):
        change.rename_column("home.city", "Home.town")
    with people.evolve() as change:
        change.rename_column("home", "home.old")
    assert people.schema.names == ("home.old",)


def test_a_time_before_the_lake_is_shown_as_it_was_given(main, unchanged):
    with unchanged(), pytest.raises(NotFound, match="2020-01-01T00:00: the lake is younger") as caught:
        main.at(time="2020-01-01T00:00")
    assert "log()" in str(caught.value)


def test_a_name_that_is_not_there_says_what_lists_those_that_are(main, lake):
    calls = {
        "tables": lambda: main.table("x"),
        "namespaces": lambda: main.table("x.y"),
        "views": lambda: main.view("x"),
        "branches": lambda: main.branch("x"),
        "tags": lambda: main.tag("x"),
        "shares": lambda: main.share("x"),
        "catalogs": lambda: lake.catalog("x"),
    }
    for listing, call in calls.items():
        with pytest.raises(NotFound, match=rf"{listing}\(…?\) lists what is there"):
            call()


MISFITS = {
    "unsigned": (pyarrow.table({"id": pyarrow.array([2**63], pyarrow.uint64())}), False),
    "text for a uuid": (pyarrow.table({"u": ["0" * 32]}), True),
    "runs": (
        pyarrow.table({"id": pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array([1], pyarrow.int32()), [7])}),
        False,
    ),
    "text for a number": (pyarrow.table({"id": ["7"]}), True),
}


@pytest.mark.parametrize("case", MISFITS)
def test_a_cast_is_advised_only_where_it_helps(main, case):
    """What it did: it advised cast=True, and with cast=True it said the same again."""
    data, helps = MISFITS[case]
    table = main.create_table("t", {"id": "long", "u": "uuid"})
    with pytest.raises(Invalid) as caught:
        table.append(data)
    assert ("cast=True" in str(caught.value)) is helps
    if helps:
        table.append(data, cast=True)
    else:
        with pytest.raises(Invalid):
            table.append(data, cast=True)


def test_a_default_of_megabytes_is_refused_when_a_table_is_created(main, unchanged):
    """What it did: it was stored, and read with every read of the schema; `evolve` refused it."""
    long = "x" * 1_000_000
    inner = Struct((Field("a", "string", write_default=long),))
    for field in (
        Field("a", "string", write_default=long),
        Field("a", "string", initial_default=long),
        Field("s", inner),
    ):
        with unchanged(), pytest.raises(TooLarge, match="a default is too long"):
            main.create_table("t", [field])
