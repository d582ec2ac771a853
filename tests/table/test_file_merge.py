"""Merges of files: every cell of the matrix in both directions, and a model that knows the rows in the files."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.table import manifest_pb2 as pb
from lakebed.table.delta import ADDED, DELETED, EXISTING
from lakebed.table.file_merge import FileConflict, FileMerge, Side, SideDelta, merge_files
from lakebed.table.settle import Settle
from lakebed.table.snapshot import with_status

SIDES = (Settle.OURS, Settle.THEIRS)


class World:
    """What all lines of one table share: the rows in each file, the rows behind each vector, and the clock.

    A file's name begins with its part: overwrites can be of one part, and compactions stay within one.
    A row is a key and its version.
    """

    def __init__(self):
        self.rows = {}
        self.vectors = {"": frozenset()}
        self.clock = itertools.count(1)

    def file(self, part, rows):
        path = f"{part}{next(self.clock)}"
        self.rows[path] = frozenset(rows)
        return pb.DataFileRef(path=path, num_rows=len(rows), first_row_id=1000, seq_min=7, seq_max=8, status=ADDED)

    def live(self, file):
        return self.rows[file.path] - self.vectors[file.dv_path]

    def rows_of(self, files):
        return Counter(row for file in files.values() for row in self.live(file))


class Line:
    """A line of the table: live files and deltas, with the operations that users have."""

    def __init__(self, world, files=(), deltas=()):
        self.world, self.files, self.deltas = world, dict(files), list(deltas)

    def fork(self):
        return Line(self.world, self.files)

    def side(self):
        return Side(dict(self.files), tuple(self.deltas))

    def rows(self):
        return self.world.rows_of(self.files)

    def commit(self, operation, added=(), removed=(), changed=(), rewrites=(), **fields):
        statuses = ((removed, DELETED), (changed, EXISTING), (added, ADDED))
        entries = [with_status(file, status) for files, status in statuses for file in files]
        manifest = pb.Manifest(data_files=entries, rewrites=rewrites, **fields)
        for file in removed:
            del self.files[file.path]
        for entry in entries:
            if entry.status != DELETED:
                assert (entry.path in self.files) is (entry.status == EXISTING)
                self.files[entry.path] = entry
        self.deltas.append(SideDelta(operation, manifest, next(self.world.clock)))
        return [file.path for file in added]

    def copies(self, paths):
        return [pb.DataFileRef.FromString(self.files[path].SerializeToString()) for path in paths]

    def append(self, part="x", rows=2):
        keys = [(next(self.world.clock), 0) for _ in range(rows)]
        return self.commit("insert", [self.world.file(part, keys)])[0]

    def without(self, path, rows):
        """The file's entry with some rows deleted, in a vector of its own."""
        [file] = self.copies([path])
        gone = self.world.vectors[file.dv_path] | frozenset(rows)
        file.dv_path, file.dv_offset, file.dv_length = f"deletes-{next(self.world.clock)}", 4, 40
        self.world.vectors[file.dv_path] = gone
        return file

    def first_rows(self, path, count=1):
        return sorted(self.world.live(self.files[path]))[:count]

    def delete(self, path, count=1):
        self.commit("delete", changed=[self.without(path, self.first_rows(path, count))])

    def remove(self, path):
        self.commit("delete", removed=self.copies([path]))

    def update(self, *paths):
        """A new version of the first row of each file."""
        moved = {path: self.first_rows(path) for path in paths}
        version = next(self.world.clock)
        new = [(key, version) for rows in moved.values() for key, _ in rows]
        added = self.world.file(paths[0][0], new)
        return self.commit("update", [added], changed=[self.without(path, rows) for path, rows in moved.items()])[0]

    def rewrite(self, path):
        """An update that writes the whole file anew."""
        [(key, old), *_] = self.first_rows(path)
        kept = self.world.live(self.files[path]) - {(key, old)}
        added = self.world.file(path[0], [*kept, (key, next(self.world.clock))])
        return self.commit("update", [added], self.copies([path]))[0]

    def overwrite(self, part=None):
        gone = [path for path in self.files if part in (None, path[0])]
        added = self.world.file(part or "x", [(next(self.world.clock), 0)])
        fields = {"overwritten": part} if part else {}
        return self.commit("overwrite", [added], self.copies(gone), **fields)[0]

    def compact(self, *paths):
        rows = [row for path in paths for row in self.world.live(self.files[path])]
        outputs = [self.world.file(paths[0][0], rows)] if rows else []
        rewrite = pb.Rewrite(inputs=paths, outputs=[file.path for file in outputs])
        return [*self.commit("compact", outputs, self.copies(paths), rewrites=[rewrite]), None][0]

    def apply(self, merge, operation="merge_branch"):
        self.commit(operation, merge.added, merge.removed, merge.changed, merge.rewrites)

    def paths(self):
        return set(self.files)


