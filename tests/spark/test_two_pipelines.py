"""Two pipelines with Spark jobs on the same tables: each change is there wholly or not at all, one after the other."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed import Catalog, Commit, Conflict, Table
from lakebed.errors import Invalid
from lakebed.spark import engine
from tests.support.scans import opened_files

Meet = Callable[[str], None]
Meanwhile = Callable[[str, Callable[[], Any]], None]
START = dict.fromkeys(range(8), 0)
PATIENCE = 300  # seconds after which pipelines that wait for each other are a failure


@pytest.fixture
def pipelines(tmp_path: Path) -> Iterator[tuple[Catalog, Catalog]]:
    """Two, each with a connection of its own to one lake."""
    with lakebed.connect(tmp_path / "lake", author="ada") as one, lakebed.connect(tmp_path / "lake") as other:
        yield one.catalog(), other.catalog()


@pytest.fixture
def tables(pipelines: tuple[Catalog, Catalog]) -> tuple[Table, Table]:
    """The same table in both: eight rows in two files, with a key."""
    made = create(pipelines[0], "t")
    return made, pipelines[1].table("t")


def create(catalog: Catalog, name: str) -> Table:
    columns, no_inline = {"id": "long", "value": "long"}, {"write.inline-bytes": "0"}
    table = catalog.create_table(name, columns, primary_key=["id"], properties=no_inline)
    for ids in (range(4), range(4, 8)):
        table.append(pyarrow.table({"id": list(ids), "value": [0] * len(ids)}))
    return table


def rows(spark: SparkSession, first: int, end: int, value: int = 0) -> DataFrame:
    return spark.range(first, end, 1, 2).selectExpr("id", f"cast({value} as long) as value")


def shown(table: Table) -> dict[int, int]:
    found = table.scan().to_arrow().to_pylist()
    assert len(found) == len({one["id"] for one in found})
    return {one["id"]: one["value"] for one in found}


@pytest.fixture
def meet(monkeypatch: pytest.MonkeyPatch) -> Meet:
    """Let the first two that are done with a step of Spark's engine, and have not committed, wait for each other."""

    def meet(name: str) -> None:
        own, barrier, calls = getattr(engine, name), threading.Barrier(2), iter(range(1000))

        def met(*arguments: Any, **options: Any) -> Any:
            made = own(*arguments, **options)
            if next(calls) < 2:
                barrier.wait(PATIENCE)
            return made

        monkeypatch.setattr(engine, name, met)

    return meet


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Let somebody else do something when a step of Spark's engine is first done, before what it made is committed."""

    def meanwhile(name: str, do: Callable[[], Any]) -> None:
        own, calls = getattr(engine, name), iter(range(1000))

        def overtaken(*arguments: Any, **options: Any) -> Any:
            made = own(*arguments, **options)
            if next(calls) == 0:
                do()
            return made

        monkeypatch.setattr(engine, name, overtaken)

    return meanwhile


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """What the works answer, or the errors that they raise, each in a thread of its own."""
    found: list[Any] = [None] * len(works)

    def run(place: int) -> None:
        try:
            found[place] = works[place]()
        except Exception as error:
            found[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(works))]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE)
    assert not any(one.is_alive() for one in threads)
    return found


def data_files(table: Table) -> set[str]:
    return {str(path) for path in Path(table.location).rglob("*.parquet")}


def kinds(found: list[Any]) -> list[str]:
    return sorted(type(one).__name__ for one in found)


def test_appends_at_once_are_both_there(
    spark: SparkSession, pipelines: tuple[Catalog, Catalog], tables: tuple[Table, Table], meet: Meet
) -> None:
    meet("write_rows")
    one, other = tables
    found = at_once(lambda: one.append(rows(spark, 10, 14)), lambda: other.append(rows(spark, 20, 24)))
    assert kinds(found) == ["Commit", "Commit"]
    assert shown(one) == START | dict.fromkeys([*range(10, 14), *range(20, 24)], 0)


