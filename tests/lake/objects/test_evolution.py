"""Schemas that change under their data, through the handle: KV-14, both engines, lines, transactions."""

import datetime
from decimal import Decimal

import pyarrow
import pytest

from lakebed import Forbidden, Invalid, NotFound, event_id
from tests.support.orders import create_orders, rows
from tests.support.scans import opened_files

pytestmark = pytest.mark.usefixtures("in_files")  # its tests look at files


def column(name, values, type):
    return pyarrow.table({name: pyarrow.array(values, type)})


@pytest.fixture(params=["arrow", "spark"])
def read(request):
    """What reads: the local engine, or a Spark session."""
    return "arrow" if request.param == "arrow" else request.getfixturevalue("spark")


@pytest.fixture
def orders(main):
    return create_orders(main)


def test_old_rows_are_read_by_the_new_schema(orders, read):
    """KV-14: no file was rewritten, and nothing was lost."""
    files = orders.scan().files()
    with orders.evolve(message="grow") as change:
        change.add_column("status", "string", default="open", required=True, comment="where it is", after="id")
        change.add_column("due", "date", default=datetime.date(2026, 11, 16))
        change.rename_column("price", "Cost")
        change.widen_column("cost", "long")
        change.add_column("address.street", "string", first=True)
        change.add_column("tags.element.weight", "decimal(9, 2)", default=Decimal("0.50"))
        change.rename_column("address.city", "town")
        change.move_column("tags", before="address")
        change.make_optional("id")
    assert opened_files(orders.scan()) == files
    assert orders.schema.names == ("id", "status", "Cost", "tags", "address", "due")
    due = datetime.date(2026, 11, 16)
    tags = [{"name": "new", "weight": Decimal("0.50")}]
    assert rows(orders, read) == [
        {
            "id": 1,
            "status": "open",
            "Cost": 10,
            "tags": tags,
            "address": {"street": None, "town": "Rome"},
            "due": due,
        },
        {"id": 2, "status": "open", "Cost": None, "tags": [], "address": None, "due": due},
    ]
    assert [one["id"] for one in rows(orders, read, where="status = 'open' and cost = 10")] == [1]
    assert rows(orders, read, where="status <> 'open'", columns=["id"]) == []


def test_new_rows_follow_the_new_schema(orders, read):
    with orders.evolve() as change:
        change.widen_column("price", "long")
        change.add_column("status", "string", default="open")
    with orders.evolve() as change:
        change.set_default("status", "paid")
    orders.append(pyarrow.table({"id": [3], "price": [1 << 40]}))
    assert rows(orders, read, columns=["id", "price", "status"]) == [
        {"id": 1, "price": 10, "status": "open"},
        {"id": 2, "price": None, "status": "open"},
        {"id": 3, "price": 1 << 40, "status": "paid"},
    ]
    with pytest.raises(Invalid, match="cost"):
        orders.append(pyarrow.table({"id": [4], "cost": [1]}))


def test_a_column_that_comes_again_under_its_name_shows_nothing_of_the_old_one(orders, read):
    with orders.evolve() as change:
        change.drop_column("price")
    with orders.evolve() as change:
        change.add_column("Price", "int")
    assert rows(orders, read, columns=["price"]) == [{"Price": None}, {"Price": None}]
    orders.append(pyarrow.table({"id": [3], "price": pyarrow.array([7], pyarrow.int32())}))
    with orders.evolve() as change:
        change.drop_column("price")
        change.add_column("price", "int", default=5)
    assert [one["price"] for one in rows(orders, read)] == [5, 5, 5]
    assert rows(orders, read, where="price = 7") == []


def test_a_name_that_was_dropped_on_one_line_stays_used_on_every_other(main, orders, read):
    """A column of another branch may have files that a merge brings here."""
    dev, test = main.create_branch("dev"), main.create_branch("test")
    made = []
    for line in (dev, test, main):
        table = line.table("orders")
        with table.evolve() as change:
            change.add_column("note", "string")
        table.append(pyarrow.table({"id": [3], "note": [line.ref]}))
        with table.evolve() as change:
            change.drop_column("note")
        made.append(table.at(table.snapshots()[0].version).schema.field("note"))
    with orders.evolve() as change:
        change.add_column("note", "string")
    made.append(orders.schema.field("note"))
    assert len({one.id for one in made}) == 4
    assert len({one.physical_name for one in made}) == 4
    assert [one["note"] for one in rows(orders, read)] == [None, None, None]