def falls_in(file, delta):
    part = delta.manifest.overwritten
    return not part or file.path[0] == part


def merge(base, ours, theirs, settle=Settle.FAIL, may_share_keys=None):
    return merge_files(
        dict(base.files), ours.side(), theirs.side(), settle, falls_in=falls_in, may_share_keys=may_share_keys
    )


def merged(base, ours, theirs, settle=Settle.FAIL, **options):
    """The line that ours would be, and what it conflicted in."""
    merge_ = merge(base, ours, theirs, settle, **options)
    line = Line(ours.world, ours.files, ours.deltas)
    line.apply(merge_)
    return line, [conflict.what for conflict in merge_.conflicts]


def forks(*parts):
    """A base with one file of two rows for each letter, two forks of it, and the paths."""
    base = Line(World())
    paths = [base.append(part) for part in parts]
    return base, base.fork(), base.fork(), paths


both_ways = pytest.mark.parametrize("turned", [False, True], ids=["one into other", "other into one"])


def turn(turned, one, other):
    return (other, one) if turned else (one, other)


def conflicts(base, one, other, turned, **options):
    ours, theirs = turn(turned, one, other)
    merge_ = merge(base, ours, theirs, **options)
    if merge_.conflicts:
        assert (merge_.added, merge_.removed, merge_.changed, merge_.rewrites) == ((), (), (), ())
    return [conflict.what for conflict in merge_.conflicts]


def result(base, one, other, turned):
    """The paths after a merge without conflicts; its rows are what both sides left and what either added."""
    line, found = merged(base, *turn(turned, one, other))
    assert found == []
    assert line.rows() == expected_rows(base, one, other)
    return line.paths()


def expected_rows(base, one, other):
    before, left, right = base.rows(), one.rows(), other.rows()
    return (left & right) | (left - before) | (right - before)


# The matrix: append, overwrite, rows changed, compacted.


@both_ways
def test_appends_on_both_sides_merge(turned):
    base, one, other, [old] = forks("a")
    assert result(base, one, other, turned) == {old}
    new, newer = one.append("a"), other.append("a")
    assert result(base, one, other, turned) == {old, new, newer}


@both_ways
def test_an_append_into_what_was_overwritten_is_a_conflict(turned):
    base, one, other, _ = forks("a", "b")
    one.append("a")
    other.overwrite("a")
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_an_append_beside_what_was_overwritten_is_fine(turned):
    base, one, other, [_, kept] = forks("a", "b")
    added, written = one.append("b"), other.overwrite("a")
    assert result(base, one, other, turned) == {kept, added, written}


@both_ways
def test_an_append_and_changed_rows_merge(turned):
    base, one, other, [old] = forks("a")
    added, moved = one.append("a"), other.update(old)
    assert result(base, one, other, turned) == {old, added, moved}


@both_ways
def test_an_append_and_a_compaction_merge(turned):
    base, one, other, [first, second] = forks("a", "a")
    added, output = one.append("a"), other.compact(first, second)
    assert result(base, one, other, turned) == {added, output}


@both_ways
def test_overwrites_of_different_files_merge(turned):
    base, one, other, _ = forks("a", "b")
    assert result(base, one, other, turned) == base.paths()
    left, right = one.overwrite("a"), other.overwrite("b")
    assert result(base, one, other, turned) == {left, right}


@both_ways
@pytest.mark.parametrize("part", ["a", None], ids=["a part", "all"])
def test_overwrites_of_the_same_file_are_a_conflict(turned, part):
    base, one, other, _ = forks("a", "b")
    one.overwrite("a")
    other.overwrite(part)
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_changed_rows_of_what_was_overwritten_are_a_conflict(turned):
    base, one, other, [old, _] = forks("a", "b")
    one.overwrite("a")
    other.delete(old)
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_a_file_removed_on_one_side_and_overwritten_on_the_other_is_a_conflict(turned):
    base, one, other, [old, _] = forks("a", "b")
    one.overwrite("a")
    other.remove(old)
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_changed_rows_beside_what_was_overwritten_are_fine(turned):
    base, one, other, [_, kept] = forks("a", "b")
    written = one.overwrite("a")
    other.delete(kept)
    assert result(base, one, other, turned) == {kept, written}


@both_ways
def test_an_overwrite_that_removed_an_input_of_a_compaction_is_a_conflict(turned):
    base, one, other, [first, second, _] = forks("a", "a", "b")
    one.overwrite("a")
    other.compact(first, second)
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_an_overwrite_beside_a_compaction_is_fine(turned):
    base, one, other, [first, second, _] = forks("a", "a", "b")
    written, output = one.overwrite("b"), other.compact(first, second)
    assert result(base, one, other, turned) == {written, output}


