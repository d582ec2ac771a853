"""What a data source calls: reads of one version, writes of one commit, and nothing deleted that a commit names."""

import pickle
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from uuid import uuid4

import pyarrow
import pytest

from lakebed import Conflict, Invalid, Lake, NotFound, OutcomeUnknown, Table, Unavailable, col, connect
from lakebed.lake import data_source
from lakebed.lake.data_source import Reading, TableSource, Writing
from lakebed.store import Committed, MemoryStore, Transaction
from tests.support.faults import WrappedStore, WrappedTransaction

ROWS = pyarrow.table({"id": pyarrow.array(range(100)), "name": [f"row {one}" for one in range(100)]})


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    with connect(tmp_path / "lake") as lake:
        yield lake


@pytest.fixture
def table(lake: Lake) -> Table:
    main = lake.catalog()
    main.create_namespace("sales")
    return main.create_table("sales.orders", {"id": "long", "name": "string"})


def options(lake: Lake, **others: str) -> dict[str, str]:
    return {"lake": lake.url, "path": "sales.orders", **others}


def read(reading: Reading, *conditions: object) -> list[int]:
    """The ids, as tasks in other processes would read them."""
    tasks = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(reading)).tasks(conditions)))
    return [one for task in tasks for batch in task.batches() for one in batch.column("id").to_pylist()]


def written(lake: Lake, rows: pyarrow.Table = ROWS, *, overwrite: bool = False, **others: str) -> tuple[Writing, list]:
    """A write whose two tasks are done, and what they say."""
    writing = pickle.loads(
        pickle.dumps(TableSource().writing(options(lake, **others), rows.schema, overwrite=overwrite))
    )
    half = rows.num_rows // 2
    return writing, [writing.write(part.to_reader()) for part in (rows.slice(0, half), rows.slice(half))]


def data_files(lake: Lake) -> set[str]:
    return {path.name for path in Path(lake.url.removeprefix("file://")).rglob("*.parquet")}


def test_a_read_shows_what_was_there_when_it_was_planned(lake: Lake, table: Table) -> None:
    table.append(ROWS)
    reading = TableSource().reading(options(lake))
    table.delete("id < 90")
    table.append(ROWS)
    assert read(reading) == list(range(100))


def test_tasks_have_files_inline_rows_and_no_deleted_rows(lake: Lake, table: Table) -> None:
    table.set_properties({"write.inline-bytes": "0", "write.row-group-rows": "10"})
    table.append(ROWS)
    table.unset_properties(["write.inline-bytes"])
    table.append(ROWS.slice(0, 3))
    table.delete("id in (1, 55)")
    reading = TableSource().reading(options(lake, split_bytes="1"))
    tasks = reading.tasks(())
    assert len(tasks) == 11
    assert read(reading) == [one for one in [*range(100), 0, 1, 2] if one not in (1, 55)]


def test_columns_and_conditions_are_those_asked_for(lake: Lake, table: Table) -> None:
    table.append(ROWS)
    reading = TableSource().reading(options(lake, where="id >= 10", columns="name, id"))
    assert reading.schema.names == ("name", "id")
    assert read(reading, col("id") < 12) == [10, 11]


def test_conditions_that_do_not_fit_the_columns_are_not_taken(lake: Lake, table: Table) -> None:
    reading = TableSource().reading(options(lake, columns="name"))
    assert reading.takes(col("id") < 12)
    assert not reading.takes(col("id") == "twelve")
    assert not reading.takes(col("ghost") < 12)


def test_a_table_of_the_past_and_of_a_branch_is_read(lake: Lake, table: Table) -> None:
    first = table.append(ROWS.slice(0, 5))
    main = lake.catalog()
    main.create_branch("dev")
    main.create_tag("small")
    main.branch("dev").table("sales.orders").append(ROWS.slice(5, 5))
    table.append(ROWS.slice(50))
    assert read(TableSource().reading(options(lake, version=str(first.version)))) == list(range(5))
    assert read(TableSource().reading(options(lake, tag="small"))) == list(range(5))
    assert read(TableSource().reading(options(lake, ref="dev"))) == list(range(10))