def test_an_earlier_version_shows_its_own_schema(orders, read):
    before = orders.version
    with orders.evolve() as change:
        change.rename_column("price", "cost")
        change.drop_column("tags")
        change.drop_column("address")
    middle = orders.version
    with orders.evolve() as change:
        change.add_column("price", "string", default="none")
    assert orders.at(before).schema.names == ("id", "price", "address", "tags")
    assert rows(orders.at(before), read, where="price = 10", columns=["id"]) == [{"id": 1}]
    assert rows(orders.at(middle), read) == [{"id": 1, "cost": 10}, {"id": 2, "cost": None}]
    assert rows(orders, read)[0] == {"id": 1, "cost": 10, "price": "none"}
    with pytest.raises(Invalid, match="no such column"):
        orders.at(middle).scan(where="price = 10")


def test_a_tag_shows_the_table_as_it_was_on_whatever_line(main, orders, read):
    dev = main.create_branch("dev")
    with dev.table("orders").evolve() as change:
        change.rename_column("price", "cost")
    dev.create_tag("renamed")
    with dev.table("orders").evolve() as change:
        change.drop_column("cost")
    assert orders.at(tag="renamed").schema.names == ("id", "cost", "address", "tags")
    assert rows(orders.at(tag="renamed"), read, where="cost = 10", columns=["id"]) == [{"id": 1}]
    with pytest.raises(Forbidden), orders.at(tag="renamed").evolve():
        pass
    with pytest.raises(NotFound):
        orders.at(tag="nothing")
    for asked in ({}, {"tag": "renamed", "version": 1}, {"tag": "renamed", "snapshot": 1}):
        with pytest.raises(Invalid, match="one moment"):
            orders.at(**asked)
    shared = main.create_share("out", ["orders"]).table("orders")
    with pytest.raises(Forbidden):
        shared.at(tag="renamed")
    with pytest.raises(Forbidden), shared.evolve():
        pass


def test_a_branch_has_a_schema_of_its_own(main, orders, read):
    dev = main.create_branch("dev")
    with dev.table("orders").evolve() as change:
        change.rename_column("price", "cost")
        change.drop_column("tags")
    with orders.evolve() as change:
        change.add_column("cost", "string", default="free")
    assert dev.table("orders").schema.names == ("id", "cost", "address")
    assert orders.schema.names == ("id", "price", "address", "tags", "cost")
    assert rows(dev.table("orders"), read, columns=["cost"]) == [{"cost": 10}, {"cost": None}]
    assert rows(orders, read, columns=["price", "cost"])[0] == {"price": 10, "cost": "free"}
    late = main.create_branch("late", orders.snapshots()[0].version)
    assert late.table("orders").schema.names == ("id", "price", "address", "tags")


def test_schemas_are_kept_by_number_and_a_snapshot_has_that_it_was_written_with(main, orders):
    """KV-14: a number is never given twice, on whatever line."""
    dev = main.create_branch("dev")
    for table in (orders, dev.table("orders"), orders):
        with table.evolve() as change:
            change.set_comment("id", f"changed after {table.version}")
        table.append(pyarrow.table({"id": [9]}))
    assert [one.schema_id for one in orders.snapshots()] == [4, 2, 1, 1]
    assert [one.schema_id for one in dev.table("orders").snapshots()] == [3, 1, 1]
    assert [one.spec_id for one in orders.snapshots()] == [0, 0, 0, 0]


def test_an_evolution_is_one_commit_that_names_every_column(main, orders):
    before = len(main.log())
    with orders.evolve(message="tidy up", author="bob") as change:
        change.add_column("Note", "string")
        change.drop_column("tags")
        change.rename_column("price", "cost")
        change.widen_column("cost", "long")
        change.make_optional("id")
        change.set_default("note", "-")
        change.set_comment(("address", "city"), "where")
        change.move_column("note", first=True)
        change.partition_by(["bucket(4, id)"])
        change.sort_by(["cost desc"])
    assert len(main.log()) == before + 1
    commit = change.committed
    assert commit == main.log(limit=1)[0]
    assert (commit.message, commit.author) == ("tidy up", "bob")
    assert [(one.type, one.name, one.detail) for one in commit.operations] == [
        ("add_column", "orders", "Note"),
        ("drop_column", "orders", "tags"),
        ("rename_column", "orders", "price to cost"),
        ("retype_column", "orders", "cost"),
        ("retype_column", "orders", "id"),
        ("retype_column", "orders", "note"),
        ("retype_column", "orders", "address.city"),
        ("move_column", "orders", "note"),
        ("change_spec", "orders", "bucket(4, id)"),
        ("change_sort", "orders", "cost desc"),
    ]
    assert orders.version == commit.version
    assert (str(orders.spec), str(orders.sort_order)) == ("bucket(4, id)", "cost desc nulls last")
    assert orders.schema.find("address.city").comment == "where"