@both_ways
def test_changed_rows_of_different_files_merge(turned):
    base, one, other, [first, second] = forks("a", "a")
    one.delete(first)
    moved = other.update(second)
    assert result(base, one, other, turned) == {first, second, moved}


@both_ways
@pytest.mark.parametrize("change", [Line.delete, Line.update, Line.rewrite, Line.remove])
def test_changed_rows_of_the_same_file_are_a_conflict(turned, change):
    base, one, other, [old] = forks("a")
    one.delete(old)
    change(other, old)
    assert conflicts(base, one, other, turned) == [f"file {old}"]


@both_ways
@pytest.mark.parametrize("change", [Line.remove, Line.rewrite])
def test_a_file_that_one_side_removed_and_the_other_wrote_anew_is_a_conflict(turned, change):
    """Else its rows would be back, or there twice."""
    base, one, other, [old] = forks("a")
    one.rewrite(old)
    change(other, old)
    assert conflicts(base, one, other, turned) == [f"file {old}"]


@both_ways
def test_a_file_that_one_side_updated_and_then_both_removed_is_a_conflict(turned):
    base, one, other, [old] = forks("a")
    one.update(old)
    one.remove(old)
    other.remove(old)
    assert conflicts(base, one, other, turned) == [f"file {old}"]


@both_ways
def test_a_file_that_both_sides_removed_is_gone(turned):
    base, one, other, [first, second] = forks("a", "a")
    one.remove(first)
    other.remove(first)
    assert result(base, one, other, turned) == {second}


@both_ways
@pytest.mark.parametrize("change", [Line.delete, Line.update, Line.rewrite, Line.remove])
def test_a_compaction_gives_way_for_the_groups_whose_inputs_were_changed(turned, change):
    base, one, other, [first, second, third, fourth] = forks("a", "a", "b", "b")
    one.compact(first, second)
    kept = one.compact(third, fourth)
    change(other, first)
    assert result(base, one, other, turned) == other.paths() - {third, fourth} | {kept}


@both_ways
def test_an_input_that_comes_back_has_the_deletes_that_it_had_when_it_was_compacted(turned):
    base, one, other, [first, second] = forks("a", "a")
    one.delete(second)
    vector = one.files[second].dv_path
    one.compact(first, second)
    other.delete(first)
    line, _ = merged(base, *turn(turned, one, other))
    assert (line.files[second].dv_path, line.files[first].dv_path) == (vector, other.files[first].dv_path)
    assert result(base, one, other, turned) == {first, second}


def test_the_delete_entries_of_a_compaction_say_which_deletes_its_inputs_had():
    base, one, other, [first, second] = forks("a", "a")
    one.delete(second)
    vector = one.files[second].dv_path
    one.compact(first, second)
    del one.deltas[0]
    other.delete(first)
    assert merged(base, one, other)[0].files[second].dv_path == vector


@both_ways
def test_an_appended_file_comes_back_from_a_compaction_that_gives_way(turned):
    base, one, other, [old] = forks("a")
    added = one.append("a")
    one.compact(old, added)
    other.delete(old)
    assert result(base, one, other, turned) == {old, added}


@both_ways
@pytest.mark.parametrize("change", [Line.delete, Line.update])
def test_changed_inputs_of_a_compaction_whose_outputs_were_changed_are_a_conflict(turned, change):
    base, one, other, [first, second] = forks("a", "a")
    change(one, one.compact(first, second))
    other.delete(first)
    assert conflicts(base, one, other, turned) == ["compaction"]


@both_ways
def test_a_changed_output_is_fine_if_nobody_changed_the_inputs(turned):
    base, one, other, [first, second, third] = forks("a", "a", "a")
    output = one.compact(first, second)
    one.delete(output)
    other.delete(third)
    assert result(base, one, other, turned) == {output, third}


@both_ways
def test_a_compaction_gives_way_to_another_whose_output_was_changed(turned):
    base, one, other, [first, second, third] = forks("a", "a", "a")
    output = one.compact(first, second)
    one.delete(output)
    other.compact(second, third)
    assert result(base, one, other, turned) == {output, third}


@both_ways
def test_a_chain_of_compactions_gives_way_as_far_as_it_must(turned):
    base, one, other, [first, second, third] = forks("a", "a", "a")
    middle = one.compact(first, second)
    last = one.compact(middle, third)
    assert result(base, one, other, turned) == {last}
    other.delete(third)
    assert result(base, one, other, turned) == {middle, third}
    other.delete(first)
    assert result(base, one, other, turned) == {first, second, third}


