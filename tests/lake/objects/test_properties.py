"""Properties that Lakebed obeys: what nobody could use is refused when it is set."""

from collections import Counter

import pyarrow as pa
import pytest

from lakebed import Catalog, Table
from lakebed.catalog.tables.properties import INLINE_BYTES, TARGET_FILE_BYTES, number
from lakebed.errors import Invalid, TooLarge
from lakebed.records.layout import PREFIX, Attribute, Space
from lakebed.store import MemoryStore
from lakebed.store.tuples import unpack
from tests.lake.conftest import dump

COLUMNS = {"id": "long", "price": "double", "home": "struct<city: string>", "flag": "boolean"}

USELESS = {
    "a check of another column": ({"check.a": "nope > 0"}, r"check\.a: .*can't be evaluated .*no such column"),
    "half a check": ({"check.a": "price >"}, r"check\.a: .*can't be evaluated"),
    "a value for a check": ({"check.a": "price + 1"}, r"check\.a: .*can't be evaluated"),
    "a check as deep as none is": ({"check.a": "not " * 400 + "id > 0"}, r"check\.a: .*can't be evaluated"),
    "a query": ({"check.a": "id in (select 1)"}, r"check\.a: .*can't be evaluated"),
    "a function of another column": ({"check.a": "regexp_like(nope, 'x')"}, r"check\.a: .*no such column"),
    "a check without a name": ({"check.": "id > 0"}, "no such property"),
    "a misspelt name": ({"write.inline_bytes": "0"}, r"Did you mean write\.inline-bytes"),
    "another case": ({"Write.Inline-Bytes": "0"}, r"Did you mean write\.inline-bytes"),
    "an unknown name": ({"write.color": "red"}, r"expected one of .*write\.bloom\.columns"),
    "a misspelt checkpoint": ({"checkpoint.delta": "1"}, r"Did you mean checkpoint\.deltas"),
    "a size of nothing": ({"write.target-file-bytes": "huge"}, "128MB"),
    "a size of rows": ({"write.row-group-rows": "1MB"}, "not a number in its range"),
    "too large a size": ({"write.inline-bytes": "1GB"}, "not a number in its range"),
    "a bloom filter of nothing": ({"write.bloom.columns": "id, nope"}, "no such column"),
    "a bloom filter of a flag": ({"write.bloom.columns": "flag"}, "can't have a bloom filter"),
    "a rate": ({"write.bloom.fpp": "often"}, "not a rate"),
    "a distribution": ({"write.distribution": "sideways"}, "none or partition"),
    "a truth": ({"write.check-keys": "maybe"}, "true or false"),
    "a way": ({"write.row-changes": "sometimes"}, "copy-on-write"),
}


@pytest.fixture
def table(main: Catalog) -> Table:
    return main.create_table("t", COLUMNS)


@pytest.mark.parametrize(("given", "said"), USELESS.values(), ids=USELESS)
def test_a_property_that_nobody_could_use_is_refused(
    main: Catalog, table: Table, given: dict[str, str], said: str
) -> None:
    with pytest.raises(Invalid, match=said):
        table.set_properties({"owner": "ada", **given})
    assert table.properties == {}
    with pytest.raises(Invalid, match=said):
        main.create_table("other", COLUMNS, properties=given)
    assert not main.table_exists("other")


@pytest.mark.parametrize(
    "given",
    [
        {"owner": "ada", "inline_bytes": "x", "writer": "job 7", "checks": "none"},
        {"check.city": "home.city <> ''", "check.both": "price > id", "check.spark": "regexp_like(home.city, 'R.*')"},
        {"write.bloom.columns": "id, home.city", "write.row-changes": "Copy-On-Write", "write.check-keys": "TRUE"},
    ],
)
def test_what_can_be_used_is_taken(table: Table, given: dict[str, str]) -> None:
    table.set_properties(given)
    assert table.properties == dict(sorted(given.items()))


