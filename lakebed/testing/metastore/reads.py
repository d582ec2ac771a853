"""Reading: as of any version and time, histories, the log, and answers that never change."""

from collections.abc import Callable
from typing import cast

import pytest

from lakebed.errors import Invalid, NotFound
from lakebed.metastore.change import Operation
from lakebed.metastore.kinds import life, new_id
from lakebed.metastore.metastore import Metastore
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.store.version import LAST, ZERO
from lakebed.testing.metastore.writer import (
    RECORDS,
    Writer,
    all_pages,
    picture,
    plain,
    root_partition,
    trunk,
)

UNITS = [*RECORDS, Attribute.LIFE, Attribute.DATA]


def change_one(writer: Writer, table: str, attribute: Attribute, number: int) -> Version:
    match attribute:
        case Attribute.LIFE:
            return writer.rename(table, f"t{number}").version
        case Attribute.DATA:
            return writer.append(table, number).version
        case _:
            return writer.write(table, attribute, number).version


class ReadsSuite:
    @pytest.mark.parametrize("attribute", UNITS, ids=lambda attribute: attribute.name)
    def test_a_state_at_a_version_is_the_newest_not_after_it(self, metastore: Metastore, attribute: Attribute) -> None:
        """P5, at v - 1, v and v + 1."""
        writer = Writer(metastore, trunk())
        table = writer.table("t0")
        unit = (root_partition(table) if attribute is Attribute.DATA else table, attribute)
        versions = []
        for number in range(1, 5):
            versions.append(change_one(writer, table, attribute, number))
            writer.table(f"noise {number}")
        history = all_pages(writer.reader().history, *unit)
        changes = [state for state in reversed(history) if state.version >= versions[0]]
        assert [state.version for state in changes] == versions
        [before] = writer.reader(versions[0].previous()).attributes([unit])
        for state in changes:
            version = state.version
            assert writer.reader(version.previous()).attributes([unit]) == [before]
            assert writer.reader(version).attributes([unit]) == [state]
            assert writer.reader(version.next()).attributes([unit]) == [state]
            before = state
        assert len({plain(state.record) for state in changes}) == 4

    def test_what_was_never_written_is_none(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        reader = writer.reader()
        assert reader.attributes([]) == []
        assert reader.paths([]) == []
        assert reader.attributes([(table, Attribute.SCHEMA), (new_id(), Attribute.LIFE)]) == [None, None]
        assert reader.paths([new_id()]) == [()]
        assert all_pages(reader.history, new_id(), Attribute.LIFE) == []
        assert all_pages(reader.children, new_id()) == []
        assert all_pages(reader.dropped, new_id()) == []
        assert all_pages(reader.log, object_id=new_id()) == []

    @pytest.mark.parametrize("bad", ["", "x", "a" * 32, "6C6B1F5E-0000-4000-8000-000000000000"])
    def test_a_question_about_no_id_is_invalid(self, metastore: Metastore, bad: str) -> None:
        reader = metastore.reader(trunk())
        questions: list[Callable[[], object]] = [
            lambda: reader.attributes([(new_id(), Attribute.LIFE), (bad, Attribute.LIFE)]),
            lambda: reader.paths([bad]),
            lambda: reader.resolve([(bad, "a")]),
            lambda: reader.children(bad),
            lambda: reader.dropped(bad),
            lambda: reader.history(bad, Attribute.LIFE),
            lambda: reader.histories([(new_id(), Attribute.LIFE, None), (bad, Attribute.LIFE, None)]),
            lambda: reader.checkpoints([new_id(), bad]),
            lambda: reader.log(object_id=bad),
            lambda: metastore.find(bad),
            lambda: metastore.bodies([(bad, "schema", 1)]),
            lambda: metastore.forks(bad),
            lambda: metastore.allocate(bad, "field"),
        ]
        for question in questions:
            with pytest.raises(Invalid):
                question()

    def test_many_attributes_are_read_in_one_call_in_the_order_asked(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        tables = [writer.table(f"t{number}") for number in range(3)]
        for number, table in enumerate(tables):
            writer.set(table, number)
        wanted = [(tables[number], Attribute.PROPERTIES) for number in (2, 0, 1, 2)]
        found = writer.reader().attributes(wanted)
        assert [cast(pb.TableProperties, state.record).properties["number"] for state in found if state] == list("2012")

    def test_a_property_change_writes_property_history_and_nothing_else(self, metastore: Metastore) -> None:
        """P4."""
        writer = Writer(metastore, trunk())
        namespace = writer.namespace("n")
        table = writer.table("t", namespace)
        for number, attribute in enumerate(UNITS):
            change_one(writer, table, attribute, number + 1)
        units = [(one, attribute) for one in (namespace, table) for attribute in Attribute]
        units.append((root_partition(table), Attribute.DATA))
        before = {unit: len(all_pages(writer.reader().history, *unit)) for unit in units}
        writer.set(table, 99)
        after = {unit: len(all_pages(writer.reader().history, *unit)) for unit in units}
        assert after == before | {(table, Attribute.PROPERTIES): before[table, Attribute.PROPERTIES] + 1}
        assert len(all_pages(writer.reader().log, object_id=table)) == len(UNITS) + 2

    def test_a_history_is_newest_first_and_can_begin_after_a_version(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        versions = [writer.set(table, number).version for number in range(5)]
        unit = (table, Attribute.PROPERTIES)
        assert [state.version for state in all_pages(writer.reader().history, *unit)] == versions[::-1]
        since = writer.reader().history(*unit, since=versions[2]).items
        assert [state.version for state in since] == [versions[4], versions[3]]
        assert writer.reader().history(*unit, since=versions[4]).items == []
        assert [state.version for state in writer.reader(versions[1]).history(*unit).items] == versions[1::-1]

    @pytest.mark.parametrize("limit", [1, 2, 3, 100])
    def test_many_histories_are_read_in_one_call_as_each_by_itself(self, metastore: Metastore, limit: int) -> None:
        """On branches too, whose histories go on in their ancestors; the rest of a page comes with its token."""
        writer = Writer(metastore, trunk())
        tables = [writer.table(f"t{number}") for number in range(3)]
        versions = [writer.set(table, number).version for number in range(3) for table in tables[: number + 1]]
        branch = writer.fork().fork()
        versions += [branch.set(table, 9).version for table in tables[1:]]
        for since in (None, ZERO, versions[1], versions[-1]):
            for reader in (writer.reader(), branch.reader(), branch.reader(versions[-2]), writer.reader(versions[0])):
                wanted = [(table, Attribute.PROPERTIES, since) for table in (*tables, tables[0], new_id())]
                found = reader.histories(wanted, limit=limit)
                assert found == [reader.history(*one[:2], since=one[2], limit=limit) for one in wanted]
        [page] = writer.reader().histories([(tables[0], Attribute.PROPERTIES, None)], limit=2)
        rest = writer.reader().history(tables[0], Attribute.PROPERTIES, token=page.token).items
        assert [*page.items, *rest] == all_pages(writer.reader().history, tables[0], Attribute.PROPERTIES)
        assert writer.reader().histories([]) == []

    @pytest.mark.parametrize("limit", [0, -1, 10_001])
    def test_histories_of_no_sensible_length_are_invalid(self, metastore: Metastore, limit: int) -> None:
        with pytest.raises(Invalid, match="limit"):
            metastore.reader(trunk()).histories([(new_id(), Attribute.LIFE, None)], limit=limit)

    def test_the_newest_commits_of_many_lines_are_read_in_one_call(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        assert metastore.heads([writer.line], metastore.newest()) == [None]
        assert metastore.heads([], metastore.newest()) == []
        table = writer.table("t")
        first = writer.set(table, 1).version
        unchanged, changed = writer.fork(), writer.fork()
        grandchild = changed.fork()
        own = changed.set(table, 2).version
        last = writer.set(table, 3).version
        lines = [one.line for one in (writer, unchanged, changed, grandchild)]
        assert metastore.heads(lines, metastore.newest()) == [last, first, own, first]
        assert metastore.heads(lines, own) == [first, first, own, first]
        assert metastore.heads(lines, first) == [first] * 4

    def test_every_earlier_state_stays_the_same_for_ever(self, metastore: Metastore) -> None:
        """Law 5: what could be seen after each commit is seen again at the end."""
        writer = Writer(metastore, trunk())
        namespace, table, view = writer.namespace("n"), writer.table("t"), writer.create(pb.VIEW, "v")
        ids, names = (namespace, table, view), ("n", "t", "v", "w")
        steps: list[Callable[[], object]] = [
            lambda: writer.set(table, 1),
            lambda: writer.move(table, namespace),
            lambda: writer.append(table, 2),
            lambda: writer.drop(view),
            lambda: writer.rename(table, "V"),
            lambda: writer.drop(namespace),
            lambda: writer.undrop(view, name="w"),
            lambda: writer.undrop(namespace),
            lambda: writer.append(table, 5),
            lambda: metastore.allocate(table, "field", 3),
        ]
        seen = {}
        for step in steps:
            step()
            seen[metastore.newest()] = picture(writer.reader(), ids, names)
        for version, then in seen.items():
            assert picture(writer.reader(version), ids, names) == then

    def test_a_reader_sees_nothing_that_commits_later(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        reader = writer.reader()
        before = picture(reader, [table], ["t", "u"])
        writer.rename(table, "u")
        writer.set(table, 1)
        writer.append(table)
        writer.drop(table)
        writer.table("t")
        assert picture(reader, [table], ["t", "u"]) == before
        assert reader.version < metastore.newest()

    def test_a_returned_record_can_be_changed_without_harm(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        reader = writer.reader()
        for _ in range(2):
            [state] = reader.attributes([(table, Attribute.LIFE)])
            record = cast(pb.TableReference, state.record if state else None)
            assert record.name == "t"
            record.name = "changed"

    def test_a_given_record_can_be_changed_afterwards_without_harm(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table, record = new_id(), life(pb.TABLE, writer.line.top, "t")
        writer.commit(lives={table: record})
        record.name = "changed"
        assert writer.names() == {"t": table}
        assert writer.life(table).name == "t"

    def test_records_say_whose_they_are(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        writer.set(table, 1)
        [state] = writer.reader().attributes([(table, Attribute.PROPERTIES)])
        record = cast(pb.TableProperties, state.record if state else None)
        assert (record.catalog_id, record.table_id) == (writer.line.id, table)

    def test_unknown_fields_survive_a_rewrite(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        newer = pb.Column(name="from a newer Lakebed", physical_name="p").SerializeToString()
        record = pb.TableSpec.FromString(b"\x08\x05\xc2\x3e" + bytes([len(newer)]) + newer)
        writer.commit(attributes={(table, Attribute.SPEC): record})
        for number in (6, 7):
            [state] = writer.reader().attributes([(table, Attribute.SPEC)])
            again = cast(pb.TableSpec, state.record if state else None)
            again.spec_id = number
            writer.commit(attributes={(table, Attribute.SPEC): again})
        for state in all_pages(writer.reader().history, table, Attribute.SPEC):
            assert newer in state.record.SerializeToString()
        future = pb.TableReference.FromString(writer.life(table).SerializeToString() + b"\xc2\x3e\x03abc")
        writer.commit(lives={table: future})
        writer.rename(table, "u")
        assert b"\xc2\x3e\x03abc" in writer.life(table).SerializeToString()

    # Versions and times

    def test_versions_grow_in_commit_order_on_all_lines(self, metastore: Metastore) -> None:
        """P3."""
        writers = [Writer(metastore, trunk()) for _ in range(3)]
        versions = [writers[number % 3].commit().version for number in range(12)]
        assert versions == sorted(set(versions))
        assert sorted(versions, key=bytes.hex) == versions
        assert {len(version) for version in versions} == {12}
        assert metastore.newest() >= versions[-1]

    def test_a_later_version_than_the_newest_is_invalid(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        writer.table("t")
        for version in (metastore.newest().next(), LAST):
            with pytest.raises(Invalid):
                writer.reader(version)
        assert writer.names(version=ZERO) == {}
        assert writer.reader(metastore.newest()).version == metastore.newest()

    def test_a_commit_is_found_by_its_time(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        commits = [writer.commit() for _ in range(5)]
        for commit in commits:
            version = metastore.version_at(commit.time)
            assert version >= commit.version
            assert metastore.times([version]) == [commit.time]
            assert metastore.version_at(commit.time - 1) < commit.version
        assert metastore.version_at(commits[-1].time + 10**12) == metastore.newest()
        assert metastore.times([commit.version for commit in commits]) == [commit.time for commit in commits]
        times = [commit.time for commit in commits]
        assert times == sorted(times)

    @pytest.mark.parametrize("time", [0, -1, 1])
    def test_there_is_no_version_before_the_first(self, metastore: Metastore, time: int) -> None:
        with pytest.raises(NotFound):
            metastore.version_at(time)

    def test_a_lake_has_an_id_and_a_format(self, metastore: Metastore) -> None:
        assert len(metastore.lake_id) == 36
        assert metastore.format_version == 2

    # The log

    def test_every_change_is_one_commit_in_the_log_of_its_line(self, metastore: Metastore) -> None:
        """P8: DDL, DML, and a change of nothing."""
        writer, other = Writer(metastore, trunk()), Writer(metastore, trunk())
        namespace = writer.namespace("n")
        table = writer.table("t", namespace)
        writer.append(table, 7)
        other.table("elsewhere")
        writer.drop(table)
        nothing = writer.commit(message="nothing")
        log = all_pages(writer.reader().log)
        assert [[operation.type for operation in commit.operations] for commit in log] == [
            [],
            ["drop"],
            ["insert"],
            ["create"],
            ["create"],
        ]
        assert log[0] == nothing
        assert [commit.version for commit in log] == sorted((commit.version for commit in log), reverse=True)
        by_table = all_pages(writer.reader().log, object_id=table)
        assert by_table == [commit for commit in log if any(one.object_id == table for one in commit.operations)]
        assert by_table[1].operations == (Operation("insert", table, counts={"rows": 7}),)
        assert len(all_pages(other.reader().log)) == 1

    def test_an_object_is_logged_once_per_commit(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        a, b = new_id(), new_id()
        operations = (
            Operation("insert", a),
            Operation("delete", b, "b", {"rows": 2}, "detail"),
            Operation("compact", a),
        )
        commit = writer.commit(operations=operations)
        for one in (a, b):
            assert all_pages(writer.reader().log, object_id=one) == [commit]
        assert commit.operations == operations

    def test_the_log_is_filtered_by_author_and_time(self, metastore: Metastore) -> None:
        line = trunk()
        ada, bob = Writer(metastore, line, "ada"), Writer(metastore, line, "bob")
        commits = [(ada, bob)[number % 2].commit() for number in range(10)]
        reader = ada.reader()
        assert all_pages(reader.log, author="bob", limit=2) == commits[9::-2]
        assert all_pages(reader.log, author="BOB") == []
        for number in (0, 4, 9):
            time = commits[number].time
            assert all_pages(reader.log, since=time) == [one for one in reversed(commits) if one.time >= time]
            assert all_pages(reader.log, until=time, limit=3) == [one for one in reversed(commits) if one.time <= time]
        middle = [one for one in reversed(commits) if commits[2].time <= one.time <= commits[6].time]
        assert all_pages(reader.log, since=commits[2].time, until=commits[6].time) == middle
        assert all_pages(reader.log, until=commits[0].time - 1) == []
        assert all_pages(reader.log, since=commits[9].time + 10**9) == []

    def test_the_log_at_a_version_ends_there(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        commits = [writer.commit() for _ in range(4)]
        assert all_pages(writer.reader(commits[1].version).log) == commits[1::-1]
        assert all_pages(writer.reader(commits[0].version.previous()).log) == []
