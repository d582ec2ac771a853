"""A table beside a model of dictionaries: whatever is done to its rows, all versions of it show what the model had."""

import math
import shutil
import tempfile
from copy import deepcopy
from typing import NamedTuple

import pyarrow
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import lakebed
from lakebed import Lake
from lakebed.catalog.data.live_files import files_since_checkpoint
from lakebed.catalog.refs.catalogs import DEFAULT, open_project
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.errors import Invalid
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.records.check.check import check
from lakebed.store import MemoryStore
from tests.support.live_files import files_from_deltas

IDS = st.integers(0, 25)
PLACES = st.sampled_from(["a", "b", "ç", "", None])
AMOUNTS = st.sampled_from([None, math.nan, -math.inf, -1.5, -0.0, 0.0, 2.0, math.inf])
SPECS = [[], ["place"], ["bucket(3, id)"], ["truncate(10, id)"], ["place", "bucket(2, id)"]]
ORDERS = [[], ["amount desc nulls last"], ["place", "id desc"]]
INLINE = ["0", "1500", "64000"]
TYPES = {"id": pyarrow.int64(), "place": pyarrow.string(), "amount": pyarrow.float64()}
REMEMBERED = 6


class Where(NamedTuple):
    """A condition as text, and what it says of a row: True, False or None."""

    text: str
    test: object

    def passes(self, row):
        return self.test(row) is True


def compared(name, operator, value, shown):
    """SQL's comparison with a value: unknown for null; NaN is the greatest number, and equal to itself."""

    def test(row):
        found = row[name]
        if found is None:
            return None
        left, right = order_of(found), order_of(value)
        return {"=": left == right, "<>": left != right, "<": left < right, ">=": left >= right}[operator]

    return Where(f"{name} {operator} {shown}", test)


def order_of(value):
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def negated(one):
    def test(row):
        found = one.test(row)
        return None if found is None else not found

    return Where(f"not ({one.text})", test)


def both(left, right):
    def test(row):
        found = {left.test(row), right.test(row)}
        return False if False in found else None if None in found else True

    return Where(f"({left.text}) and ({right.text})", test)


def either(left, right):
    return Where(f"({left.text}) or ({right.text})", negated(both(negated(left), negated(right))).test)


OPERATORS = st.sampled_from(["=", "<>", "<", ">="])
LEAVES = st.one_of(
    st.builds(lambda operator, id: compared("id", operator, id, str(id)), OPERATORS, IDS),
    st.builds(
        lambda operator, place: compared("place", operator, place, f"'{place}'"), OPERATORS, st.sampled_from("abçz")
    ),
    st.builds(
        lambda operator, amount: compared("amount", operator, amount, repr(amount)),
        OPERATORS,
        st.sampled_from([-1.5, 0.0, 2.0, 7.5]),
    ),
    st.sampled_from(["place", "amount"]).map(lambda name: Where(f"{name} is null", lambda row: row[name] is None)),
    st.sampled_from(
        [
            Where("id % 3 = 0", lambda row: row["id"] % 3 == 0),
            Where(
                "amount > id",
                lambda row: None if row["amount"] is None else order_of(row["amount"]) > order_of(float(row["id"])),
            ),
            Where("length(place) = 0", lambda row: None if row["place"] is None else len(row["place"]) == 0),
        ]
    ),
    st.sets(IDS, min_size=1, max_size=4).map(
        lambda ids: Where(f"id in ({', '.join(map(str, sorted(ids)))})", lambda row: row["id"] in ids)
    ),
)
WHERE = st.recursive(
    LEAVES,
    lambda inner: st.one_of(inner.map(negated), st.builds(both, inner, inner), st.builds(either, inner, inner)),
    max_leaves=4,
)
ROW = st.builds(lambda id, place, amount: {"id": id, "place": place, "amount": amount}, IDS, PLACES, AMOUNTS)
ROWS = st.lists(ROW, max_size=6, unique_by=lambda row: row["id"])


def shown(rows):
    return sorted(repr(one) for one in rows)