def test_partition_fields_and_key_columns_change_one_by_one(orders):
    with orders.evolve() as change:
        change.add_column("day", "date")
        change.add_partition_field("days(day)")
        change.add_partition_field("bucket(4, ID)")
        change.primary_key(["id"])
    assert (list(orders.spec), orders.primary_key) == (["day(day)", "bucket(4, id)"], ("id",))
    with orders.evolve() as change:
        change.replace_partition_field("day(DAY)", "month(day)")
        change.drop_partition_field("id_bucket_4")
        change.drop_key_columns(["ID"])
    assert (list(orders.spec), orders.primary_key) == (["month(day)"], ())
    for illegal, problem in (
        (lambda change: change.drop_partition_field("day(day)"), "not partitioned by this"),
        (lambda change: change.drop_partition_field("nope"), "not partitioned by this"),
        (lambda change: change.add_partition_field("month(day)"), "comes twice"),
        (lambda change: change.add_partition_field(["month(day)"]), "made of texts"),
        (lambda change: change.drop_key_columns(["id"]), "not in the primary key"),
    ):
        with pytest.raises(Invalid, match=problem), orders.evolve() as change:
            illegal(change)
    assert list(orders.spec) == ["month(day)"]


def test_a_primary_key_changes(orders):
    assert orders.primary_key == ()
    with orders.evolve() as change:
        change.primary_key(["ID"])
    assert orders.primary_key == ("id",)
    assert change.committed.operations[0].type == "change_key"
    with orders.evolve() as change:
        change.rename_column("id", "number")
    assert orders.primary_key == ("number",)
    with orders.evolve() as change:
        change.primary_key([])
        change.drop_column("number")
    assert orders.primary_key == ()


ILLEGAL = {
    "narrower": (lambda change: change.widen_column("id", "int"), "id", "wider"),
    "other type": (lambda change: change.widen_column("price", "string"), "price", "wider"),
    "required without default": (lambda change: change.add_column("x", "int", required=True), "x", "without a default"),
    "taken": (lambda change: change.add_column("PRICE", "int"), "PRICE", "already a column"),
    "taken inside": (lambda change: change.add_column("address.City", "int"), "address.City", "already a column"),
    "renamed onto": (lambda change: change.rename_column("price", "Tags"), "Tags", "already a column"),
    "not there": (lambda change: change.drop_column("nothing"), "nothing", "no such column"),
    "above not there": (lambda change: change.add_column("nothing.x", "int"), "nothing", "no such column"),
    "wrong default": (lambda change: change.add_column("x", "int", default="one"), "x", "default"),
    "no type": (lambda change: change.add_column("x", "integer number"), "integer number", ""),
    "no place": (lambda change: change.move_column("price"), "price", "no place"),
    "two places": (lambda change: change.move_column("price", first=True, after="id"), "", "one place"),
    "beside what is elsewhere": (lambda change: change.move_column("price", after="address.city"), "city", "struct"),
    "partition": (lambda change: change.drop_column("price"), "price", "partition spec or sort order"),
    "sorted by": (lambda change: change.drop_column("address"), "address", "partition spec or sort order"),
    "key": (lambda change: change.drop_column("id"), "id", "primary key"),
    "optional key": (lambda change: change.make_optional("id"), "id", "primary key"),
    "key that may be null": (lambda change: change.primary_key(["price"]), "price", "primary key"),
    "key as text": (lambda change: change.primary_key("id"), "", "given as a list"),
    "spec as text": (lambda change: change.partition_by("id"), "", "given as a list"),
    "spec of nothing": (lambda change: change.partition_by(["day(nothing)"]), "nothing", "no such column"),
    "spec of another type": (lambda change: change.partition_by(["day(id)"]), "day(id)", "type"),
    "spec of numbers": (lambda change: change.partition_by([1]), "", "texts"),
    "sorted by nothing": (lambda change: change.sort_by(["nothing"]), "nothing", "no such column"),
    "name of a partition": (lambda change: change.add_column("price_bucket_4", "int"), "price_bucket_4", "partition"),
    "path of numbers": (lambda change: change.drop_column(3), "", "not the path"),
    "empty path": (lambda change: change.drop_column(()), "", "not the path"),
    "name of a number": (lambda change: change.rename_column("price", 3), "", "text"),
    "comment of a number": (lambda change: change.set_comment("price", 3), "", "text"),
}