def test_upserts_of_the_same_keys_at_once_are_one_after_the_other(
    spark: SparkSession, tables: tuple[Table, Table], meet: Meet
) -> None:
    meet("upsert_rows")
    one, other = tables
    found = at_once(lambda: one.upsert(rows(spark, 2, 12, 1)), lambda: other.upsert(rows(spark, 6, 16, 2)))
    assert kinds(found) == ["Commit", "Commit"]  # one of them was made again
    first, second = START | dict.fromkeys(range(2, 12), 1), dict.fromkeys(range(6, 16), 2)
    other_way = START | second | dict.fromkeys(range(2, 12), 1)
    assert shown(one) in (first | second, other_way)
    assert one.snapshots()[0].totals["rows"] == 16


def test_a_delete_and_an_update_of_the_same_rows_at_once_are_one_after_the_other(
    spark: SparkSession, tables: tuple[Table, Table], meanwhile: Meanwhile
) -> None:
    one, other = tables
    meanwhile("update_rows", lambda: other.delete("id in (2, 3)", spark))
    commit = one.update({"value": "value + 1"}, "id < 6", spark)
    assert commit is not None
    assert commit.operations[0].counts["added_rows"] == 4
    assert shown(one) == {0: 1, 1: 1, 4: 1, 5: 1, 6: 0, 7: 0}


def test_of_two_transactions_that_change_the_same_rows_one_is_a_conflict(
    spark: SparkSession, pipelines: tuple[Catalog, Catalog], tables: tuple[Table, Table], meet: Meet
) -> None:
    """Each changes two tables."""
    create(pipelines[0], "u")
    files = data_files(tables[0]) | data_files(pipelines[0].table("u"))
    meet("upsert_rows")

    def change(catalog: Catalog, value: int) -> int:
        with catalog.transaction() as transaction:
            transaction.table("u").append(rows(spark, 100 * value, 100 * value + 2, value))
            transaction.table("t").upsert(rows(spark, 5, 9, value))
        return value

    found = at_once(lambda: change(pipelines[0], 1), lambda: change(pipelines[1], 2))
    assert kinds(found) == ["Conflict", "int"]
    [value] = [one for one in found if isinstance(one, int)]
    assert shown(tables[0]) == START | dict.fromkeys(range(5, 9), value)
    assert shown(pipelines[0].table("u")) == START | dict.fromkeys(range(100 * value, 100 * value + 2), value)
    new = data_files(tables[0]) | data_files(pipelines[0].table("u"))
    assert new - files == {
        path for name in ("t", "u") for path in opened_files(pipelines[0].table(name).scan("value > 0"))
    }, "what the other one wrote is gone"


def test_two_transactions_that_each_read_what_the_other_writes_do_not_both_commit(
    spark: SparkSession, pipelines: tuple[Catalog, Catalog], tables: tuple[Table, Table], meet: Meet
) -> None:
    create(pipelines[0], "u")
    meet("write_rows")

    def move(catalog: Catalog, source: str, target: str) -> int:
        with catalog.transaction() as transaction:
            count = transaction.table(source).read(spark).count()
            transaction.table(target).append(rows(spark, 100, 101, count))
        return count

    found = at_once(lambda: move(pipelines[0], "t", "u"), lambda: move(pipelines[1], "u", "t"))
    assert kinds(found) == ["Conflict", "int"]
    assert sorted(len(shown(pipelines[0].table(name))) for name in ("t", "u")) == [8, 9]


@pytest.mark.parametrize("how", ["append", "overwrite"])
def test_a_job_is_not_lost_to_a_column_that_somebody_adds_meanwhile(
    spark: SparkSession, tables: tuple[Table, Table], meanwhile: Meanwhile, how: str
) -> None:
    one, other = tables

    def evolve() -> None:
        with other.evolve() as change:
            change.add_column("word", "string", default="new")
            change.add_column("note", "string")
            change.rename_column("value", "amount")

    meanwhile("write_rows", evolve)
    getattr(one, how)(rows(spark, 10, 12, 3))
    found = {row["id"]: (row["amount"], row["word"], row["note"]) for row in one.read(spark).collect()}
    assert {id: found[id] for id in (10, 11)} == dict.fromkeys((10, 11), (3, "new", None))
    assert set(found) == ({10, 11} if how == "overwrite" else {*START, 10, 11})
    assert one.read(spark, where="word = 'new' and amount = 3").count() == one.scan("amount = 3").count() == 2