class RowsMachine(RuleBasedStateMachine):
    """One table, changed by its handle; ids are its key, and each is there once."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.store = MemoryStore()
        self.lakes = []
        self.rows = {}  # by id
        self.columns = {}  # those that were added, with their defaults
        self.past = {}  # what the table was, by version
        self.undoable = None  # the last commit, and what was before it
        self.row_ids = {}
        self.fresh = set()  # ids whose rows are others than before
        self.made = 0

    def reopened(self):
        metastore = RecordsMetastore(self.store)
        context = Context(
            metastore, LocalFiles(self.folder), Bodies(metastore), open_project(metastore, DEFAULT, "ada"), "ada"
        )
        self.lakes.append(Lake(context))
        self.main = self.lakes[-1].catalog()

    @initialize(
        spec=st.sampled_from(SPECS),
        order=st.sampled_from(ORDERS),
        inline=st.sampled_from(INLINE),
        file_bytes=st.sampled_from(["1", "134217728"]),
    )
    def begin(self, spec, order, inline, file_bytes):
        self.reopened()
        self.main.create_table(
            "t",
            {"id": "long", "place": "string", "amount": "double"},
            partition_by=spec,
            sort_by=order,
            primary_key=["id"],
            properties={"write.inline-bytes": inline, "write.target-file-bytes": file_bytes},
        )
        self.spec = spec
        self.specs = {None}  # of live rows; None: not known
        self.table = self.main.table("t")

    def arrow(self, rows):
        form = {**TYPES, **dict.fromkeys(self.columns, pyarrow.int64())}
        return pyarrow.Table.from_pylist(rows, pyarrow.schema(form))

    def whole(self, rows):
        """Rows as the table will show them: with all columns, in its order."""
        return [{**row, **self.columns} for row in rows]

    def did(self, commit, before):
        """A call that changed nothing answers where the branch stands, which can't be undone."""
        is_own = commit is not None and commit.id != ""
        self.undoable = (commit, before) if is_own else None
        if commit is not None:
            self.past[commit.version] = shown(self.rows.values())
            for version in list(self.past)[:-REMEMBERED]:
                del self.past[version]

    def counts(self, commit):
        """What a call did to rows; nothing if it changed none."""
        return commit.operations[0].counts if commit.operations else {}

    def put(self, rows):
        self.rows.update({row["id"]: row for row in self.whole(rows)})

    def put_parts(self, rows):
        """Rows without the columns that were added, which rows that exist keep."""
        self.rows.update({row["id"]: {**self.rows.get(row["id"], {**row, **self.columns}), **row} for row in rows})

    def take(self, where):
        gone = {id for id, row in self.rows.items() if where.passes(row)}
        self.rows = {id: row for id, row in self.rows.items() if id not in gone}
        return gone

    @rule(rows=ROWS)
    def append(self, rows):
        before = deepcopy(self.rows)
        new = [row for row in rows if row["id"] not in self.rows]
        self.put(new)
        self.did(self.table.append(self.arrow(new).select(list(TYPES))), before)

    @rule(where=WHERE)
    def delete(self, where):
        before = deepcopy(self.rows)
        gone = self.take(where)
        commit = self.table.delete(where.text)
        assert self.counts(commit).get("removed_rows", 0) == len(gone)
        self.did(commit, before)

    @rule(rows=ROWS, fill=st.sampled_from(["keep", "default"]))
    def upsert(self, rows, fill):
        before = deepcopy(self.rows)
        known = self.rows.keys() & {row["id"] for row in rows}
        if fill == "keep":
            self.put_parts(rows)
        else:
            self.put(rows)
        commit = self.table.upsert(self.arrow(rows).select(list(TYPES)), fill=fill)
        counts = self.counts(commit)
        assert (counts.get("removed_rows", 0), counts.get("added_rows", 0)) == (len(known), len(rows))
        self.did(commit, before)

    @rule(where=WHERE, place=PLACES, amount=AMOUNTS)
    def update(self, where, place, amount):
        before = deepcopy(self.rows)
        found = {id: row for id, row in self.rows.items() if where.passes(row)}
        for id, row in found.items():
            self.rows[id] = {**row, "place": place, "amount": amount}
        values = {"place": lakebed.lit(place), "amount": lakebed.lit(amount)}
        commit = self.table.update(values, where.text)
        counts = self.counts(commit)
        assert counts.get("removed_rows", 0) == counts.get("added_rows", 0) == len(found)
        self.did(commit, before)

    @rule(rows=ROWS, where=WHERE)
    def overwrite(self, rows, where):
        before = deepcopy(self.rows)
        self.take(where)
        new = [row for row in rows if row["id"] not in self.rows]
        self.put(new)
        self.fresh |= {row["id"] for row in new}
        self.did(self.table.overwrite(self.arrow(new).select(list(TYPES)), where.text), before)

    def changed_to(self, rows, change):
        """Make a change after which the table has these rows; it is refused if two of them have one key."""
        if len({row["id"] for row in rows}) < len(rows):
            with pytest.raises(Invalid, match=r"a primary key|a key comes twice"):
                change()
            return
        before, self.rows = deepcopy(self.rows), {row["id"]: row for row in rows}
        self.fresh |= set(self.rows)
        self.did(change(), before)

    @rule(where=WHERE, distance=st.integers(-3, 3))
    def move_keys(self, where, distance):
        moved = [
            {**row, "id": row["id"] + distance} if where.passes(row) else row for row in deepcopy(self.rows).values()
        ]
        self.changed_to(moved, lambda: self.table.update({"id": f"id + {distance}"}, where.text))

    @rule(rows=st.lists(ROW, max_size=4), where=WHERE)
    def overwrite_with_any_keys(self, rows, where):
        left = [row for row in self.rows.values() if not where.passes(row)]
        given = self.arrow(rows).select(list(TYPES))
        self.changed_to([*left, *self.whole(rows)], lambda: self.table.overwrite(given, where.text))

    @rule(rows=st.lists(ROW, max_size=4))
    def insert_by_place(self, rows):
        places = {row["place"] for row in self.rows.values()} - {None}
        new = self.whole([row for row in rows if row["place"] not in places])
        clause = lakebed.when_not_matched_insert({name: f"source.{name}" for name in TYPES})
        given = self.arrow(rows).select(list(TYPES))
        self.changed_to([*self.rows.values(), *new], lambda: self.table.merge(given, "place", clause))

    @rule(rows=ROWS)
    def upsert_by_place(self, rows):
        by_place = list({row["place"]: row for row in rows if row["place"] is not None}.values())
        places = {row["place"] for row in by_place}
        left = [row for row in self.rows.values() if row["place"] not in places]
        given = self.arrow(by_place).select(list(TYPES))
        self.changed_to([*left, *self.whole(by_place)], lambda: self.table.upsert(given, "place", fill="default"))

    @rule(rows=ROWS)
    def overwrite_all(self, rows):
        before = deepcopy(self.rows)
        self.rows = {}
        self.put(rows)
        self.fresh |= {row["id"] for row in rows}
        self.did(self.table.overwrite(self.arrow(rows).select(list(TYPES))), before)

    @precondition(lambda self: self.spec == ["place"])
    @rule(rows=ROWS)
    def overwrite_partitions(self, rows):
        self.table.compact()  # so that no file is of an older spec
        before = deepcopy(self.rows)
        new, taken = [], rows
        while new != taken:  # without rows whose ids stay: fewer may leave fewer partitions to go
            new = taken
            places = {row["place"] for row in new}
            self.rows = {id: row for id, row in before.items() if row["place"] not in places}
            taken = [row for row in new if row["id"] not in self.rows]
        self.put(new)
        self.fresh |= {row["id"] for row in new}
        self.did(self.table.overwrite_partitions(self.arrow(new).select(list(TYPES))), before)

    @rule()
    def truncate(self):
        before = deepcopy(self.rows)
        self.rows = {}
        self.did(self.table.truncate(), before)

    @rule()
    def compact(self):
        commit = self.table.compact()
        if commit is not None:
            self.did(commit, deepcopy(self.rows))

    @rule()
    def checkpoint(self):
        self.table.checkpoint()

    @rule()
    def reopen(self):
        self.reopened()
        self.table = self.main.table("t")

    @rule(inline=st.sampled_from(INLINE))
    def set_inline(self, inline):
        self.table.set_properties({"write.inline-bytes": inline})
        self.undoable = None

    @rule(spec=st.sampled_from(SPECS), order=st.sampled_from(ORDERS))
    def change_layout(self, spec, order):
        with self.table.evolve() as change:
            change.partition_by(spec)
            change.sort_by(order)
        self.spec, self.undoable = spec, None

    @precondition(lambda self: len(self.columns) < 3)
    @rule(default=st.sampled_from([None, 0, 7]))
    def add_column(self, default):
        self.made += 1
        name = f"extra{self.made}"
        with self.table.evolve() as change:
            change.add_column(name, "long", default=default)
        self.columns[name] = default
        self.rows = {id: {**row, name: default} for id, row in self.rows.items()}
        self.undoable = None

    @precondition(lambda self: self.columns)
    @rule(where=WHERE, value=st.sampled_from([None, 1, 99]))
    def set_column(self, where, value):
        before, name = deepcopy(self.rows), max(self.columns)
        for row in self.rows.values():
            row[name] = value if where.passes(row) else row[name]
        self.did(self.table.update({name: lakebed.lit(value)}, where.text), before)

    @precondition(lambda self: self.columns)
    @rule()
    def drop_column(self):
        name = min(self.columns)
        with self.table.evolve() as change:
            change.drop_column(name)
        del self.columns[name]
        for row in self.rows.values():
            del row[name]
        self.undoable = None

    @precondition(lambda self: self.columns)
    @rule()
    def rename_column(self):
        self.made += 1
        name, new = max(self.columns), f"renamed{self.made}"
        with self.table.evolve() as change:
            change.rename_column(name, new)
        self.columns = {new if one == name else one: default for one, default in self.columns.items()}
        self.rows = {
            id: {new if one == name else one: value for one, value in row.items()} for id, row in self.rows.items()
        }
        self.undoable = None

    @precondition(lambda self: self.undoable is not None)
    @rule()
    def revert(self):
        commit, before = self.undoable
        self.rows = before
        self.fresh |= set(before)
        self.main.revert(commit)
        self.undoable = None

    @rule(where=WHERE, rows=ROWS, more=ROWS)
    def branch_and_merge(self, where, rows, more):
        self.made += 1
        dev = self.main.create_branch(f"dev{self.made}")
        before = self.main.version
        self.take(where)
        dev.table("t").delete(where.text)
        ours = [row for row in rows if row["id"] not in self.rows]
        self.put(ours)
        self.fresh |= {row["id"] for row in ours}
        dev.table("t").append(self.arrow(ours).select(list(TYPES)))
        assert shown(dev.table("t").scan().to_arrow().to_pylist()) == shown(self.rows.values())
        known = self.table.at(before).scan().to_arrow()["id"].to_pylist()
        theirs = [row for row in more if row["id"] not in self.rows and row["id"] not in known]
        self.table.append(self.arrow(theirs).select(list(TYPES)))
        self.put(theirs)
        self.main.merge(dev)
        self.undoable = None

    @rule(deletes=st.lists(WHERE, max_size=2), rows=ROWS, more=ROWS)
    def transaction(self, deletes, rows, more):
        before = deepcopy(self.rows)
        with self.main.transaction("many") as tx:
            own = tx.table("t")
            new = [row for row in rows if row["id"] not in self.rows]
            own.append(self.arrow(new).select(list(TYPES)))
            self.put(new)
            for where in deletes:
                own.delete(where.text)
                self.take(where)
            own.upsert(self.arrow(more).select(list(TYPES)))
            self.put_parts(more)
            self.fresh |= {row["id"] for row in more}
            assert shown(own.scan().to_arrow().to_pylist()) == shown(self.rows.values())
        self.did(tx.committed, before)

    @rule(where=WHERE)
    def read_by_a_filter(self, where):
        """Law 7: files that are not opened have no row that passes."""
        expected = [row for row in self.rows.values() if where.passes(row)]
        assert shown(self.table.scan(where.text).to_arrow().to_pylist()) == shown(expected)
        assert self.table.scan(where.text).count() == len(expected)

    @rule(id=IDS)
    def get(self, id):
        assert repr(self.table.get(id)) == repr(self.rows.get(id))

    @invariant()
    def agrees(self):
        if not self.lakes:
            return
        assert shown(self.table.scan().to_arrow().to_pylist()) == shown(self.rows.values())
        newest = self.table.snapshots()[0]
        assert newest.totals["rows"] == self.table.scan().count() == len(self.rows)
        live = [one.file for one in self.table.scan()._plan.files]
        assert (newest.totals["files"], newest.totals["bytes"]) == (len(live), sum(one.file_size for one in live))
        assert all(count >= 0 for count in newest.counts.values())

    @invariant()
    def rows_keep_their_ids(self):
        if not self.lakes:
            return
        found = self.table.scan(columns=["id", "_row_id"]).to_arrow().to_pylist()
        now = {one["id"]: one["_row_id"] for one in found}
        assert len(set(now.values())) == len(now)
        stayed = (now.keys() & self.row_ids.keys()) - self.fresh
        assert {id: now[id] for id in stayed} == {id: self.row_ids[id] for id in stayed}
        self.row_ids, self.fresh = now, set()

    @invariant()
    def every_version_is_what_it_was(self):
        """Laws 5 and 6."""
        for version, rows in self.past.items():
            assert shown(self.table.at(version).scan().to_arrow().to_pylist()) == rows

    @invariant()
    def checkpoints_are_the_replay(self):
        if not self.lakes:
            return
        work = self.table._scope.read()
        state = table_state(work, self.table.id)
        first, second = (
            {path: (one.file.SerializeToString(deterministic=True), one.snapshot_id) for path, one in files.items()}
            for files in (how(work, state).all(work.context) for how in (files_since_checkpoint, files_from_deltas))
        )
        assert first == second

    def teardown(self):
        for lake in self.lakes:
            lake._checkpointing.wait()
        assert check(self.store) == []
        shutil.rmtree(self.folder)


QUICK = settings(max_examples=10, stateful_step_count=15, suppress_health_check=list(HealthCheck))
TestRows = RowsMachine.TestCase
TestRows.settings = QUICK


@pytest.mark.long
class TestRowsAtLength(RowsMachine.TestCase):
    settings = settings(max_examples=400, stateful_step_count=40, suppress_health_check=list(HealthCheck))