@both_ways
def test_a_chain_with_deletes_in_its_middle_is_a_conflict_with_changes_before_them(turned):
    base, one, other, [first, second, third] = forks("a", "a", "a")
    middle = one.compact(first, second)
    one.delete(middle)
    one.compact(middle, third)
    later = Line(other.world, other.files)
    later.delete(third)
    assert result(base, one, later, turned) == {middle, third}
    other.delete(first)
    assert conflicts(base, one, other, turned) == ["compaction"]


@both_ways
def test_a_compaction_that_left_no_rows_gives_way(turned):
    base, one, other, [old] = forks("a")
    one.delete(old, count=2)
    assert one.compact(old) is None
    assert result(base, one, other, turned) == set()
    other.delete(old)
    assert conflicts(base, one, other, turned) == [f"file {old}"]


def test_of_two_compactions_of_the_same_inputs_the_destinations_stays():
    base, one, other, [first, second] = forks("a", "a")
    mine, yours = one.compact(first, second), other.compact(first, second)
    assert result(base, one, other, False) == {mine}
    assert result(base, one, other, True) == {yours}


def test_of_two_compactions_with_some_inputs_in_common_the_destinations_stays():
    base, one, other, [first, second, third] = forks("a", "a", "a")
    mine, yours = one.compact(first, second), other.compact(second, third)
    assert result(base, one, other, False) == {mine, third}
    assert result(base, one, other, True) == {first, yours}


@both_ways
def test_two_changed_compactions_of_one_file_are_a_conflict(turned):
    base, one, other, [first, second, third] = forks("a", "a", "a")
    one.delete(one.compact(first, second))
    other.delete(other.compact(second, third))
    assert conflicts(base, one, other, turned) == ["compaction"]


@both_ways
def test_an_append_that_was_compacted_still_falls_in_what_was_overwritten(turned):
    base, one, other, [old, _] = forks("a", "b")
    one.compact(old, one.append("a"))
    other.overwrite("b")
    assert conflicts(base, one, other, turned) == []
    other.overwrite("a")
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_an_overwrite_of_a_compactions_output_is_one_of_its_inputs(turned):
    base, one, other, [first, second] = forks("a", "a")
    one.compact(first, second)
    one.overwrite("a")
    other.delete(first)
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_an_overwrite_that_was_undone_is_none(turned):
    base, one, other, [old] = forks("a")
    written = one.overwrite("a")
    one.commit("revert", added=base.copies([old]), removed=one.copies([written]))
    added = other.append("a")
    assert result(base, one, other, turned) == {old, added}


@both_ways
@pytest.mark.parametrize("shape", ["removes only", "adds only", "changes only"])
def test_an_append_into_an_overwrite_is_a_conflict_whatever_the_overwrite_found(turned, shape):
    base, one, other, [old] = forks("a")
    if shape == "removes only":
        one.commit("overwrite", removed=one.copies([old]))
    elif shape == "adds only":
        one.commit("overwrite", [one.world.file("a", [(0, 0)])])
    else:
        one.commit("overwrite", changed=[one.without(old, one.first_rows(old))])
    other.append("a")
    assert conflicts(base, one, other, turned) == ["overwrite"]


# Keys.


def keys_of(files):
    return {file.path for file in files}


@both_ways
def test_files_of_both_sides_that_share_keys_are_a_conflict(turned):
    base, one, other, [old] = forks("a")
    mine, yours = one.append("a"), other.update(old)
    asked = []

    def share(ours, theirs):
        asked.append([keys_of(ours), keys_of(theirs)])
        return True

    assert conflicts(base, one, other, turned, may_share_keys=share) == ["keys"]
    assert asked == [list(turn(turned, {mine}, {yours}))]
    assert conflicts(base, one, other, turned, may_share_keys=lambda ours, theirs: False) == []


@both_ways
def test_keys_of_a_compaction_are_those_of_the_rows_that_are_new_in_it(turned):
    base, one, other, [old, older] = forks("a", "a")
    added = one.append("a")
    one.delete(one.compact(old, added))
    yours = other.append("a")
    other.compact(older, yours)
    asked = []
    merge(base, *turn(turned, one, other), may_share_keys=lambda *sides: asked.append([*map(keys_of, sides)]))
    assert asked == [list(turn(turned, {added}, {yours}))]


def test_keys_are_not_asked_for_if_one_side_added_no_rows():
    base, one, other, [first, second] = forks("a", "a")
    one.append("a")
    other.compact(first, second)

    def never(ours, theirs):
        raise AssertionError("asked")

    assert merge(base, one, other, may_share_keys=never).conflicts == ()


# Files that both sides got since the base.