def test_an_append_whose_table_loses_a_column_meanwhile_is_a_conflict_and_can_be_run_again(
    spark: SparkSession, tables: tuple[Table, Table], meanwhile: Meanwhile
) -> None:
    one, other = tables

    def evolve() -> None:
        with other.evolve() as change:
            change.drop_column("value")

    before = data_files(one)
    meanwhile("write_rows", evolve)
    with pytest.raises(Conflict, match="schema"):
        one.append(rows(spark, 10, 12))
    assert (shown_ids(one), data_files(one)) == (set(START), before)
    one.append(rows(spark, 10, 12).drop("value"))
    assert shown_ids(one) == {*START, 10, 11}


def shown_ids(table: Table) -> set[int]:
    return set(table.scan().to_arrow()["id"].to_pylist())


def test_an_upsert_is_made_again_for_the_schema_that_the_table_got_meanwhile(
    spark: SparkSession, tables: tuple[Table, Table], meanwhile: Meanwhile
) -> None:
    one, other = tables

    def evolve() -> None:
        with other.evolve() as change:
            change.add_column("word", "string", default="new")

    meanwhile("upsert_rows", evolve)
    one.upsert(rows(spark, 6, 10, 1))
    found = {row["id"]: (row["value"], row["word"]) for row in one.scan().to_arrow().to_pylist()}
    assert found == {id: (int(id > 5), "new") for id in range(10)}


def test_a_change_whose_column_goes_meanwhile_says_so_and_changes_nothing(
    spark: SparkSession, tables: tuple[Table, Table], meanwhile: Meanwhile
) -> None:
    one, other = tables

    def evolve() -> None:
        with other.evolve() as change:
            change.rename_column("value", "amount")

    files = data_files(one)
    meanwhile("update_rows", evolve)
    with pytest.raises(Invalid, match=r"value.*there is no such column.*amount"):
        one.update({"value": "value + 1"}, "id < 6", spark)
    assert [row["amount"] for row in one.scan().to_arrow().to_pylist()] == [0] * 8
    assert data_files(one) == files


def test_an_upsert_and_a_compaction_at_once_lose_no_row(
    spark: SparkSession, tables: tuple[Table, Table], meanwhile: Meanwhile
) -> None:
    one, other = tables
    meanwhile("upsert_rows", lambda: one.compact(spark))
    other.upsert(rows(spark, 6, 10, 1))
    assert shown(one) == START | dict.fromkeys(range(6, 10), 1)
    assert sorted(commit.operations[0].type for commit in one.history()[:2]) == ["compact", "upsert"]


def test_two_compactions_at_once_leave_each_row_once(spark: SparkSession, tables: tuple[Table, Table]) -> None:
    one, other = tables
    found = at_once(lambda: one.compact(spark), lambda: other.compact(spark))
    assert Commit in map(type, found)
    assert {type(each) for each in found} <= {Commit, type(None), Conflict}, found
    assert shown(one) == START
    assert len(opened_files(one.scan())) == 1


def test_one_call_that_is_made_twice_at_once_takes_effect_once(
    spark: SparkSession, tables: tuple[Table, Table], meet: Meet
) -> None:
    """As when a scheduler starts a job again whose first run goes on."""
    event = "1f0e7a52-31a4-4a3c-8b9e-3f0c1d9a7e55"
    meet("write_rows")
    one, other = tables
    found = at_once(
        lambda: one.append(rows(spark, 10, 14), event_id=event, author="ada"),
        lambda: other.append(rows(spark, 10, 14), event_id=event, author="ada"),
    )
    assert kinds(found) == ["Commit", "Commit"]
    assert found[0].id == found[1].id
    assert shown(one) == START | dict.fromkeys(range(10, 14), 0)


def test_of_two_appends_of_a_new_key_at_once_one_is_refused_if_keys_are_checked(
    spark: SparkSession, tables: tuple[Table, Table], meet: Meet
) -> None:
    one, other = tables
    one.set_properties({"write.check-keys": "true"})
    meet("check_keys")
    found = at_once(lambda: one.append(rows(spark, 10, 14)), lambda: other.append(rows(spark, 13, 17)))
    assert kinds(found) == ["Commit", "Invalid"]
    [error] = [each for each in found if isinstance(each, Invalid)]
    assert "id = 13: a primary key is in the table already" in str(error)
    assert len(shown(one)) == 12