def test_a_write_is_one_commit_of_all_tasks(lake: Lake, table: Table) -> None:
    before = len(table.history())
    writing, messages = written(lake, message="a load")
    assert table.scan().count() == 0
    writing.commit(messages)
    assert table.scan().to_arrow().equals(ROWS)
    assert (len(table.history()), table.history()[0].message) == (before + 1, "a load")


def test_an_overwrite_replaces_all_or_what_passes_or_whole_partitions(lake: Lake, table: Table) -> None:
    table.append(ROWS)
    writing, messages = written(lake, ROWS.slice(0, 2), overwrite=True, where="id >= 10")
    writing.commit(messages)
    assert table.scan().count() == 12
    writing, messages = written(lake, ROWS.slice(0, 2), overwrite=True)
    writing.commit(messages)
    assert table.scan().count() == 2
    with table.evolve() as change:
        change.partition_by(["id"])
    table.overwrite(ROWS.slice(0, 4))
    writing, messages = written(lake, ROWS.slice(3, 2), overwrite=True, partitionOverwriteMode="dynamic")
    writing.commit(messages)
    assert sorted(table.scan().to_arrow().column("id").to_pylist()) == [0, 1, 2, 3, 4]


def test_an_abort_deletes_what_was_written(lake: Lake, table: Table) -> None:
    writing, messages = written(lake)
    assert len(data_files(lake)) == 2
    writing.abort([*messages, None])
    assert data_files(lake) == set()


def test_an_abort_after_a_commit_that_took_effect_deletes_nothing(lake: Lake, table: Table) -> None:
    """Spark calls it if the answer of a commit is lost, too."""
    writing, messages = written(lake)
    writing.commit(messages)
    writing.abort(messages)
    assert table.scan().to_arrow().equals(ROWS)


class LateStore(WrappedStore):
    """Once `slow`, one that takes a commit and is away for a while; it takes effect later, by `land`."""

    slow = False
    refusals = 0

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.late: list[Transaction] = []

    def begin(self) -> Transaction:
        if self.refusals:
            self.refusals -= 1
            raise Unavailable("away")
        return LateTransaction(self.store.begin(), self) if self.slow else super().begin()

    def land(self) -> None:
        self.late.pop().commit()
        self.slow = False