def pick(source, index, target):
    """Cherry-pick a delta of one line onto another."""
    before = Line(source.world, source.files)
    commit = source.deltas[index]
    after = Line(source.world, target.files)
    entries = {status: [f for f in commit.manifest.data_files if f.status == status] for status in (0, 1, 2)}
    after.commit("cherry_pick", *(entries[status] for status in (ADDED, DELETED, EXISTING)))
    target.files, copy = after.files, after.deltas[0]
    copy.manifest.rewrites.extend(commit.manifest.rewrites)
    target.deltas.append(copy)
    assert source.files == before.files


@both_ways
def test_a_cherry_picked_file_that_one_side_deleted_stays_deleted(turned):
    base, one, other, [old] = forks("a")
    added = one.append("a")
    pick(one, 0, other)
    ours, theirs = turn(turned, one, other)
    assert merged(base, ours, theirs)[0].paths() == {old, added}
    other.remove(added)
    line, found = merged(base, ours, theirs)
    assert (line.paths(), found) == ({old}, [])


@both_ways
def test_deletes_made_before_the_file_was_picked_are_not_undone_and_later_ones_come_over(turned):
    base, one, other, _ = forks("a")
    added = one.append("a", rows=3)
    one.delete(added)
    pick(one, 0, other)
    line, found = merged(base, *turn(turned, one, other))
    assert (line.files[added].dv_path, found) == (one.files[added].dv_path, [])
    pick(one, 1, other)
    other.delete(added)
    line, found = merged(base, *turn(turned, one, other))
    assert (line.files[added].dv_path, found) == (other.files[added].dv_path, [])


@both_ways
def test_a_file_counts_with_the_deletes_that_it_had_when_the_later_side_got_it(turned):
    """Merges that cross: the other side got the file with its deletes, and has taken them back since."""
    base, one, other, _ = forks("a")
    added = one.append("a")
    one.delete(added)
    other.commit("merge_branch", added=one.copies([added]))
    back = other.copies([added])
    for field in ("dv_path", "dv_offset", "dv_length"):
        back[0].ClearField(field)
    other.commit("revert", changed=back)
    line, found = merged(base, *turn(turned, one, other))
    assert (line.files[added].dv_path, found) == ("", [])


@both_ways
def test_deletes_that_came_with_a_file_are_not_undone_by_the_side_that_got_it_later_without_them(turned):
    base, one, other, _ = forks("a")
    elsewhere = base.fork()
    added = elsewhere.append("a")
    picked = elsewhere.copies([added])
    elsewhere.delete(added)
    one.commit("merge_branch", added=elsewhere.copies([added]))
    other.commit("cherry_pick", added=picked)
    line, found = merged(base, *turn(turned, one, other))
    assert (line.files[added].dv_path, found) == (elsewhere.files[added].dv_path, [])


@both_ways
def test_a_cherry_picked_compaction_that_one_side_took_back_stays_so(turned):
    base, one, other, [first, second] = forks("a", "a")
    output = one.compact(first, second)
    pick(one, 0, other)
    other.commit("revert", added=base.copies([first, second]), removed=other.copies([output]))
    line, found = merged(base, *turn(turned, one, other))
    assert (line.paths(), found) == ({first, second}, [])


@both_ways
def test_a_cherry_picked_overwrite_is_no_conflict_with_itself(turned):
    base, one, other, _ = forks("a", "b")
    written = one.overwrite()
    pick(one, 0, other)
    added = other.append("a")
    line, found = merged(base, *turn(turned, one, other))
    assert (line.paths(), found) == ({written, added}, [])


@both_ways
def test_a_cherry_picked_compaction_whose_output_one_side_changed_merges(turned):
    base, one, other, [first, second] = forks("a", "a")
    output = one.compact(first, second)
    pick(one, 0, other)
    other.delete(output)
    line, found = merged(base, *turn(turned, one, other))
    assert (line.paths(), found, line.rows()) == ({output}, [], other.rows())


@both_ways
def test_a_cherry_picked_rewrite_is_no_conflict_with_itself(turned):
    base, one, other, [old] = forks("a")
    new = one.rewrite(old)
    pick(one, 0, other)
    line, found = merged(base, *turn(turned, one, other))
    assert (line.paths(), found) == ({new}, [])


@both_ways
def test_rows_that_were_removed_from_an_output_do_not_come_back_by_the_inputs_for_which_it_gave_way(turned):
    start, one, other, [old, kept] = forks("a", "b")
    added = one.append("a")
    output = one.compact(old, added)
    other.delete(old)
    other.apply(merge(start, other, one))
    base, one = Line(one.world, one.files), Line(one.world, one.files)
    assert result(base, one, other, turned) == {old, kept, added}
    one.remove(output)
    assert conflicts(base, one, other, turned) == ["compaction"]
    for settle in SIDES:
        winner = turn(turned, one, other)[0 if settle is Settle.OURS else 1]
        assert merged(base, *turn(turned, one, other), settle)[0].paths() == winner.paths()


