"""Data, which is folded inside the commit; ids that all lines share; bodies that never change."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from lakebed.errors import Conflict, Invalid, NotFound
from lakebed.metastore.change import DataChange, DataRead, State
from lakebed.metastore.kinds import life, new_id
from lakebed.metastore.metastore import Metastore
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.testing.metastore.writer import (
    Writer,
    all_pages,
    appending,
    in_threads,
    properties,
    root_partition,
    trunk,
)


class DataSuite:
    def test_appends_never_conflict_with_appends(self, metastore: Metastore) -> None:
        """P6: both take effect, the second folded onto the first."""
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        base = metastore.newest()
        writer.append(table, 3, base=base)
        writer.append(table, 4, base=base)
        assert writer.rows(table) == 7
        states = all_pages(writer.reader().history, root_partition(table), Attribute.DATA)
        second, first = [cast(pb.TableHistory, state.record) for state in states]
        assert (first.snapshot_id, second.snapshot_id, second.previous_snapshot_id) == (1, 2, 1)
        assert (first.first_row_id, second.first_row_id) == (1, 4)

    def test_data_that_was_read_conflicts_with_any_delta(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        partition = root_partition(table)
        base = metastore.newest()
        writer.commit(base=base, reads=(DataRead(partition),))
        by = writer.append(table)
        with pytest.raises(Conflict) as caught:
            writer.append(table, base=base, reads=(DataRead(partition),))
        [clash] = caught.value.conflicts
        assert (clash.object_id, clash.found, clash.commit) == (partition, by.version, by)
        assert writer.rows(table) == 1

    def test_who_read_data_says_which_deltas_object(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        partition = root_partition(table)
        writer.append(table, 1)
        base = metastore.newest()
        newer = [writer.append(table, rows).version for rows in (2, 3)]
        seen: list[list[Version]] = []

        def objection(deltas: Sequence[State]) -> str | None:
            seen.append([state.version for state in deltas])
            large = [cast(pb.TableHistory, state.record).counts["rows"] for state in deltas]
            return "a delta of 5 rows falls in the filter" if 5 in large else None

        writer.append(table, 1, base=base, reads=(DataRead(partition, objection),))
        assert seen[-1] == newer
        writer.append(table, 5)
        with pytest.raises(Conflict) as caught:
            writer.append(table, 1, base=base, reads=(DataRead(partition, objection),))
        assert caught.value.conflicts[0].reason == "a delta of 5 rows falls in the filter"
        calls = len(seen)
        writer.append(table, 1, base=metastore.newest(), reads=(DataRead(partition, objection),))
        assert len(seen) == calls, "nothing has changed, so nobody is asked"

    def test_many_tables_change_in_one_commit_or_none(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        tables = [writer.table(f"t{number}") for number in range(3)]
        commit = writer.commit(data=tuple(appending(table, 2) for table in tables))
        reader = writer.reader(commit.version)
        states = reader.attributes([(root_partition(table), Attribute.DATA) for table in tables])
        assert [state.version for state in states if state] == [commit.version] * 3
        writer.drop(tables[2])
        with pytest.raises(NotFound):
            writer.commit(data=tuple(appending(table, 2) for table in tables))
        assert [writer.rows(table) for table in tables] == [2, 2, 2]

    def test_a_fold_that_fails_changes_nothing_and_its_error_passes_through(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        before = metastore.newest()

        def fold(previous: State | None, first: Mapping[str, int]) -> pb.TableHistory:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            writer.commit(
                data=(DataChange(table, root_partition(table), fold),),
                attributes={(table, Attribute.PROPERTIES): properties(1)},
            )
        assert (metastore.newest(), writer.number(table)) == (before, None)

    def test_a_delta_is_as_the_fold_made_it(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        record = pb.TableHistory(table_id=table, manifest=b"MRUB" * 10_000, set_ids=["a", "b"], counts={"x": -1})
        writer.commit(data=(DataChange(table, root_partition(table), lambda previous, first: record),))
        [state] = writer.reader().attributes([(root_partition(table), Attribute.DATA)])
        found = cast(pb.TableHistory, state.record if state else None)
        assert (found.manifest, list(found.set_ids), dict(found.counts)) == (record.manifest, ["a", "b"], {"x": -1})
        assert found.table_id == table

    # Ids and bodies

    def test_ids_are_shared_by_all_lines_and_never_given_twice(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        branch = writer.fork()
        table = new_id()
        assert [metastore.allocate(table, "field", count) for count in (1, 3, 1)] == [1, 2, 5]
        assert metastore.allocate(table, "schema") == 1
        assert metastore.allocate(new_id(), "field") == 1
        lives = {table: life(pb.TABLE, writer.line.top, "t")}
        writer.append(table, 10, lives=lives)
        branch.append(table, 10, lives=lives)
        metastore.allocate(table, "row", 5)
        writer.append(table, 1)
        firsts = [
            cast(pb.TableHistory, state.record).first_row_id
            for one in (writer, branch)
            for state in all_pages(one.reader().history, root_partition(table), Attribute.DATA)
        ]
        assert firsts == [26, 1, 11]

    @pytest.mark.parametrize("count", [0, -1])
    def test_at_least_one_id_is_asked_for(self, metastore: Metastore, count: int) -> None:
        with pytest.raises(Invalid):
            metastore.allocate(new_id(), "field", count)

    def test_ids_taken_by_many_threads_do_not_overlap(self, metastore: Metastore) -> None:
        table = new_id()
        firsts = in_threads(8, lambda _: [metastore.allocate(table, "field", 3) for _ in range(10)])
        given = sorted(first + offset for many in firsts for first in many for offset in range(3))
        assert len(set(given)) == 240

    def test_what_is_reserved_first_is_what_all_others_get_however_many_ask_at_once(self, metastore: Metastore) -> None:
        table = new_id()
        kept = in_threads(8, lambda number: metastore.reserve(table, "column", b"%d" % number))
        assert len(set(kept)) == 1
        assert metastore.reserve(table, "column", b"later") == kept[0]
        assert metastore.bodies([(table, "column", 1)]) == [kept[0]]
        assert metastore.reserve(table, "another", b"later") == b"later"
        assert metastore.reserve(new_id(), "column", b"later") == b"later"

    @pytest.mark.parametrize("size", [0, 1, 89_999, 90_000, 90_001, 100_001, 1_000_000])
    def test_a_body_of_any_size_is_read_back_from_every_line(self, metastore: Metastore, size: int) -> None:
        writer = Writer(metastore, trunk())
        table, body = new_id(), bytes(number % 251 for number in range(size))
        writer.commit(bodies={(table, "schema", 1): body, (table, "schema", 2): b"two", (table, "spec", 1): b"spec"})
        wanted = [(table, "schema", 1), (table, "schema", 3), (table, "spec", 1), (table, "schema", 2)]
        assert metastore.bodies(wanted) == [body, None, b"spec", b"two"]
        assert metastore.bodies([]) == []

    def test_a_body_never_changes(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = new_id()
        writer.commit(bodies={(table, "schema", 1): b"one" * 50_000})
        writer.commit(bodies={(table, "schema", 1): b"one" * 50_000})
        for other in (b"two", b"one" * 50_001, b"one" * 30_000, b""):
            with pytest.raises(Invalid):
                writer.commit(bodies={(table, "schema", 1): other})
        assert metastore.bodies([(table, "schema", 1)]) == [b"one" * 50_000]

    def test_appends_of_many_threads_are_all_there(self, metastore: Metastore) -> None:
        """P6."""
        writer = Writer(metastore, trunk())
        tables = [writer.table("t"), writer.table("u")]
        in_threads(4, lambda number: [writer.append(tables[number % 2], 1) for _ in range(10)])
        assert [writer.rows(table) for table in tables] == [20, 20]
        deltas = all_pages(writer.reader().history, root_partition(tables[0]), Attribute.DATA)
        snapshots = [cast(pb.TableHistory, state.record) for state in deltas]
        assert [one.previous_snapshot_id for one in snapshots[:-1]] == [one.snapshot_id for one in snapshots[1:]]
