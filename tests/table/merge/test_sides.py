"""Merges of files that both sides got since the base, by cherry-picks, and what they did to them then."""

from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING
from lakebed.table.merge.strategy import Settle
from tests.support.file_lines import (
    SIDES,
    Line,
    both_ways,
    conflicts,
    forks,
    merge,
    merged,
    result,
    turn,
)


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