# Reverts: the base is the commit's state, theirs the state before it.


def revert(line, before, commit):
    """The line after reverting what led from `before` to `commit`, and the conflicts; all is of one line."""
    since = Line(line.world, line.files, line.deltas[len(commit.deltas) :])
    return merged(commit, since, Line(line.world, before.files))


def moment(line):
    return Line(line.world, line.files, line.deltas)


def test_a_revert_removes_a_file_that_was_compacted_since_and_brings_the_other_inputs_back():
    line = Line(World())
    kept = line.append("a")
    line.delete(kept)
    before = moment(line)
    undone = line.append("a")
    commit = moment(line)
    line.compact(kept, undone)
    later = line.append("a")
    reverted, found = revert(line, before, commit)
    assert (reverted.paths(), found) == ({kept, later}, [])
    assert reverted.files[kept].dv_path == before.files[kept].dv_path


def test_a_revert_of_a_file_whose_compaction_was_changed_since_is_a_conflict():
    line = Line(World())
    kept = line.append("a")
    before = moment(line)
    undone = line.append("a")
    commit = moment(line)
    line.delete(line.compact(kept, undone))
    assert revert(line, before, commit)[1] == ["compaction"]


def test_a_revert_of_a_delete_and_of_an_overwrite_bring_the_rows_back():
    line = Line(World())
    old = line.append("a")
    before = moment(line)
    line.delete(old)
    commit = moment(line)
    line.append("b")
    reverted, found = revert(line, before, commit)
    assert (found, reverted.rows() - line.rows()) == ([], before.rows() - commit.rows())
    line.overwrite("a")
    overwritten = moment(line)
    later = line.append("b")
    reverted, found = revert(line, commit, overwritten)
    assert (found, reverted.paths()) == ([], {old, later})


def test_a_revert_of_a_compaction_brings_its_inputs_back():
    line = Line(World())
    paths = {line.append("a"), line.append("a")}
    before = moment(line)
    output = line.compact(*paths)
    commit = moment(line)
    assert revert(line, before, commit)[0].paths() == paths
    line.delete(output)
    assert revert(line, before, commit)[1] == [f"file {output}"]


# What an answer is made of.


def test_entries_have_their_status_and_keep_the_ids_and_sequences_of_their_rows():
    base, one, other, [first, second, third] = forks("a", "a", "b")
    other.delete(first)
    other.remove(second)
    added = other.append("b")
    one.compact(third)
    answer = merge(base, one, other)
    assert [(file.path, file.status) for file in answer.changed] == [(first, EXISTING)]
    assert [(file.path, file.status) for file in answer.removed] == [(second, DELETED)]
    [entry] = answer.added
    assert (entry.path, entry.status, entry.first_row_id, entry.seq_min, entry.seq_max) == (added, ADDED, 1000, 7, 8)


def test_a_compaction_that_comes_over_brings_its_groups_with_their_first_inputs():
    base, one, other, [first, second, third] = forks("a", "a", "a")
    output = other.compact(other.compact(first, second), third)
    answer = merge(base, one, other)
    assert answer.rewrites == (pb.Rewrite(inputs=sorted([first, second, third]), outputs=[output]),)
    assert merge(base, other, one) == FileMerge()


def test_a_compaction_that_says_no_groups_is_one_group():
    base, one, other, [first, second] = forks("a", "a")
    one.compact(first, second)
    one.deltas[0].manifest.ClearField("rewrites")
    other.delete(first)
    assert result(base, one, other, False) == {first, second}


def test_a_compaction_of_a_file_that_no_delta_shows_is_not_undone():
    """It came by a merge, with a file in it that was only ever on the other side."""
    base, one, other, [first, second] = forks("a", "a")
    output = one.compact(first, second)
    one.deltas[0].manifest.rewrites[0].inputs.append("elsewhere")
    assert merged(base, one, other)[0].paths() == {output}
    other.delete(first)
    assert conflicts(base, one, other, False) == ["compaction"]


def test_a_conflict_says_what_each_side_has():
    base, one, other, [old] = forks("a")
    one.delete(old)
    other.remove(old)
    deletes = f"deletes of {one.files[old].dv_path} at 4"
    assert merge(base, one, other).conflicts == (FileConflict(f"file {old}", "without deletes", deletes, "not there"),)
    base, one, other, [old] = forks("a")
    one.overwrite("a")
    added = other.append("a")
    assert merge(base, one, other).conflicts == (FileConflict("overwrite", "", "overwrote a", f"added {added}"),)


