"""Lines of one table for tests of merges of files: a model that knows the rows in each file and behind each vector."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pytest

from lakebed.table.manifest import manifest_pb2 as pb
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING, with_status
from lakebed.table.merge.files import FileMerge, Side, SideDelta, merge_files
from lakebed.table.merge.strategy import Settle

Row: TypeAlias = tuple[int, int]
"""A key and its version."""
Files: TypeAlias = Mapping[str, pb.DataFileRef]
MayShareKeys: TypeAlias = Callable[[Sequence[pb.DataFileRef], Sequence[pb.DataFileRef]], bool]

SIDES = (Settle.OURS, Settle.THEIRS)
both_ways = pytest.mark.parametrize("turned", [False, True], ids=["one into other", "other into one"])


class World:
    """What all lines of one table share: the rows in each file, the rows behind each vector, and the clock.

    A file's name begins with its part: overwrites can be of one part, and compactions stay within one.
    """

    def __init__(self) -> None:
        self.rows: dict[str, frozenset[Row]] = {}
        self.vectors: dict[str, frozenset[Row]] = {"": frozenset()}
        self.clock: Iterator[int] = itertools.count(1)

    def file(self, part: str, rows: Iterable[Row]) -> pb.DataFileRef:
        """A new file with these rows."""
        path = f"{part}{next(self.clock)}"
        self.rows[path] = frozenset(rows)
        count = len(self.rows[path])
        return pb.DataFileRef(path=path, num_rows=count, first_row_id=1000, seq_min=7, seq_max=8, status=ADDED)

    def live(self, file: pb.DataFileRef) -> frozenset[Row]:
        return self.rows[file.path] - self.vectors[file.dv_path]

    def rows_of(self, files: Files) -> Counter[Row]:
        return Counter(row for file in files.values() for row in self.live(file))


class Line:
    """A line of the table: live files and deltas, with the operations that users have."""

    def __init__(self, world: World, files: Files | None = None, deltas: Iterable[SideDelta] = ()) -> None:
        self.world, self.files, self.deltas = world, dict(files or {}), list(deltas)

    def fork(self) -> "Line":
        return Line(self.world, self.files)

    def moment(self) -> "Line":
        """The line as it is now, whatever becomes of it."""
        return Line(self.world, self.files, self.deltas)

    def side(self) -> Side:
        return Side(dict(self.files), tuple(self.deltas))

    def rows(self) -> Counter[Row]:
        return self.world.rows_of(self.files)

    def paths(self) -> set[str]:
        return set(self.files)

    def commit(
        self,
        operation: str,
        added: Sequence[pb.DataFileRef] = (),
        removed: Sequence[pb.DataFileRef] = (),
        changed: Sequence[pb.DataFileRef] = (),
        rewrites: Sequence[pb.Rewrite] = (),
        overwritten: str | None = None,
    ) -> list[str]:
        """Commit a delta, and answer the paths of the files that it adds."""
        statuses = ((removed, DELETED), (changed, EXISTING), (added, ADDED))
        entries = [with_status(file, status) for files, status in statuses for file in files]
        manifest = pb.Manifest(data_files=entries, rewrites=rewrites, overwritten=overwritten)
        for file in removed:
            del self.files[file.path]
        for entry in entries:
            if entry.status != DELETED:
                assert (entry.path in self.files) is (entry.status == EXISTING)
                self.files[entry.path] = entry
        self.deltas.append(SideDelta(operation, manifest, next(self.world.clock)))
        return [file.path for file in added]

    def copies(self, paths: Iterable[str]) -> list[pb.DataFileRef]:
        return [pb.DataFileRef.FromString(self.files[path].SerializeToString()) for path in paths]

    def append(self, part: str = "x", rows: int = 2) -> str:
        keys = [(next(self.world.clock), 0) for _ in range(rows)]
        return self.commit("insert", [self.world.file(part, keys)])[0]

    def without(self, path: str, rows: Iterable[Row]) -> pb.DataFileRef:
        """The file's entry with some rows deleted, in a vector of its own."""
        [file] = self.copies([path])
        gone = self.world.vectors[file.dv_path] | frozenset(rows)
        file.dv_path, file.dv_offset, file.dv_length = f"deletes-{next(self.world.clock)}", 4, 40
        self.world.vectors[file.dv_path] = gone
        return file

    def first_rows(self, path: str, count: int = 1) -> list[Row]:
        return sorted(self.world.live(self.files[path]))[:count]

    def delete(self, path: str, count: int = 1) -> None:
        self.commit("delete", changed=[self.without(path, self.first_rows(path, count))])

    def remove(self, path: str) -> None:
        self.commit("delete", removed=self.copies([path]))

    def update(self, *paths: str) -> str:
        """A new version of the first row of each file."""
        moved = {path: self.first_rows(path) for path in paths}
        version = next(self.world.clock)
        new = [(key, version) for rows in moved.values() for key, _ in rows]
        added = self.world.file(paths[0][0], new)
        return self.commit("update", [added], changed=[self.without(path, rows) for path, rows in moved.items()])[0]

    def rewrite(self, path: str) -> str:
        """An update that writes the whole file anew."""
        [(key, old), *_] = self.first_rows(path)
        kept = self.world.live(self.files[path]) - {(key, old)}
        added = self.world.file(path[0], [*kept, (key, next(self.world.clock))])
        return self.commit("update", [added], self.copies([path]))[0]

    def overwrite(self, part: str | None = None) -> str:
        gone = [path for path in self.files if part in (None, path[0])]
        added = self.world.file(part or "x", [(next(self.world.clock), 0)])
        return self.commit("overwrite", [added], self.copies(gone), overwritten=part)[0]

    def compact(self, *paths: str) -> str:
        """Files as one; the path is empty if they have no rows."""
        rows = [row for path in paths for row in self.world.live(self.files[path])]
        outputs = [self.world.file(paths[0][0], rows)] if rows else []
        rewrite = pb.Rewrite(inputs=paths, outputs=[file.path for file in outputs])
        return [*self.commit("compact", outputs, self.copies(paths), rewrites=[rewrite]), ""][0]

    def apply(self, merge: FileMerge, operation: str = "merge_branch") -> None:
        self.commit(operation, merge.added, merge.removed, merge.changed, merge.rewrites)