class LateTransaction(WrappedTransaction):
    def __init__(self, transaction: Transaction, store: LateStore) -> None:
        super().__init__(transaction)
        self._store = store
        self._writes = False

    def set_stamped_key(self, key: bytes, offset: int, value: bytes) -> None:
        self._writes = True
        super().set_stamped_key(key, offset, value)

    def commit(self) -> Committed | None:
        if not self._writes:
            return super().commit()
        self._store.late.append(self.transaction)
        self._store.refusals = 2  # of the second attempt, and of the look for the event id
        raise OutcomeUnknown("no answer")

    def close(self) -> None:
        if self.transaction not in self._store.late:
            super().close()


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_commit_that_lands_after_its_abort_has_its_files(
    open_lake: Callable[..., Lake], monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    """The abort deleted them, since no commit named them yet, and then the table's rows could not be read."""
    with LateStore() as store:
        held = open_lake(store)
        monkeypatch.setattr(data_source, "connect", lambda _, create: nullcontext(held))
        held.catalog().create_namespace("sales")
        table = held.catalog().create_table("sales.orders", {"id": "long", "name": "string"})
        source = TableSource(store.url)
        writing = source.writing({"path": "sales.orders"}, ROWS.schema, overwrite=overwrite)
        messages = [writing.write(ROWS.to_reader())]
        store.slow = True
        with pytest.raises(OutcomeUnknown, match=f'files are kept.*"event_id", "{writing.event}"'):
            writing.commit(messages)
        assert store.refusals == 0
        writing.abort(messages)
        store.land()
        assert table.scan().to_arrow().equals(ROWS)
        writing.commit([source.writing({"path": "sales.orders"}, ROWS.schema, overwrite=False).write(ROWS.to_reader())])
        assert table.scan().to_arrow().equals(ROWS)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_commit_that_fails_for_sure_deletes_what_was_written(lake: Lake, table: Table, overwrite: bool) -> None:
    writing, messages = written(lake, overwrite=overwrite)
    with table.evolve() as change:
        change.partition_by(["id"])
    with pytest.raises(Conflict, match="schema"):
        writing.commit(messages)
    assert data_files(lake) == set()
    writing.abort(messages)


def test_a_write_that_comes_again_with_its_event_id_is_done_once(lake: Lake, table: Table) -> None:
    event = str(uuid4())
    for _ in range(2):
        writing, messages = written(lake, event_id=event)
        writing.commit(messages)
    assert table.scan().to_arrow().equals(ROWS)
    assert len(data_files(lake)) == 2


def test_an_event_id_of_another_change_is_refused_and_its_files_stay(lake: Lake, table: Table) -> None:
    event = str(uuid4())
    writing, messages = written(lake, event_id=event)
    writing.commit(messages)
    again, others = written(lake, overwrite=True, event_id=event)
    with pytest.raises(Invalid, match="belongs to another change"):
        again.commit(others)
    assert table.scan().to_arrow().equals(ROWS)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_column_that_comes_meanwhile_does_not_lose_the_write(lake: Lake, table: Table, overwrite: bool) -> None:
    writing, messages = written(lake, overwrite=overwrite)
    with table.evolve() as change:
        change.add_column("price", "double", default=2.5)
    writing.commit(messages)
    assert table.scan(columns=["id"]).to_arrow().equals(ROWS.select(["id"]))
    assert table.scan("price = 2.5").count() == ROWS.num_rows


def test_a_check_that_comes_meanwhile_is_a_conflict(lake: Lake, table: Table) -> None:
    writing, messages = written(lake)
    table.set_properties({"check.id": "id < 0"})
    with pytest.raises(Conflict, match="checks changed"):
        writing.commit(messages)
    assert (table.scan().count(), data_files(lake)) == (0, set())


def test_a_schema_that_changes_meanwhile_is_a_conflict(lake: Lake, table: Table) -> None:
    writing, messages = written(lake)
    with table.evolve() as change:
        change.drop_column(ROWS.schema.names[-1])
    with pytest.raises(Conflict, match="schema"):
        writing.commit(messages)
    writing.abort(messages)
    assert (table.scan().count(), data_files(lake)) == (0, set())


def test_rows_of_another_form_are_refused_before_any_is_written(lake: Lake, table: Table) -> None:
    with pytest.raises(Invalid, match="price"):
        written(lake, ROWS.append_column("price", ROWS.column("id")))
    assert data_files(lake) == set()


def test_a_check_of_the_table_is_looked_at_by_every_task(lake: Lake, table: Table) -> None:
    table.set_properties({"check.small": "id < 50"})
    with pytest.raises(Invalid, match=r"check\.small"):
        written(lake)


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"lake": None}, Invalid, "lake is not named"),
        ({"path": None}, Invalid, "table is not named"),
        ({"path": "sales.ghosts"}, NotFound, "ghosts"),
        ({"colums": "id"}, Invalid, "colums"),
        ({"columns": "ghost"}, Invalid, "ghost"),
        ({"where": "ghost = 1"}, Invalid, "ghost"),
        ({"split_bytes": "many"}, Invalid, "split_bytes"),
        ({"version": "1", "tag": "x"}, Invalid, "one moment"),
    ],
)
def test_a_read_that_can_not_be_says_why(
    lake: Lake, table: Table, changed: dict[str, str | None], error: type[Exception], words: str
) -> None:
    given = {name: value for name, value in (options(lake) | changed).items() if value is not None}
    with pytest.raises(error, match=words):
        TableSource().reading(given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"where": "id = 1"}, "replaces nothing"),
        ({"partitionOverwriteMode": "dynamic"}, "replaces nothing"),
        ({"partitionOverwriteMode": "odd"}, "static or dynamic"),
        ({"event_id": "mine"}, "event id"),
        ({"version": "3"}, "no such option"),
    ],
)
def test_an_append_that_can_not_be_says_why(lake: Lake, table: Table, given: dict[str, str], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        written(lake, **given)