# Settling.


@pytest.mark.parametrize("settle", SIDES)
def test_a_conflicting_file_takes_the_winners_state(settle):
    base, one, other, [old, beside] = forks("a", "a")
    one.delete(old)
    other.remove(old)
    other.remove(beside)
    line, found = merged(base, one, other, settle)
    assert found == [f"file {old}"]
    assert line.paths() == ({old} if settle is Settle.OURS else set())


@pytest.mark.parametrize("settle", SIDES)
def test_an_update_that_loses_a_file_loses_its_new_rows_and_its_other_files_too(settle):
    base, one, other, [first, second] = forks("a", "a")
    one.update(first)
    other.update(first, second)
    line, found = merged(base, one, other, settle)
    assert found == [f"file {first}"]
    assert line.rows() == (one if settle is Settle.OURS else other).rows()


def test_an_overwrite_that_wins_leaves_out_what_was_appended_to_it():
    base, one, other, [_, kept] = forks("a", "b")
    written = one.overwrite("a")
    other.append("a")
    beside = other.append("b")
    assert merged(base, one, other, Settle.OURS)[0].paths() == {written, kept, beside}
    assert merged(base, other, one, Settle.THEIRS)[0].paths() == {written, kept, beside}


def test_an_append_that_wins_stays_beside_what_the_overwrite_wrote():
    base, one, other, [_, kept] = forks("a", "b")
    written, added = one.overwrite("a"), other.append("a")
    assert merged(base, one, other, Settle.THEIRS)[0].paths() == {written, kept, added}
    assert merged(base, other, one, Settle.OURS)[0].paths() == {written, kept, added}


@pytest.mark.parametrize("settle", SIDES)
def test_an_overwrite_that_loses_a_file_has_not_been(settle):
    base, one, other, _ = forks("a", "a")
    one.overwrite()
    other.overwrite("a")
    line, _ = merged(base, one, other, settle)
    assert line.paths() == (one if settle is Settle.OURS else other).paths()


def test_an_overwrite_without_rows_that_loses_a_file_has_not_been():
    base, one, other, [first, second] = forks("a", "a")
    one.delete(first)
    other.commit("overwrite", removed=other.copies([first, second]))
    assert merged(base, one, other, Settle.OURS)[0].paths() == {first, second}
    assert merged(base, one, other, Settle.THEIRS)[0].paths() == set()


def test_appends_that_lose_take_a_changed_compaction_of_them_along():
    base, one, other, _ = forks("b")
    output = one.compact(one.append("a"), one.append("a"))
    one.delete(output)
    other.overwrite("a")
    assert merged(base, one, other, Settle.THEIRS)[0].paths() == other.paths()
    assert merged(base, one, other, Settle.OURS)[0].paths() == one.paths() | other.paths()


def test_files_that_lose_their_keys_are_left_out():
    base, one, other, [old] = forks("a")
    mine, yours = one.append("a"), other.update(old)
    share = {"may_share_keys": lambda ours, theirs: True}
    assert merged(base, one, other, Settle.OURS, **share)[0].paths() == {old, mine}
    line, _ = merged(base, one, other, Settle.THEIRS, **share)
    assert (line.paths(), line.rows()) == ({old, yours}, other.rows())


@pytest.mark.parametrize("settle", SIDES)
def test_all_files_of_a_conflicting_compaction_take_the_winners_state(settle):
    base, one, other, [first, second, beside] = forks("a", "a", "b")
    output = one.compact(first, second, one.append("a"))
    one.delete(output)
    other.delete(first)
    line, _ = merged(base, one, other, settle)
    assert line.paths() == ({output, beside} if settle is Settle.OURS else {first, second, beside})
    assert line.rows() == (one if settle is Settle.OURS else other).rows()


# Any history.

choices = st.integers(0, 99)
steps = st.tuples(
    st.sampled_from(["append", "append", "delete", "remove", "update", "rewrite", "overwrite", "compact", "compact"]),
    choices,
)


def take(line, step):
    """Do one step with what the line has; the number chooses."""
    name, number = step
    part = "ab"[number % 2]
    paths = sorted(path for path in line.files if path[0] == part)
    if name == "append":
        line.append(part, rows=1 + number % 3)
    elif name == "overwrite":
        line.overwrite([None, "a", "b"][number % 3])
    elif name == "compact" and paths:
        line.compact(*paths[number % len(paths) :][: 2 + number % 2])
    elif name == "remove" and paths:
        line.remove(paths[number % len(paths)])
    elif paths and line.first_rows(path := paths[number % len(paths)]):
        {"delete": line.delete, "update": line.update, "rewrite": line.rewrite}.get(name, line.delete)(path)