def falls_in(file: pb.DataFileRef, delta: SideDelta) -> bool:
    part = delta.manifest.overwritten
    return not part or file.path[0] == part


def merge(
    base: Line, ours: Line, theirs: Line, settle: Settle = Settle.FAIL, may_share_keys: MayShareKeys | None = None
) -> FileMerge:
    return merge_files(
        dict(base.files), ours.side(), theirs.side(), settle, falls_in=falls_in, may_share_keys=may_share_keys
    )


def merged(
    base: Line, ours: Line, theirs: Line, settle: Settle = Settle.FAIL, **options: Any
) -> tuple[Line, list[str]]:
    """The line that ours would be, and what it conflicted in."""
    answer = merge(base, ours, theirs, settle, **options)
    line = ours.moment()
    line.apply(answer)
    return line, [conflict.what for conflict in answer.conflicts]


def forks(*parts: str) -> tuple[Line, Line, Line, list[str]]:
    """A base with one file of two rows for each letter, two forks of it, and the paths."""
    base = Line(World())
    paths = [base.append(part) for part in parts]
    return base, base.fork(), base.fork(), paths


def turn(turned: bool, one: Any, other: Any) -> tuple[Any, Any]:
    """The two, or the other first: what `both_ways` gives a test says which."""
    return (other, one) if turned else (one, other)


def conflicts(base: Line, one: Line, other: Line, turned: bool, **options: Any) -> list[str]:
    """What a merge conflicts in; with a conflict it changes nothing."""
    ours, theirs = turn(turned, one, other)
    answer = merge(base, ours, theirs, **options)
    if answer.conflicts:
        assert (answer.added, answer.removed, answer.changed, answer.rewrites) == ((), (), (), ())
    return [conflict.what for conflict in answer.conflicts]


def result(base: Line, one: Line, other: Line, turned: bool) -> set[str]:
    """The paths after a merge without conflicts; its rows are what both sides left and what either added."""
    line, found = merged(base, *turn(turned, one, other))
    assert found == []
    assert line.rows() == expected_rows(base, one, other)
    return line.paths()


def expected_rows(base: Line, one: Line, other: Line) -> Counter[Row]:
    """What both sides left, and what either added."""
    before, left, right = base.rows(), one.rows(), other.rows()
    return (left & right) | (left - before) | (right - before)