@pytest.mark.parametrize(
    ("text", "size"),
    [("128MB", 128 << 20), ("1 GiB", 1 << 30), ("64k", 64 << 10), ("7", 7), ("7b", 7), ("1gb", 1 << 30), (" 9 ", 9)],
)
def test_sizes_may_be_written_with_units(table: Table, text: str, size: int) -> None:
    table.set_properties({"write.target-file-bytes": text})
    assert number(table.properties, TARGET_FILE_BYTES) == size


def test_a_size_with_a_unit_is_obeyed(table: Table) -> None:
    table.set_properties({INLINE_BYTES.name: "1kB"})
    table.append(pa.table({"id": range(1000)}))
    assert table.scan().files()


def test_properties_of_namespaces_and_catalogs_are_free(main: Catalog) -> None:
    main.create_namespace("sales", properties={"write.color": "red"})
    main.set_properties({"check.x": "whatever"})


def test_a_check_follows_its_renamed_column(table: Table) -> None:
    table.set_properties({"check.price": "price > 0 AND home.city <> 'Price'", "check.id": "id > 0"})
    with table.evolve() as change:
        change.rename_column("price", "the cost")
        change.rename_column("home.city", "town")
    assert table.properties["check.price"] == "`the cost` > 0 AND home.town <> 'Price'"
    assert table.properties["check.id"] == "id > 0"
    with pytest.raises(Invalid, match="rows violate a check"):
        table.append(pa.table({"id": [1], "the cost": [-1.0]}))


def test_a_check_that_is_only_a_column_follows_it(table: Table) -> None:
    table.set_properties({"check.flag": "flag"})
    with table.evolve() as change:
        change.rename_column("flag", "is_open")
    assert table.properties == {"check.flag": "is_open"}


def test_a_column_that_a_check_uses_is_not_dropped(table: Table) -> None:
    table.set_properties({"check.city": "home.city <> ''"})
    for path in ("home", "home.city"):
        with table.evolve() as change:
            if path == "home.city":
                change.add_column("home.street", "string")
            with pytest.raises(Invalid, match=r"check\.city: home\.city.*unset_properties") as caught:
                change.drop_column(path)
        assert caught.value.subject == "home.city"
    table.unset_properties(["check.city"])
    with table.evolve() as change:
        change.drop_column("home")
    assert "home" not in table.schema.names


def test_a_declared_length_goes_with_its_column(main: Catalog) -> None:
    table = main.create_table("v", {"id": "long", "code": "varchar(2)"})
    with table.evolve() as change:
        change.rename_column("code", "key")
        change.add_column("name", "varchar(3)")
    assert table.properties == {"check.key-length": "LENGTH(key) <= 2", "check.name-length": "length(name) <= 3"}
    with table.evolve() as change:
        change.widen_column("name", "varchar(30)")
        change.drop_column("key")
    assert table.properties == {"check.name-length": "length(name) <= 30"}
    table.append(pa.table({"id": [1], "name": ["x" * 30]}))
    with table.evolve() as change:
        change.widen_column("id", "long")
    assert table.properties == {"check.name-length": "length(name) <= 30"}
    with table.evolve() as change:
        change.widen_column("name", "string")
    assert table.properties == {}


def test_a_check_set_meanwhile_stops_a_drop(main: Catalog, table: Table) -> None:
    with pytest.raises(Invalid, match=r"check\.price"), table.evolve() as change:
        change.drop_column("price")
        table.set_properties({"check.price": "price > 0"})
    assert "price" in table.schema.names


def test_a_comment_is_set_and_removed(main: Catalog, table: Table) -> None:
    for handle in (main, table, main.create_namespace("n"), main.create_view("v", "SELECT 1")):
        handle.set_comment("what it is", message="why")
        assert (handle.comment, handle.properties["comment"]) == ("what it is", "what it is")
        assert main.log(1)[0].message == "why"
        handle.set_comment(None)
        assert handle.comment is None
    with main.transaction() as tx:
        tx.table("t").set_comment("in a transaction")
    assert table.comment == "in a transaction"