@st.composite
def three(draw):
    """A base and its two forks, after some steps on each."""
    base = Line(World())
    for step in draw(st.lists(steps, min_size=1, max_size=6)):
        take(base, step)
    one, other = base.fork(), base.fork()
    for line in (one, other):
        for step in draw(st.lists(steps, max_size=4)):
            take(line, step)
    return base, one, other


def no_key_twice(line):
    keys = Counter(key for key, _ in line.rows().elements())
    return keys.total() == len(keys)


def turned_round(conflict):
    return FileConflict(conflict.what, conflict.base, conflict.theirs, conflict.ours)


@given(three())
def test_a_merge_with_a_side_that_did_nothing_is_the_other_side(lines):
    base, one, other = lines
    assert merge(base, one, base.fork()) == FileMerge()
    line, found = merged(base, base.fork(), other)
    assert (line.files.keys(), line.rows(), found) == (other.files.keys(), other.rows(), [])


@settings(max_examples=300)
@given(three())
def test_a_merge_without_conflicts_has_the_rows_that_both_left_and_either_added_whichever_way(lines):
    base, one, other = lines
    forth, back = merge(base, one, other), merge(base, other, one)
    assert set(forth.conflicts) == {turned_round(conflict) for conflict in back.conflicts}
    if not forth.conflicts:
        assert merged(base, one, other)[0].rows() == expected_rows(base, one, other)
        assert merged(base, other, one)[0].rows() == expected_rows(base, one, other)


@settings(max_examples=300)
@given(three(), st.sampled_from(SIDES))
def test_a_settled_merge_keeps_what_the_winner_did_and_has_no_row_twice(lines, settle):
    base, one, other = lines
    winner = one if settle is Settle.OURS else other
    answer = merge(base, one, other, settle)
    line, _ = merged(base, one, other, settle)
    assert answer.conflicts == merge(base, one, other).conflicts
    assert winner.rows() - base.rows() <= line.rows()
    assert not (base.rows() - winner.rows()) & line.rows()
    assert no_key_twice(line)


@given(three())
def test_a_merge_changes_nothing_that_it_was_given(lines):
    base, one, other = lines
    given_ = [base.files, one.side(), other.side()]
    before = [repr(value) for value in given_]
    merge_files(*given_, Settle.OURS, falls_in=falls_in)
    assert [repr(value) for value in given_] == before


# Found by longer runs: rows that were there twice, or came back, after merges that gave way or were settled.
HARD = [
    "0 compact 0,1 delete 0,3,0 remove 0,2",
    "0 append 0,0 compact 0,1 delete 0,3,0 delete 0,3,2",
    "0 compact 55,1 compact 7,1 append 6,3,3,1 delete 11,0 remove 97,2",
    "1 compact 50,3,1 compact 5,0 update 74,1 rewrite 4,0 delete 23,3,0 compact 41,0 rewrite 34,1 compact 17,2",
    "1 delete 75,0 delete 87,2,1 update 33,1 compact 54,0 rewrite 10,0 compact 77,2,1 remove 68,0 remove 16,3",
    "0 rewrite 32,0 rewrite 47,1 compact 65,1 delete 27,1 delete 80,3,0 remove 50,0 delete 41,2,2,1 compact 20,3",
    "2,1 rewrite 40,3,1 rewrite 43,0 rewrite 99,2,1 delete 70,1 remove 9,3,2,0 rewrite 76",
]


@pytest.mark.parametrize("settle", SIDES)
@pytest.mark.parametrize("text", HARD)
def test_a_history_that_once_went_wrong_goes_right(text, settle):
    words = [[*step.split(), "", "0"] for step in text.split(",")]
    check_history([(int(which), (name, int(number))) for which, name, number, *_ in words], settle)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 3), steps), max_size=24), st.sampled_from(SIDES))
def test_lines_that_merge_again_and_again_have_the_right_rows_and_gain_nothing_by_merging_twice(history, settle):
    check_history(history, settle)


def check_history(history, settle):
    """Lines 0 and 1 take steps; 2 and 3 merge one into the other, which is then the base of what comes."""
    start = Line(World())
    start.append("a"), start.append("b")
    lines, base = [start.fork(), start.fork()], start.fork()
    for which, step in history:
        if which < 2:
            take(lines[which], step)
            continue
        into, source = lines[which - 2], lines[3 - which]
        answer = merge(base, into, source, settle)
        if not answer.conflicts:
            wanted = expected_rows(base, into, source)
        into.apply(answer)
        assert answer.conflicts or into.rows() == wanted
        assert no_key_twice(into)
        base, source.deltas = Line(start.world, source.files), []
        assert merge(base, into, source) == FileMerge()