@pytest.mark.parametrize("case", ILLEGAL)
def test_an_illegal_change_names_the_column_and_the_rule_and_changes_nothing(orders, unchanged, case):
    with orders.evolve() as change:
        change.partition_by(["bucket(4, price)"])
        change.sort_by(["address.city"])
        change.primary_key(["id"])
    step, name, rule = ILLEGAL[case]
    with unchanged():
        with pytest.raises(Invalid) as caught, orders.evolve() as change:
            change.add_column("fine", "int")
            step(change)
        assert name in str(caught.value)
        assert rule in str(caught.value)
        assert change.committed is None


def test_a_refused_step_can_be_left_out(orders):
    with orders.evolve() as change:
        change.add_column("note", "string")
        with pytest.raises(Invalid):
            change.add_column("note", "long")
        change.rename_column("note", "remark")
    assert orders.schema.names[-1] == "remark"


def test_an_exception_inside_leaves_no_trace(orders, unchanged):
    with unchanged(), pytest.raises(ZeroDivisionError), orders.evolve() as change:
        change.add_column("x", "int")
        change.partition_by(["id"])
        raise ZeroDivisionError


def test_an_evolution_is_used_once_and_inside_its_with(orders):
    change = orders.evolve()
    with pytest.raises(Invalid, match="not begun"):
        change.drop_column("price")
    with change:
        change.drop_column("price")
    with pytest.raises(Invalid, match="is over"):
        change.drop_column("tags")
    with pytest.raises(Invalid, match="used twice"), change:
        pass
    assert orders.schema.names == ("id", "address", "tags")


def test_the_past_and_what_is_gone_do_not_evolve(main, orders, unchanged):
    old = orders.at(orders.version)
    with unchanged(), pytest.raises(Forbidden), old.evolve() as change:
        change.drop_column("price")
    main.drop_table("orders")
    with pytest.raises(NotFound), orders.evolve():
        pass


def test_a_transaction_has_an_evolution_with_all_else(main, orders, read):
    with main.transaction("grow") as tx:
        inside = tx.table("orders")
        inside.append(pyarrow.table({"id": [3], "price": pyarrow.array([30], pyarrow.int32())}))
        with inside.evolve() as change:
            change.rename_column("price", "cost")
            change.add_column("status", "string", default="open")
        inside.append(pyarrow.table({"id": [4], "status": ["paid"]}))
        assert [one["status"] for one in rows(inside, read)] == ["open", "open", "open", "paid"]
        assert orders.schema.names == ("id", "price", "address", "tags")
    assert change.committed is None
    assert [one.type for one in tx.committed.operations] == ["insert", "rename_column", "add_column"]
    assert [(one["id"], one["cost"]) for one in rows(orders, read)] == [(1, 10), (2, None), (3, 30), (4, None)]


def test_a_table_can_evolve_in_the_transaction_that_makes_it(main, read):
    with main.transaction("make") as tx:
        new = tx.create_table("new", {"a": "int"}, partition_by=["a"])
        new.append(column("a", [1], pyarrow.int32()))
        with new.evolve() as change:
            change.add_column("b", "int")
            change.partition_by(["bucket(2, b)"])
        new.append(pyarrow.table({"a": pyarrow.array([2], "int32"), "b": pyarrow.array([20], "int32")}))
        with new.evolve() as change:
            change.partition_by([])
            change.drop_column("b")
            change.add_column("b", "int")
            change.sort_by(["b"])
        assert rows(new, read) == [{"a": 1, "b": None}, {"a": 2, "b": None}]
    made = main.table("new")
    with made.evolve() as change:
        change.drop_column("a")
        change.add_column("a", "int")
        change.partition_by(["bucket(4, a)"])
    assert rows(made, read) == [{"b": None, "a": None}, {"b": None, "a": None}]
    assert [one.id for one in made.schema.fields] == [3, 4]
    assert ([one.field_id for one in made.spec.fields], made.spec.id, made.schema.id) == ([1002], 3, 4)


def test_inside_a_transaction_an_evolution_has_no_message_of_its_own(main, orders):
    for told in ({"message": "m"}, {"author": "a"}, {"event_id": event_id("e")}):
        with (
            pytest.raises(Invalid, match="inside a transaction"),
            main.transaction("t") as tx,
            tx.table("orders").evolve(**told) as change,
        ):
            change.drop_column("price")
    assert "price" in orders.schema.names
