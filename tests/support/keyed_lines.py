"""Two branches of a table whose key of two columns changes cell by cell, beside rows that are known by a number.

A line never takes up a value of a key that it has given up: a row that is replaced by its key is not the subject here
(`row_lines` has it).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lakebed import Catalog, Conflict, Field, RowConflict
from lakebed.table.types.types import LONG

Cells = dict[str, int]
Held = dict[int, Cells]  # by the number of a row: its cells

OPERATIONS = (
    *("insert", "insert", "move a", "move a", "move a", "move b", "move b", "move b", "update", "delete"),
    *("narrow", "widen", "compact", "rewrites", "inline", "files", "pick", "revert", "decide"),
    *("merge", "merge", "merge", "merge", "merge by strategy"),
)


class Ended(Exception):
    """A conflict was settled: the model no longer knows which rows there are."""


@dataclass(frozen=True, eq=False)
class Node:
    """A commit: what it follows, the rows and the key after it, and the values of keys that the line has given up."""

    number: int
    parents: tuple["Node", ...]
    rows: Held
    key: tuple[str, ...] = ("a", "b")
    given_up: frozenset[tuple[str, int]] = frozenset()
    is_of_rows: bool = True

    def ancestors(self) -> set["Node"]:
        found, left = set[Node](), [self]
        while left:
            node = left.pop()
            if node not in found:
                found.add(node)
                left += node.parents
        return found


class KeyedLines:
    """The lines `main` and `dev` of one table; keys and rows are checked after every step."""

    def __init__(self, main: Catalog) -> None:
        fields = [Field(name, LONG, required=True) for name in ("a", "b", "v")]
        main.create_table("t", fields, primary_key=["a", "b"])
        first = Node(0, (), {})
        self.count = 0
        self.lines, self.heads = [main], [first]
        for number in range(6):
            self.do_insert(0, number)
        self.lines.append(main.create_branch("dev"))
        self.heads.append(self.heads[0])

    def step(self, operation: str, place: int, number: int) -> None:
        getattr(self, f"do_{operation.replace(' ', '_')}")(place, number)
        assert rows_of(self.lines[place]) == in_order(self.heads[place].rows), operation

    # Changes of one line.

    def do_insert(self, place: int, number: int) -> None:
        self.count += 1
        rows = self.heads[place].rows
        new = {"a": number % 7, "b": (number * 3 + self.count) % 7, "v": 1000 + self.count}
        if self._fits(place, [*rows.values(), new]):
            self._table(place).append([new])
            self._commit(place, {**rows, self.count: new})

    def do_move_a(self, place: int, number: int) -> None:
        self._update(place, "a", number % 9, "b", number % 4)

    def do_move_b(self, place: int, number: int) -> None:
        self._update(place, "b", number % 9, "a", number % 4)

    def do_update(self, place: int, number: int) -> None:
        self._update(place, "v", number, "a", number % 4)

    def do_delete(self, place: int, number: int) -> None:
        self._table(place).delete(f"b % 5 = {number % 5}")
        self._commit(place, {id: row for id, row in self.heads[place].rows.items() if row["b"] % 5 != number % 5})

    def do_narrow(self, place: int, number: int) -> None:
        self._change_key(place, ("a",))

    def do_widen(self, place: int, number: int) -> None:
        self._change_key(place, ("a", "b"))

    def do_compact(self, place: int, number: int) -> None:
        self._table(place).compact()
        self._commit(place, self.heads[place].rows)

    def do_rewrites(self, place: int, number: int) -> None:
        self._set("write.row-changes", ("copy-on-write", "merge-on-read")[number % 2])

    def do_inline(self, place: int, number: int) -> None:
        self._set("write.inline-bytes", "64000")

    def do_files(self, place: int, number: int) -> None:
        self._set("write.inline-bytes", "0")

    def _update(self, place: int, column: str, value: int, other: str, rest: int) -> None:
        changed = {
            id: {**row, column: value} if row[other] % 4 == rest else row for id, row in self.heads[place].rows.items()
        }
        if self._fits(place, changed.values()):
            self._table(place).update({column: str(value)}, f"{other} % 4 = {rest}")
            self._commit(place, changed)

    def _change_key(self, place: int, key: tuple[str, ...]) -> None:
        if key != self.heads[place].key and self._fits(place, self.heads[place].rows.values(), key):
            with self._table(place).evolve() as change:
                change.primary_key(list(key))
            self._commit(place, self.heads[place].rows, key=key, is_of_rows=False)

    def _set(self, name: str, value: str) -> None:
        for place in range(len(self.lines)):
            self._table(place).set_properties({name: value})
            self._commit(place, self.heads[place].rows, is_of_rows=False)

    def _fits(self, place: int, rows: Iterable[Cells], key: tuple[str, ...] | None = None) -> bool:
        """Whether a line may have these rows: each key once, and no value that it has given up."""
        rows, head = list(rows), self.heads[place]
        values = {(name, row[name]) for row in rows for name in ("a", "b")}
        return not repeated(rows, key or head.key) and not values & head.given_up

    # Changes that come from elsewhere.

    def do_pick(self, place: int, number: int) -> None:
        node = self.heads[1 - place]
        if len(node.parents) == 1 and node.is_of_rows and node not in self.heads[place].ancestors():
            [commit] = self.lines[1 - place].log(1)
            self._applied(place, node.parents[0], node, lambda: self.lines[place].cherry_pick(commit))

    def do_revert(self, place: int, number: int) -> None:
        node = self.heads[place]
        if len(node.parents) == 1 and node.is_of_rows and node.parents[0].number:
            [commit] = self.lines[place].log(1)
            self.lines[place].revert(commit)
            self._commit(place, node.parents[0].rows)
            raise Ended  # values that were given up are there again

    def do_merge(self, place: int, number: int) -> None:
        line, other = self.lines[place], self.lines[1 - place]
        ours, theirs = self.heads[place], self.heads[1 - place]
        if theirs in ours.ancestors():
            assert line.merge(other).commit is None
            return
        base = max(ours.ancestors() & theirs.ancestors(), key=lambda node: node.number)
        key = theirs.key if ours.key == base.key else ours.key
        conflicts = line.merge(other, dry_run=True).conflicts
        of_rows = [found for found in conflicts if isinstance(found, RowConflict)]
        if len(of_rows) < len(conflicts):
            return  # of the key itself
        merged, disputed = merged_rows(base.rows, ours.rows, theirs.rows)
        whats = {found.what for found in conflicts}
        if disputed:
            assert "row" in whats
        else:
            again = repeated(merged.values(), key)
            assert whats <= {"key", "keys"}
            assert {tuple(found.key.values()) for found in of_rows} == again
        if conflicts:
            before = rows_of(line)
            try:
                line.merge(other)
            except Conflict:
                assert rows_of(line) == before
                return
            raise AssertionError("conflicts were merged")
        line.merge(other)
        self._commit(place, merged, theirs, key=key)

    def do_merge_by_strategy(self, place: int, number: int) -> None:
        self._settle(place, strategy=("ours", "theirs")[number % 2])

    def do_decide(self, place: int, number: int) -> None:
        """Give rows for all conflicts, which may have the key of another row, or of each other."""

        def given(conflict: RowConflict) -> Cells:
            return {"a": number % 9, "b": (number + len(str(conflict.key)) * (number % 2)) % 9, "v": 1}

        self._settle(place, resolve=given)

    def _settle(self, place: int, **given: Any) -> None:
        line, before = self.lines[place], rows_of(self.lines[place])
        try:
            result = line.merge(self.lines[1 - place], **given)
        except Conflict as error:
            assert any(not isinstance(one, RowConflict) or one.what == "keys" for one in error.conflicts)
            assert rows_of(line) == before
            return
        ours, theirs = self.heads[place], self.heads[1 - place]
        if result.commit is not None:
            base = max(ours.ancestors() & theirs.ancestors(), key=lambda node: node.number)
            self._check_undisputed(line, base, ours, theirs, result.conflicts)
            raise Ended

    def _check_undisputed(self, line: Catalog, base: Node, ours: Node, theirs: Node, conflicts: Any) -> None:
        """Every row that is not in dispute is there, once and with its cells."""
        merged, disputed = merged_rows(base.rows, ours.rows, theirs.rows)
        found = rows_of(line)
        key = line.table("t").primary_key
        assert not repeated([dict(zip(("a", "b", "v"), row, strict=True)) for row in found], key)
        settled = {side["v"] for one in conflicts for side in (one.base, one.ours, one.theirs) if side}
        for id, row in merged.items():
            if (
                id not in disputed
                and not {row["v"], *(side[id]["v"] for side in sides(base, ours, theirs, id))} & settled
            ):
                assert found[tuple(row.values())] == 1, row

    def _applied(self, place: int, base: Node, theirs: Node, act: Any) -> None:
        ours, before = self.heads[place], rows_of(self.lines[place])
        merged, disputed = merged_rows(base.rows, ours.rows, theirs.rows)
        again = repeated(merged.values(), ours.key)
        try:
            act()
        except Conflict as error:
            assert disputed or again or theirs.key != ours.key, error
            assert rows_of(self.lines[place]) == before
            return
        assert not disputed
        assert not again
        self._commit(place, merged)
        raise Ended  # later merges compare what was picked with itself, by what the rows were

    def _commit(
        self,
        place: int,
        rows: Held,
        *others: Node,
        key: tuple[str, ...] | None = None,
        is_of_rows: bool = True,
    ) -> None:
        head, number = self.heads[place], int(self.lines[place].version)
        if number == head.number:
            return
        before = {(name, row[name]) for row in head.rows.values() for name in ("a", "b")}
        after = {(name, row[name]) for row in rows.values() for name in ("a", "b")}
        given_up = head.given_up.union(before - after, *(other.given_up for other in others)) - after
        parents = (head, *others)
        self.heads[place] = Node(number, parents, rows, key or head.key, frozenset(given_up), is_of_rows)

    def _table(self, place: int) -> Any:
        return self.lines[place].table("t")


def sides(base: Node, ours: Node, theirs: Node, id: int) -> list[Held]:
    return [node.rows for node in (base, ours, theirs) if id in node.rows]


def merged_rows(base: Held, ours: Held, theirs: Held) -> tuple[Held, set[int]]:
    """The rows merged cell by cell, and the numbers of those in dispute."""
    merged, disputed = Held(), set[int]()
    for id in dict.fromkeys([*ours, *theirs]):
        before, here, there = base.get(id), ours.get(id), theirs.get(id)
        if before is None or there == before or here == there:
            kept = here if there == before or here is not None else there
        elif here == before:
            kept = there
        elif here is None or there is None:
            kept = here or there
            disputed.add(id)
        else:
            cells = {name: there[name] if here[name] == before[name] else here[name] for name in here}
            kept = cells
            if any(len({side[name] for side in (before, here, there)}) == 3 for name in here):
                disputed.add(id)
        if kept is not None:
            merged[id] = kept
    return merged, disputed


def repeated(rows: Iterable[Cells], key: Iterable[str]) -> set[tuple[int, ...]]:
    names = tuple(key)
    counted = Counter(tuple(row[name] for name in names) for row in rows)
    return {found for found, count in counted.items() if count > 1}


def rows_of(line: Catalog) -> Counter[tuple[int, ...]]:
    return Counter((row["a"], row["b"], row["v"]) for row in line.table("t").to_arrow().to_pylist())


def in_order(rows: Held) -> Counter[tuple[int, ...]]:
    return Counter((row["a"], row["b"], row["v"]) for row in rows.values())


def run(main: Catalog, steps: Iterable[tuple[str, int, int]]) -> None:
    lines = KeyedLines(main)
    for operation, place, number in steps:
        try:
            lines.step(operation, place, number)
        except Ended:
            return
