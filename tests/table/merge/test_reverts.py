"""Reverts are merges of files: the base is the state after the commit, theirs the one before it."""

from tests.support.file_lines import Line, World, merged


def revert(line, before, commit):
    """The line after reverting what led from `before` to `commit`, and the conflicts; all is of one line."""
    since = Line(line.world, line.files, line.deltas[len(commit.deltas) :])
    return merged(commit, since, Line(line.world, before.files))


def test_a_revert_removes_a_file_that_was_compacted_since_and_brings_the_other_inputs_back():
    line = Line(World())
    kept = line.append("a")
    line.delete(kept)
    before = line.moment()
    undone = line.append("a")
    commit = line.moment()
    line.compact(kept, undone)
    later = line.append("a")
    reverted, found = revert(line, before, commit)
    assert (reverted.paths(), found) == ({kept, later}, [])
    assert reverted.files[kept].dv_path == before.files[kept].dv_path


def test_a_revert_of_a_file_whose_compaction_was_changed_since_is_a_conflict():
    line = Line(World())
    kept = line.append("a")
    before = line.moment()
    undone = line.append("a")
    commit = line.moment()
    line.delete(line.compact(kept, undone))
    assert revert(line, before, commit)[1] == ["compaction"]


def test_a_revert_of_a_delete_and_of_an_overwrite_bring_the_rows_back():
    line = Line(World())
    old = line.append("a")
    before = line.moment()
    line.delete(old)
    commit = line.moment()
    line.append("b")
    reverted, found = revert(line, before, commit)
    assert (found, reverted.rows() - line.rows()) == ([], before.rows() - commit.rows())
    line.overwrite("a")
    overwritten = line.moment()
    later = line.append("b")
    reverted, found = revert(line, commit, overwritten)
    assert (found, reverted.paths()) == ([], {old, later})


def test_a_revert_of_a_compaction_brings_its_inputs_back():
    line = Line(World())
    paths = {line.append("a"), line.append("a")}
    before = line.moment()
    output = line.compact(*paths)
    commit = line.moment()
    assert revert(line, before, commit)[0].paths() == paths
    line.delete(output)
    assert revert(line, before, commit)[1] == [f"file {output}"]
