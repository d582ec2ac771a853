"""Two branches whose rows change and merge, beside a dictionary of rows that merges cell by cell."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lakebed import Catalog, Conflict, RowConflict

Cells = dict[str, Any]
Held = dict[int, tuple[int, Cells]]  # by key: which row it is, and its cells

OPERATIONS = (
    *("insert", "insert", "update a", "update a", "update b", "update b", "update both", "delete", "delete"),
    *("same insert", "replace", "compact", "checkpoint", "rewrites", "vectors", "inline", "files", "revert", "column"),
    *("merge", "merge", "merge", "merge older", "pick"),
)


class Disputed(Exception):
    """The model found cells or rows that both sides changed differently."""


@dataclass(frozen=True, eq=False)
class Node:
    """A commit of the model: where it stands in the order of all, what it follows, and the rows after it."""

    number: int
    parents: tuple["Node", ...]
    rows: Held
    version: Any = None
    is_of_rows: bool = True

    def ancestors(self) -> set["Node"]:
        found, left = set[Node](), [self]
        while left:
            node = left.pop()
            if node not in found:
                found.add(node)
                left += node.parents
        return found


@dataclass
class Side:
    catalog: Catalog
    head: Node
    past: list[Node] = field(default_factory=list)


class RowLines:
    """The lines `main` and `dev` of one table; every step is checked against the model."""

    def __init__(self, main: Catalog, *, keyed: bool) -> None:
        self.keyed, self.counter, self.uids = keyed, 0, 0
        self.picks: list[tuple[Node, Node, Held, set[int]]] = []
        columns = {"id": "long", "a": "string", "b": "long"}
        main.create_table("t", columns, primary_key=["id"] if keyed else [])
        first = Node(0, (), {}, main.version)
        self.sides = [Side(main, first, [first])]
        self.insert(0, 9)
        head = self.sides[0].head
        self.sides.append(Side(main.create_branch("dev"), head, [head]))

    # Steps.

    def step(self, operation: str, place: int, number: int) -> None:
        name = operation.replace(" ", "_")
        getattr(self, f"do_{name}")(place, number)
        for side in self.sides:
            assert rows_of(side.catalog) == {key: cells for key, (_, cells) in side.head.rows.items()}, operation

    def insert(self, place: int, count: int, first: int | None = None) -> None:
        start = self.counter if first is None else first
        self.counter = max(self.counter, start + count)
        rows = dict(self.sides[place].head.rows)
        new = {}
        for key in range(start, start + count):
            if key not in rows:
                self.uids += 1
                new[key] = (self.uids, {"a": f"a{key} {place}", "b": key})
        if new:
            self._table(place).append(_arrow(new))
            self._commit(place, rows | new)

    def do_insert(self, place: int, number: int) -> None:
        self.insert(place, number % 4 + 1)

    def do_same_insert(self, place: int, number: int) -> None:
        """A key that the other side may insert too, with the same or with other cells."""
        if self.keyed:
            self.insert(place, 2, 1000 + number)

    def do_replace(self, place: int, number: int) -> None:
        """Delete rows, and insert others with their keys."""
        keys = [key for key in self.sides[place].head.rows if key % 5 == number % 5]
        if self.keyed and keys:
            new = {}
            for key in keys:
                self.uids += 1
                new[key] = (self.uids, {"a": f"again {place}", "b": key})
            with self.sides[place].catalog.transaction("replace") as transaction:
                table = transaction.table("t")
                table.delete(f"id % 5 = {number % 5}")
                table.append(_arrow(new))
            self._commit(place, self.sides[place].head.rows | new)

    def do_update_a(self, place: int, number: int) -> None:
        self._update(place, number, {"a": f"u{number} {place}"})

    def do_update_b(self, place: int, number: int) -> None:
        self._update(place, number, {"b": number * 10 + place})

    def do_update_both(self, place: int, number: int) -> None:
        self._update(place, number, {"a": f"w{number}", "b": number * 100})

    def do_delete(self, place: int, number: int) -> None:
        rows = {key: held for key, held in self.sides[place].head.rows.items() if key % 7 != number % 7}
        self._table(place).delete(f"id % 7 = {number % 7}")
        self._commit(place, rows)

    def do_compact(self, place: int, _: int) -> None:
        self._table(place).compact()
        self._commit(place, self.sides[place].head.rows)

    def do_checkpoint(self, place: int, _: int) -> None:
        self._table(place).checkpoint()

    def do_rewrites(self, place: int, _: int) -> None:
        self._set(place, "write.row-changes", "copy-on-write")

    def do_vectors(self, place: int, _: int) -> None:
        self._set(place, "write.row-changes", "merge-on-read")

    def do_inline(self, place: int, _: int) -> None:
        self._set(place, "write.inline-bytes", "64000")

    def do_files(self, place: int, _: int) -> None:
        self._set(place, "write.inline-bytes", "0")

    def do_column(self, place: int, number: int) -> None:
        """Add a column, so that the sides have different schemas."""
        self.counter += 1
        with self._table(place).evolve() as change:
            change.add_column(f"c{self.counter}", "long", default=[None, 5][number % 2])
        self._commit(place, self.sides[place].head.rows, is_of_rows=False)

    def do_merge(self, place: int, number: int) -> None:
        self._merge(place, self.sides[1 - place].catalog, self.sides[1 - place].head, number)

    def do_merge_older(self, place: int, number: int) -> None:
        """Merge a past state of the other side, so that merges cross."""
        past = self.sides[1 - place].past
        node = past[-1 - number % len(past)]
        if node.version is not None:
            self._merge(place, self.sides[1 - place].catalog.at(node.version), node, number)

    def do_pick(self, place: int, number: int) -> None:
        """Pick the newest commit of the other side, if it has one parent."""
        side, other = self.sides[place], self.sides[1 - place]
        node = other.head
        if len(node.parents) != 1 or not node.is_of_rows or node in side.head.ancestors():
            return
        before, [commit] = side.head, other.catalog.log(1)
        self._applied(place, node.parents[0].rows, node.rows, lambda: side.catalog.cherry_pick(commit))
        taken = {key: held for key, held in node.rows.items() if side.head.rows.get(key, (0, {}))[1] == held[1]}
        changed = {key: held for key, held in taken.items() if node.parents[0].rows.get(key) != held}
        removed = node.parents[0].rows.keys() - node.rows.keys() - side.head.rows.keys()
        if side.head is not before:
            self.picks.append((node, side.head, changed, removed))

    def do_revert(self, place: int, number: int) -> None:
        """Revert one of the last commits of the side itself."""
        side = self.sides[place]
        recent = [node for node in side.past[-4:] if len(node.parents) == 1 and node.is_of_rows]
        if recent:
            node = recent[number % len(recent)]
            found = {commit.version: commit for commit in side.catalog.log(20)}
            if node.version in found:
                commit = found[node.version]
                self._applied(place, node.rows, node.parents[0].rows, lambda: side.catalog.revert(commit))

    # The lake and the model.

    def _applied(self, place: int, base: Held, theirs: Held, act: Any) -> None:
        side = self.sides[place]
        try:
            merged = dict(_merged(base, side.head.rows, theirs, base, None))
        except Disputed:
            try:
                act()
            except Conflict:
                return
            self._accept(place, theirs, uids_in(base))
            return
        act()
        self._commit(place, merged)

    def _merge(self, place: int, source: Catalog, theirs: Node, number: int) -> None:
        side = self.sides[place]
        strategy = ("fail", "ours", "theirs")[number % 3]
        ours = side.head
        common = ours.ancestors() & theirs.ancestors()
        if theirs in common:
            assert side.catalog.merge(source, strategy=strategy).commit is None
            return
        base = max(common, key=lambda node: node.number)
        arrivals = _arrivals(base, ours, theirs)
        before = self._with_picked(base, ours, theirs)
        conflicts = side.catalog.merge(source, dry_run=True).conflicts
        found = [conflict for conflict in conflicts if isinstance(conflict, RowConflict)]
        if conflicts and not found and strategy == "fail":
            return  # of properties, which are not the subject
        try:
            merged = dict(_merged(before, ours.rows, theirs.rows, arrivals, None))
            if found and self.picks:  # after picks of reverts a row may be in dispute that nobody disputes
                self._settle_anyway(place, source, theirs, strategy)
                return
            assert not found
        except Disputed:
            if strategy == "fail":
                assert found or self.picks, "a dispute was not found"
            if strategy == "fail" and found:
                return
            if not found:
                assert self.picks, "a dispute was not found"
                side.catalog.merge(source)
                self._accept(place, theirs.rows, uids_of(theirs), theirs)
                return
            merged = dict(_merged(before, ours.rows, theirs.rows, arrivals, strategy))
        side.catalog.merge(source, strategy=strategy)
        self._commit(place, merged, theirs)

    def _settle_anyway(self, place: int, source: Catalog, theirs: Node, strategy: str) -> None:
        if strategy != "fail":
            self.sides[place].catalog.merge(source, strategy=strategy)
            self._accept(place, theirs.rows, uids_of(theirs), theirs)

    def _accept(self, place: int, theirs: Held, theirs_knew: set[int], *parents: Node) -> None:
        """Take what the lake made of rows that went through picks before, as far as nobody can have meant otherwise.

        Every cell is one of the sides'. A row is there if both sides have it, or one has it and the other, which knew
        the rows `theirs_knew` if it is theirs, never had it to delete.
        """
        side = self.sides[place]
        ours, merged, found = side.head.rows, Held(), rows_of(side.catalog)
        for key, cells in found.items():
            known = [rows[key] for rows in (ours, theirs) if key in rows]
            assert all(any(cells[name] == held[1][name] for held in known) for name in cells), key
            merged[key] = (known[0][0], cells)
        ours_knew = uids_of(side.head)
        assert not ours.keys() & theirs.keys() - found.keys(), "a row that both sides have was lost"
        alone = [(ours, theirs, theirs_knew), (theirs, ours, ours_knew)]
        for rows, others, knew in alone:
            lost = {key for key, (uid, _) in rows.items() if key not in others and uid not in knew} - found.keys()
            assert not lost, "a row that only one side ever had was lost"
        self._commit(place, merged, *parents)

    def _with_picked(self, base: Node, ours: Node, theirs: Node) -> Held:
        """The base, with what both sides have got since, one by a change and the other by picking it."""
        rows, since = dict(base.rows), [side.ancestors() - base.ancestors() for side in (ours, theirs)]
        for made, picked, changed, removed in self.picks:
            if all({made, picked} & nodes for nodes in since):
                rows = {key: held for key, held in (rows | changed).items() if key not in removed}
        return rows

    def _update(self, place: int, number: int, cells: Cells) -> None:
        rows = {
            key: (uid, before | cells if key % 3 == number % 3 else before)
            for key, (uid, before) in self.sides[place].head.rows.items()
        }
        texts = {name: f"'{value}'" if isinstance(value, str) else str(value) for name, value in cells.items()}
        self._table(place).update(texts, f"id % 3 = {number % 3}")
        self._commit(place, rows)

    def _set(self, place: int, name: str, value: str) -> None:
        for side in range(len(self.sides)):  # on both: properties merge by themselves, and are not the subject
            self._table(side).set_properties({name: value})
            self._commit(side, self.sides[side].head.rows, is_of_rows=False)

    def _table(self, place: int) -> Any:
        return self.sides[place].catalog.table("t")

    def _commit(self, place: int, rows: Held, *others: Node, is_of_rows: bool = True) -> None:
        side = self.sides[place]
        if side.catalog.version == side.head.version:
            return  # the call changed nothing, and made no commit
        number = int(side.catalog.version)
        side.head = Node(number, (side.head, *others), rows, side.catalog.version, is_of_rows)
        side.past.append(side.head)


def _arrow(rows: Held) -> pa.Table:
    ids = pa.array(list(rows), pa.int64())
    return pa.table(
        {"id": ids, "a": [cells["a"] for _, cells in rows.values()], "b": [c["b"] for _, c in rows.values()]}
    )


def rows_of(catalog: Catalog) -> dict[int, Cells]:
    found = catalog.table("t").scan().to_arrow().to_pylist()
    rows = {row["id"]: {"a": row["a"], "b": row["b"]} for row in found}
    assert len(rows) == len(found), "a row is there twice"
    return rows


def uids_in(rows: Held) -> set[int]:
    return {uid for uid, _ in rows.values()}


def uids_of(head: Node) -> set[int]:
    """All rows that a line has ever had."""
    return set[int]().union(*(uids_in(node.rows) for node in head.ancestors()))


def _arrivals(base: Node, ours: Node, theirs: Node) -> Held:
    """Rows that both sides got after the base: as they were when the later side got them."""
    found: Held = {}
    firsts = [_first_seen(side, base) for side in (ours, theirs)]
    for uid in firsts[0].keys() & firsts[1].keys():
        _, key, held = max(firsts[0][uid], firsts[1][uid], key=lambda first: first[0])
        found[key] = held
    return found


def _first_seen(side: Node, base: Node) -> dict[int, tuple[int, int, tuple[int, Cells]]]:
    seen: dict[int, tuple[int, int, tuple[int, Cells]]] = {}
    own = sorted(side.ancestors() - base.ancestors(), key=lambda node: node.number)
    known = {uid for uid, _ in base.rows.values()}
    for node in own:
        for key, held in node.rows.items():
            if held[0] not in known:
                seen.setdefault(held[0], (node.number, key, held))
    return seen


def _merged(base: Held, ours: Held, theirs: Held, arrivals: Held, strategy: str | None) -> Iterator[tuple[int, Any]]:
    for key in dict.fromkeys([*ours, *theirs]):
        before = base.get(key)
        if before is None and key in ours and key in theirs and ours[key][0] == theirs[key][0]:
            before = arrivals.get(key)
        kept = _merged_row(before, ours.get(key), theirs.get(key), strategy)
        if kept is not None:
            yield key, kept


def _merged_row(base: Any, ours: Any, theirs: Any, strategy: str | None) -> Any:
    values = [None if row is None else row[1] for row in (base, ours, theirs)]
    before, here, there = values
    if here == there or there == before:
        return ours
    if here == before:
        return theirs
    if here is None or there is None:
        return (ours if strategy == "ours" else theirs) if strategy else _dispute()
    cells = {name: _cell((before or {}).get(name), here[name], there[name], before, strategy) for name in here}
    return ours[0], cells


def _cell(base: Any, ours: Any, theirs: Any, before: Any, strategy: str | None) -> Any:
    if ours == theirs or (before is not None and theirs == base):
        return ours
    if before is not None and ours == base:
        return theirs
    return (ours if strategy == "ours" else theirs) if strategy else _dispute()


def _dispute() -> Any:
    raise Disputed


def run(main: Catalog, steps: Iterable[tuple[str, int, int]], *, keyed: bool) -> RowLines:
    lines = RowLines(main, keyed=keyed)
    for operation, place, number in steps:
        lines.step(operation, place, number)
    return lines
