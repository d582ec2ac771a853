"""What a table refuses, by the local engine."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed import Catalog, Table
from lakebed.errors import Conflict, Forbidden, Invalid
from lakebed.table.types.types import Field, Struct
from tests.support.unchecked import set_unchecked


@pytest.fixture
def orders(main: Catalog) -> Table:
    main.create_namespace("sales")
    columns = {"id": "long", "price": "double", "at": "date"}
    table = main.create_table("sales.orders", columns, primary_key=["id"])
    table.append(rows(id=[1, 2], price=[10.0, 20.0]))
    return table


def rows(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def ids(table: Table) -> list[int]:
    return sorted(table.scan(columns=["id"]).to_arrow()["id"].to_pylist())


CHANGES: list[Callable[[Table], Any]] = [
    lambda table: table.append(rows(id=[3, 4, 5], price=[1.0, -1.0, -2.0])),
    lambda table: table.overwrite(rows(id=[9], price=[-1.0])),
    lambda table: table.update({"price": "price - 15"}),
    lambda table: table.upsert(rows(id=[1], price=[-1.0])),
    lambda table: table.merge(
        rows(id=[7], price=[-7.0]), "id", lakebed.when_not_matched_insert({"id": "id", "price": "price"})
    ),
]


@pytest.mark.parametrize("change", CHANGES, ids=["append", "overwrite", "update", "upsert", "merge"])
@pytest.mark.parametrize("inline", ["0", "64000"])
def test_no_change_brings_in_a_row_that_breaks_a_check(
    orders: Table, change: Callable[[Table], Any], inline: str
) -> None:
    orders.set_properties({"check.price": "price >= 0", "write.inline-bytes": inline})
    before = orders.version, orders.scan().to_arrow()
    with pytest.raises(Invalid, match=r"table sales.orders, check.price") as caught:
        change(orders)
    assert "price >= 0" in str(caught.value)
    assert (orders.version, orders.scan().to_arrow()) == before


def test_a_broken_check_tells_how_many_rows_and_shows_one(orders: Table) -> None:
    orders.set_properties({"check.price": "price >= 0"})
    with pytest.raises(Invalid, match=r"at least 2 rows, such as id = 4, price = -1.0"):
        orders.append(rows(id=[3, 4, 5], price=[1.0, -1.0, -2.0]))


def test_a_row_for_which_a_check_is_null_is_taken(orders: Table) -> None:
    orders.set_properties({"check.price": "price >= 0"})
    orders.append(rows(id=[3], price=[None]))
    assert ids(orders) == [1, 2, 3]


def test_every_check_of_a_table_is_looked_at(orders: Table) -> None:
    orders.set_properties({"check.low": "price >= 0", "check.high": "price <= 100"})
    for price in (-1.0, 101.0):
        with pytest.raises(Invalid, match="rows violate a check"):
            orders.append(rows(id=[3], price=[price]))
    orders.append(rows(id=[3], price=[50.0]))


def test_rows_that_were_there_before_a_check_stay_until_they_are_changed(orders: Table) -> None:
    orders.set_properties({"check.price": "price > 15"})
    assert ids(orders) == [1, 2]
    orders.update({"price": "price + 1"}, where="id = 2")
    with pytest.raises(Invalid, match="rows violate a check"):
        orders.update({"price": "price + 1"}, where="id = 1")


@pytest.mark.parametrize("condition", ["nothing > 1", "price +", "price", "no_such_function(price) > 1"])
def test_a_check_that_can_not_be_read_stops_writes_and_names_its_property(orders: Table, condition: str) -> None:
    set_unchecked(orders, {"check.odd": condition})
    with pytest.raises(Invalid, match=r"table sales.orders, check.odd"):
        orders.append(rows(id=[3]))
    orders.unset_properties(["check.odd"])
    orders.append(rows(id=[3]))


def test_a_check_runs_nothing_with_the_rights_of_whoever_writes(main: Catalog, orders: Table) -> None:
    for condition in ("reflect('java.lang.System', 'getenv', 'HOME') = id", "mine(id)", "'${env:HOME}' <> price"):
        with pytest.raises(Forbidden, match=r"check\.c: a check runs with the rights of whoever uses it"):
            orders.set_properties({"check.c": condition})
        with pytest.raises(Forbidden):
            main.create_table("x", {"id": "long", "price": "double"}, properties={"check.c": condition})
    main.create_table("x", {"${user.name}": "varchar(3)"})  # whose length a check tests, by its name


def test_a_check_of_a_renamed_column_goes_by_its_new_name(orders: Table) -> None:
    with orders.evolve() as change:
        change.rename_column("price", "cost")
    orders.set_properties({"check.cost": "cost > 0"})
    with pytest.raises(Invalid, match=r"check\.cost"):
        orders.append(rows(id=[3], cost=[-1.0]))


def test_compaction_does_not_look_at_checks(orders: Table) -> None:
    orders.append(rows(id=[3], price=[5.0]))
    orders.set_properties({"check.price": "price > 1000"})
    assert orders.compact() is not None
    assert ids(orders) == [1, 2, 3]


def test_an_append_does_not_look_at_keys_unless_it_is_asked_to(orders: Table) -> None:
    orders.append(rows(id=[1]))
    assert ids(orders) == [1, 1, 2]


@pytest.mark.parametrize("inline", ["0", "64000"])
def test_a_key_that_is_there_is_refused(orders: Table, inline: str) -> None:
    orders.set_properties({"write.check-keys": "true", "write.inline-bytes": inline})
    with pytest.raises(Invalid, match=r"sales.orders: id = 2: a primary key is in the table already"):
        orders.append(rows(id=[3, 2]))
    assert ids(orders) == [1, 2]
    orders.append(rows(id=[3, 4]))
    assert ids(orders) == [1, 2, 3, 4]


def test_a_key_that_comes_twice_in_an_append_is_refused(orders: Table) -> None:
    orders.set_properties({"write.check-keys": "true"})
    with pytest.raises(Invalid, match=r"comes twice in the rows that are written"):
        orders.append(rows(id=[3, 4, 3]))
    assert ids(orders) == [1, 2]


def test_a_key_whose_row_was_deleted_is_new(orders: Table) -> None:
    orders.set_properties({"write.check-keys": "true"})
    orders.delete("id = 1")
    orders.append(rows(id=[1]))
    assert ids(orders) == [1, 2]


def test_a_transaction_sees_the_keys_that_it_appended_itself(main: Catalog, orders: Table) -> None:
    orders.set_properties({"write.check-keys": "true"})
    with pytest.raises(Invalid, match="already"), main.transaction("twice") as change:
        change.table("sales.orders").append(rows(id=[3]))
        change.table("sales.orders").append(rows(id=[3]))
    assert ids(orders) == [1, 2]


def test_of_two_appends_of_one_new_key_at_once_one_is_refused(orders: Table) -> None:
    orders.set_properties({"write.check-keys": "true"})
    start, outcomes = Barrier(4), []

    def append(number: int) -> None:
        start.wait()
        try:
            orders.append(rows(id=[100], price=[float(number)]))
            outcomes.append("in")
        except Invalid:
            outcomes.append("refused")

    threads = [Thread(target=append, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(outcomes) == ["in", "refused", "refused", "refused"]
    assert ids(orders) == [1, 2, 100]


INSERT = lakebed.when_not_matched_insert({"id": "source.id", "price": "source.price"})

DAY = date(2026, 1, 31)

REPEATED: dict[str, Callable[[Table], Any]] = {
    "update of a row": lambda table: table.update({"id": "2"}, where="id = 1"),
    "update of all rows to one key": lambda table: table.update({"id": lakebed.lit(7)}),
    "update without case": lambda table: table.update({"ID": "id + 1"}, where="id = 1"),
    "overwrite": lambda table: table.overwrite(rows(id=[5, 5])),
    "overwrite where, a key that stays": lambda table: table.overwrite(rows(id=[2]), where="id = 1"),
    "overwrite where, a key twice": lambda table: table.overwrite(rows(id=[1, 1]), where="id = 1"),
    "upsert by another column": lambda table: table.upsert(rows(id=[2], at=[DAY]), on="at"),
    "upsert by the key and another": lambda table: table.upsert(rows(id=[2], at=[DAY]), on=["id", "at"]),
    "merge by another column": lambda table: table.merge(rows(id=[2], price=[77.0]), "price", INSERT),
    "merge by more than the key": lambda table: table.merge(rows(id=[2], price=[77.0]), ["id", "price"], INSERT),
    "merge that inserts another key": lambda table: table.merge(
        rows(id=[9]), "id", lakebed.when_not_matched_insert({"id": "source.id - 7"})
    ),
    "merge that updates the key": lambda table: table.merge(
        rows(id=[1]), "id", lakebed.when_matched_update({"id": "target.id + 1"})
    ),
    "merge that updates to a literal": lambda table: table.merge(
        rows(id=[1]), "id", lakebed.when_matched_update({"id": lakebed.lit(2)})
    ),
    "merge that updates rows without a match": lambda table: table.merge(
        rows(id=[1]), "id", lakebed.when_not_matched_by_source_update({"id": "1"})
    ),
    "merge by other columns that updates the key": lambda table: table.merge(
        rows(id=[2], price=[10.0], at=[DAY]), "price", lakebed.when_matched_update()
    ),
}


@pytest.mark.parametrize("name", REPEATED)
@pytest.mark.parametrize("inline", ["0", "64000"])
def test_no_change_leaves_two_rows_with_one_primary_key(orders: Table, name: str, inline: str) -> None:
    orders.set_properties({"write.inline-bytes": inline})
    files = orders._scope.context.files
    before = orders.version, orders.scan().to_arrow(), sorted(one.path for one in files.list(""))
    with pytest.raises(Invalid, match=r"sales.orders: id = \d: a primary key (is in the table already|comes twice)"):
        REPEATED[name](orders)
    assert (orders.version, orders.scan().to_arrow(), sorted(one.path for one in files.list(""))) == before


@pytest.mark.parametrize("way", ["merge-on-read", "copy-on-write"])
def test_changes_that_move_keys_are_taken(orders: Table, way: str) -> None:
    orders.set_properties({"write.row-changes": way})
    orders.update({"id": "id + 1"})  # 2 is given up and taken at once
    orders.update({"id": "CASE id WHEN 2 THEN 3 ELSE 2 END"})
    assert ids(orders) == [2, 3]
    orders.overwrite(rows(id=[2, 4]), where="id = 2")
    orders.overwrite(rows(id=[2, 3]))
    both = rows(id=[3, 2], price=[1.0, 1.0])
    orders.merge(both, "id", lakebed.when_matched_update({"id": "CASE source.id WHEN 2 THEN 3 ELSE 2 END"}))
    orders.upsert(rows(id=[8, 9], at=[None, DAY]), on="id")
    orders.upsert(rows(id=[7], at=[DAY]), on="at")
    assert ids(orders) == [2, 3, 7, 8]


def test_an_overwrite_of_partitions_repeats_no_key_of_another_partition(main: Catalog) -> None:
    main.create_namespace("sales")
    table = main.create_table("sales.t", {"id": "long", "day": "int"}, partition_by=["day"], primary_key=["id"])
    table.append(rows(id=[1, 2], day=pa.array([1, 2], pa.int32())))
    for day, given in ((1, [2]), (3, [1]), (1, [5, 5])):
        with pytest.raises(Invalid, match="a primary key"):
            table.overwrite_partitions(rows(id=given, day=pa.array([day] * len(given), pa.int32())))
    table.overwrite_partitions(rows(id=[1, 7], day=pa.array([1, 1], pa.int32())))
    assert ids(table) == [1, 2, 7]


def test_a_primary_key_was_declared_over_rows_that_repeat_it(main: Catalog) -> None:
    fields = [lakebed.Field("id", "long", required=True), lakebed.Field("day", "long", required=True)]
    table = main.create_table("t", lakebed.Schema(fields))
    table.append(rows(id=[1, 2, 2], day=[1, 1, 2]))
    before = table.version, table.primary_key
    with pytest.raises(Invalid, match="t: id = 2: a primary key is in two rows of the table"), table.evolve() as change:
        change.primary_key(["id"])
    assert (table.version, table.primary_key) == before
    with table.evolve() as change:
        change.primary_key(["id", "day"])
    with pytest.raises(Invalid, match="id = 2"), table.evolve() as change:
        change.drop_key_columns(["day"])
    table.delete("day = 2")
    with table.evolve() as change:
        change.drop_key_columns(["day"])
    assert table.primary_key == ("id",)


def test_a_row_that_comes_while_a_primary_key_is_declared_may_not_repeat_it(main: Catalog) -> None:
    table = main.create_table("t", lakebed.Schema([lakebed.Field("id", "long", required=True)]))
    table.append(rows(id=[1, 2]))
    with pytest.raises(Invalid, match="id = 2: a primary key is in two rows"), table.evolve() as change:
        change.primary_key(["id"])
        table.append(rows(id=[2]))
    with pytest.raises(Conflict), main.transaction() as tx:
        tx.table("t").delete("id = 2")
        with tx.table("t").evolve() as change:
            change.primary_key(["id"])
        table.append(rows(id=[1]))
    assert table.primary_key == ()


ADDED: dict[str, Callable[[Table, int], Any]] = {
    "update": lambda table, number: table.update({"id": "100"}, where=f"id = {number}"),
    "overwrite": lambda table, _: table.overwrite(rows(id=[100])),
    "overwrite where": lambda table, number: table.overwrite(rows(id=[100]), where=f"id = {number}"),
    "upsert": lambda table, _: table.upsert(rows(id=[100])),
    "upsert by day": lambda table, number: table.upsert(rows(id=[100], at=[date(2026, 1, number)]), on="at"),
    "merge": lambda table, _: table.merge(rows(id=[100], price=[0.0]), "id", INSERT),
    "merge by price": lambda table, number: table.merge(
        rows(id=[100], price=[float(number)]), "price", lakebed.when_matched_update({"id": "source.id"})
    ),
    "append": lambda table, _: table.append(rows(id=[100])),
}


@pytest.mark.parametrize("call", ADDED)
@pytest.mark.parametrize("isolation", ["serializable", "snapshot"])
def test_of_two_transactions_that_add_one_key_one_is_a_conflict(main: Catalog, call: str, isolation: str) -> None:
    main.create_namespace("sales")
    table = main.create_table("sales.t", {"id": "long", "price": "double", "at": "date"}, primary_key=["id"])
    table.set_properties({"write.check-keys": "true"})
    if call != "overwrite":
        table.append(rows(id=[1, 2], price=[1.0, 2.0]))
    first, second = (main.transaction(f"{number}", isolation=isolation) for number in (1, 2))
    with pytest.raises(Conflict), first as one, second as two:
        for number, change in enumerate((one, two), 1):
            ADDED[call](change.table("sales.t"), number)
    assert ids(table).count(100) == 1


def test_files_that_are_added_repeat_no_key_if_keys_are_checked(main: Catalog, orders: Table, tmp_path: Path) -> None:
    for name, given in (("known", [7, 2]), ("twice", [8, 8]), ("new", [3, 4])):
        pq.write_table(rows(id=given, price=[1.0, 2.0]), tmp_path / f"{name}.parquet")
    orders.set_properties({"write.check-keys": "true"})
    for name in ("known", "twice"):
        with pytest.raises(Invalid, match="a primary key"):
            orders.add_files([tmp_path / f"{name}.parquet"])
    with pytest.raises(Conflict), main.transaction("meanwhile") as change:
        change.table("sales.orders").add_files([tmp_path / "new.parquet"])
        orders.append(rows(id=[4]))
    orders.delete("id = 4")
    orders.add_files([tmp_path / "new.parquet"])
    assert ids(orders) == [1, 2, 3, 4]
    orders.unset_properties(["write.check-keys"])
    orders.add_files([tmp_path / "known.parquet"])
    assert ids(orders) == [1, 2, 2, 3, 4, 7]


def test_a_word_that_is_no_truth_is_refused_for_checking_keys(orders: Table) -> None:
    set_unchecked(orders, {"write.check-keys": "maybe"})
    with pytest.raises(Invalid, match=r"write.check-keys.*true or false.*'maybe'"):
        orders.append(rows(id=[3]))


def test_a_key_inside_a_struct_is_looked_for(main: Catalog) -> None:
    main.create_namespace("sales")
    inner = Struct((Field("id", "long", required=True),))
    form = lakebed.Schema([Field("key", inner, required=True), Field("x", "long")])
    table = main.create_table("sales.inner", form, primary_key=["key.id"], properties={"write.check-keys": "true"})
    table.append(pa.table({"key": [{"id": 1}], "x": [1]}))
    with pytest.raises(Invalid, match=r"key.id = 1"):
        table.append(pa.table({"key": [{"id": 2}, {"id": 1}], "x": [1, 2]}))
    table.append(pa.table({"key": [{"id": 2}], "x": [1]}))


def test_files_of_a_refused_append_are_gone(orders: Table, lake: lakebed.Lake) -> None:
    orders.set_properties({"write.check-keys": "true", "write.inline-bytes": "0", "check.price": "price > 0"})
    orders.append(rows(id=[50], price=[5.0]))
    files = orders._scope.context.files
    before = sorted(one.path for one in files.list(""))
    for refused in (rows(id=[50]), rows(id=[60], price=[-1.0])):
        with pytest.raises(Invalid):
            orders.append(refused)
    assert sorted(one.path for one in files.list("")) == before


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("update", "pass `where` to update fewer rows"),
        ("upsert", "Upsert by the primary key"),
        ("merge", "Match by the primary key"),
        ("overwrite", "overwrite the rows that have these keys"),
    ],
)
def test_a_repeated_key_of_any_change_was_one_of_rows_that_were_given_and_to_be_upserted(
    orders: Table, name: str, advice: str
) -> None:
    calls = {
        "update": lambda: orders.update({"id": "7"}),
        "upsert": lambda: orders.upsert(rows(id=[2], at=[DAY]), on="at"),
        "merge": lambda: orders.merge(rows(id=[2], price=[77.0]), "price", INSERT),
        "overwrite": lambda: orders.overwrite(rows(id=[2]), where="id = 1"),
    }
    with pytest.raises(Invalid, match=r"comes twice in the rows that are written|is in the table") as found:
        calls[name]()
    assert advice in found.value.advice
    assert found.value.advice.startswith("Nothing was changed. ")