def test_a_number_or_a_flag_as_a_property_is_refused_with_the_text_to_write(main: Catalog) -> None:
    table = main.create_table("x", {"id": "long"})
    for value, text in ((0, "'0'"), (True, "'true'")):
        with pytest.raises(Invalid, match=f"are text .*Write {text}"):
            table.set_properties({"write.check-keys": value})  # type: ignore[dict-item]


LONG = "x" * 120_000


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda main: main.table("t").set_properties({"a": LONG}), "t: the properties and the comment take"),
        (lambda main: main.table("t").set_comment(LONG), "t: the properties and the comment take"),
        (lambda main: main.create_namespace("n", properties={"a": LONG}), "n: the properties and the comment take"),
        (lambda main: main.create_view("v", f"select '{LONG}'"), "v: the texts of the view take"),
        (lambda main: main.table("t").append([{"id": 1}], message=LONG), "the message of the commit is too long"),
        (lambda main: main.table("t").append([{"id": 1}], author=LONG), "the author of the commit is too long"),
    ],
)
def test_what_is_too_large_is_named_and_not_by_the_stores_key(main, unchanged, call, said):
    """What it did: "key 1501300c41…: a value is too long", of a property that somebody had set on a table."""
    main.create_table("t", {"id": "long"})
    with unchanged(), pytest.raises(TooLarge) as caught:
        call(main)
    assert said in str(caught.value)
    assert "key 15" not in str(caught.value)


CHANGES = {
    "table": lambda main: main.table("n.t").set_properties({"a": "2"}),
    "table, unset": lambda main: main.table("n.t").unset_properties(["a"]),
    "view": lambda main: main.view("n.v").set_properties({"a": "2"}),
    "namespace": lambda main: main.namespace("n").set_properties({"a": "2"}),
    "edition": lambda main: main.table("n.t").edition("2").set_properties({"a": "2"}),
    "partition": lambda main: main.table("n.t").partition({"id": 1}).set_properties({"a": "2"}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_properties_writes_their_history_and_the_log_alone(open_lake, what: str) -> None:
    """P4, of every kind of object that has properties: no schema, storage, partition or data is written again."""
    with MemoryStore() as store:
        main = open_lake(store).catalog()
        main.create_namespace("n", properties={"a": "1"})
        table = main.create_table("n.t", {"id": "long"}, partition_by=["id"], properties={"a": "1"})
        table.create_partition({"id": 1}, properties={"a": "1"})
        table.create_edition("2")
        main.create_view("n.v", "SELECT 1", properties={"a": "1"})
        before = dict(dump(store))
        CHANGES[what](main)
        written = [key for key, value in dump(store) if before.get(key) != value]
    spaces = Counter(space for key in written for space in Space if key.startswith(PREFIX[space]))
    assert 1 <= spaces.pop(Space.TABLE_COMMIT) <= 2, "of the object, and of the table that it is in"
    assert spaces == dict.fromkeys((Space.CURRENT, Space.HISTORY, Space.COMMIT, Space.LOG), 1)
    [past] = [key for key in written if key.startswith(PREFIX[Space.HISTORY])]
    assert unpack(past)[3] == Attribute.PROPERTIES


def test_too_many_properties_of_a_catalog_or_a_branch_were_those_of_a_uuid(lake, main):
    many = {f"k{number}": "x" * 900 for number in range(150)}
    for owner, name in (
        (main, "default"),
        (main.create_branch("dev"), "default @ dev"),
        (lake.create_catalog("shop"), "shop"),
    ):
        with pytest.raises(TooLarge, match="the properties and the comment take too many bytes") as caught:
            owner.set_properties(many)
        assert caught.value.subject == name
