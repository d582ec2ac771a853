"""Compaction in any history: reads are the same at every version. Law 6."""

import tempfile
from contextlib import nullcontext
from pathlib import Path

import pyarrow
import pyarrow.compute
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed import Lake
from lakebed.catalog.refs.catalogs import DEFAULT, open_project
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.errors import Invalid
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.store import MemoryStore
from tests.support.examples import examples

LINEAGE = ["_row_id", "_last_updated_sequence_number"]


def rows(table):
    """All rows with their lineage, in no order."""
    found = table.scan(columns=[*table.schema.names, *LINEAGE]).to_arrow().to_pylist()
    return sorted((tuple(one.values()) for one in found), key=repr)


STEPS = st.sampled_from(
    [
        "append",
        "append",
        "twice",
        "delete",
        "upsert",
        "overwrite",
        "inline",
        "files",
        "column",
        "rename",
        "widen",
        "spec",
        "sort",
        "key",
        "no key",
        "checkpoint",
        "branch",
        "revert",
        "compact",
        "compact part",
        "compact",
    ]
)


class _History:
    """A table whose rows are known at every version."""

    def __init__(self, main):
        main.create_namespace("s")
        self.main = main
        self.table = main.create_table("s.t", {"id": "int", "kind": "int", "name": "string"}, primary_key=["id"])
        self.known = {}
        self.count = 0

    def step(self, name, number):
        before = rows(self.table)
        gets = self.gets(before)
        getattr(self, f"do_{name.replace(' ', '_')}")(number)
        if name.startswith("compact"):
            assert repr(rows(self.table)) == repr(before)
            assert repr(self.gets(before)) == repr(gets)
        self.known[self.table.version] = repr(rows(self.table))

    def gets(self, before):
        if not self.table.primary_key:
            return {}
        place = self.table.schema.names.index(self.table.primary_key[0])
        return {row[place]: self.table.get(row[place]) for row in before[:20]}

    def check(self):
        for version, expected in self.known.items():
            assert repr(rows(self.table.at(version=version))) == expected

    def some(self, first, count):
        values = list(range(first, first + count))
        kinds = pyarrow.array([one % 3 for one in values], pyarrow.int32())
        names = self.table.schema.names
        return pyarrow.table(
            [pyarrow.array(values, pyarrow.int32()), kinds, [f"{self.count} {one}" for one in values]], names[:3]
        )

    def do_append(self, number):
        self.count += 1
        self.table.append(self.some(number * 5, 8))

    def do_twice(self, number):
        self.count += 1
        part = self.some(number * 3, 4)
        self.table.append(pyarrow.concat_tables([part, part]))

    def do_delete(self, number):
        self.table.delete(f"{self.table.schema.names[0]} between {number} and {number + 6}")

    def do_upsert(self, number):
        self.count += 1
        self.table.upsert(self.some(number * 4, 6), on=self.table.schema.names[0])

    def do_overwrite(self, number):
        """By rows of the kind that goes: a key that another row has would be refused."""
        rows = self.some(number, 15)
        of_kind = pyarrow.compute.equal(rows[1], number % 3)
        self.table.overwrite(rows.filter(of_kind), where=f"kind = {number % 3}")

    def do_inline(self, _):
        self.table.set_properties({"write.inline-bytes": "64000"})

    def do_files(self, _):
        self.table.set_properties({"write.inline-bytes": "0"})

    def do_column(self, number):
        name = f"c{len(self.table.schema.names)}"
        with self.table.evolve() as change:
            change.add_column(name, "double", default=[None, 1.5, float(number)][number % 3])

    def do_rename(self, number):
        with self.table.evolve() as change:
            change.rename_column(self.table.schema.names[0], ["id", "number"][number % 2])

    def do_widen(self, _):
        with self.table.evolve() as change:
            for name in self.table.schema.names[:2]:
                change.widen_column(name, "long")

    def do_spec(self, number):
        own = self.table.schema.names[0]
        with self.table.evolve() as change:
            change.partition_by([[], [f"bucket(2, {own})"], ["kind"], [f"truncate(20, {own})", "kind"]][number % 4])

    def do_sort(self, number):
        with self.table.evolve() as change:
            change.sort_by([[], ["name desc"], [self.table.schema.names[0], "name"]][number % 3])

    def do_key(self, number):
        own = self.table.schema.names[0]
        keys = self.table.scan(columns=[own]).to_arrow()[own].to_pylist()
        is_refused = self.table.primary_key != (own,) and len(set(keys)) < len(keys)
        with pytest.raises(Invalid) if is_refused else nullcontext(), self.table.evolve() as change:
            change.primary_key([own])

    def do_no_key(self, _):
        with self.table.evolve() as change:
            change.primary_key([])

    def do_checkpoint(self, _):
        self.table.checkpoint()

    def do_branch(self, number):
        self.count += 1
        name = f"b{self.count}"
        branch = self.main.create_branch(name)
        branch.table("s.t").append(self.some(1000 * self.count, 5))
        branch.table("s.t").compact()
        self.do_delete(number)
        self.table.compact()
        self.main.merge(branch)

    def do_revert(self, _):
        newest = self.table.history()[0]
        if newest.operations[0].type in ("compact", "delete", "insert"):
            self.main.revert(newest)

    def do_compact(self, _):
        self.table.compact()

    def do_compact_part(self, number):
        self.table.compact(where=f"{self.table.schema.names[0]} < {number * 4}", target_bytes=2000)


@given(st.lists(st.tuples(STEPS, st.integers(0, 9)), min_size=3, max_size=14))
@settings(max_examples=examples(6, 40), deadline=None)
def test_reads_are_the_same_at_every_version_of_any_history(steps):
    """Law 6: of rows, their ids and sequence numbers, of the newest row of a key, before and after a compaction."""
    with tempfile.TemporaryDirectory() as folder, MemoryStore() as store:
        metastore = RecordsMetastore(store)
        project = open_project(metastore, DEFAULT, "ada")
        lake = Lake(Context(metastore, LocalFiles(Path(folder)), Bodies(metastore), project, "ada"))
        history = _History(lake.catalog())
        history.step("append", 0)
        for name, number in steps:
            history.step(name, number)
        history.step("compact", 0)
        history.check()
        for _ in range(3):
            if history.table.compact() is None:
                break
        assert history.table.compact() is None
