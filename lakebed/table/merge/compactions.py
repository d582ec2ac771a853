"""The compactions of one side of a merge: undone before files are compared, then done again where possible.

With outputs replaced by their inputs, files merge as if nobody had compacted. A compaction is then done again if the
merge left its inputs as they were when it was made; otherwise it gives way.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lakebed.table.manifest import manifest_pb2 as pb
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING, replaced, with_status
from lakebed.table.merge.sides import Files, Side, SideDelta, has_fewer_deletes, paths_of, state

_VECTOR = ("dv_path", "dv_offset", "dv_length", "deleted_rows")


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Outputs that replace inputs, each file as it was in the compaction; None if the side's deltas don't show it."""

    inputs: Mapping[str, pb.DataFileRef | None]
    outputs: Mapping[str, pb.DataFileRef | None]


@dataclass(frozen=True, slots=True)
class Uncompacted:
    """A side with its compactions undone. `stuck` can't be undone, since their outputs were changed later.

    `groups` are all compactions, `undone` those undone, both oldest first. `entries` has the last known entry of each
    file; `changed` are the files that differ from the base. The first of the `deltas` has the differences that no delta
    of the side explains. For each delta, `given_back` has the files whose deleted rows it restored.
    """

    files: Files
    changed: frozenset[str]
    deltas: Sequence[SideDelta]
    given_back: Sequence[frozenset[str]]
    groups: Sequence[Group]
    made_of: Mapping[str, frozenset[str]]
    undone: Sequence[Group]
    stuck: Sequence[Group]
    entries: Files

    def sources(self, paths: Iterable[str]) -> frozenset[str]:
        """The files that were compacted into these, over any number of steps; a file that was not compacted is its own.

        Groups may come in any order: a merge states the groups that gave way after those that they gave way to.
        """
        seen: set[str] = set()
        ends: set[str] = set()
        left = list(paths)
        while left:
            path = left.pop()
            if path not in seen:
                seen.add(path)
                left += self.made_of.get(path, ())
                if path not in self.made_of:
                    ends.add(path)
        return frozenset(ends or seen)  # a compaction that gave way and was cherry-picked later makes a cycle

    def scope(self, group: Group) -> frozenset[str]:
        """All files of a group, with their sources."""
        return self.sources(group.outputs) | group.inputs.keys() | group.outputs.keys()

    def scopes(self) -> Iterator[frozenset[str]]:
        """The scope of each group that is not undone."""
        undone = frozenset(self.undone)
        return (self.scope(group) for group in self.groups if group not in undone)

    def compacted(self) -> frozenset[str]:
        """The inputs of all undone groups."""
        return frozenset(path for group in self.undone for path in group.inputs)


def uncompacted(side: Side, base: Files) -> Uncompacted:
    """The side with its compactions since the base undone, newest first, where the outputs are unchanged."""
    groups, entries = _groups(side, base)
    files = dict(side.files)
    undone: list[Group] = []
    stuck: list[Group] = []
    for group in reversed(groups):
        if _is_in_force(group, files):
            _replace(files, group.outputs, group.inputs)
            undone.append(group)
        elif files.keys() & group.outputs.keys():
            stuck.append(group)
    undone.reverse()
    changed = _changed(base, files)
    deltas = [_unexplained(base, files, changed, side.deltas), *side.deltas]
    given_back = list(_given_back(deltas, base))
    return Uncompacted(files, changed, deltas, given_back, groups, _made_of(groups), undone, stuck, entries)


def compact_again(files: Files, groups: Iterable[Group]) -> tuple[dict[str, pb.DataFileRef], list[Group]]:
    """The files with the groups done again, oldest first, whose inputs are unchanged; and these groups."""
    done: list[Group] = []
    result = dict(files)
    for group in groups:
        if all(state(result.get(path)) == state(file) for path, file in group.inputs.items()):
            _replace(result, group.inputs, group.outputs)
            done.append(group)
    return result, done


def moving_only(files: Files, groups: Iterable[Group]) -> list[Group]:
    """The groups that a delta onto these files may state as compactions: those of files as they are there.

    A compaction that comes with deletes of its side, or of files that are new here, does more than move rows: who undid
    it by this delta would bring deleted rows back.
    """
    found: list[Group] = []
    made: dict[str, pb.DataFileRef | None] = {}
    for group in groups:
        if all(state(made.get(path, files.get(path))) == state(file) for path, file in group.inputs.items()):
            made |= group.outputs
            found.append(group)
    return found


def net_rewrites(groups: Iterable[Group]) -> list[pb.Rewrite]:
    """The groups as one manifest states them: several compactions of the same rows have only their first inputs."""
    net: list[tuple[set[str], set[str]]] = []
    for group in groups:
        inputs, outputs = set(group.inputs), set(group.outputs)
        for earlier in [pair for pair in net if pair[1] & inputs]:
            net.remove(earlier)
            inputs, outputs = earlier[0] | (inputs - earlier[1]), (earlier[1] - inputs) | outputs
        net.append((inputs, outputs))
    return [pb.Rewrite(inputs=sorted(inputs), outputs=sorted(outputs)) for inputs, outputs in net]


def reversed_rewrites(groups: Iterable[Group]) -> list[pb.Rewrite]:
    """Groups that gave way, as the merge states them: with inputs and outputs swapped.

    So a later merge with those outputs in its base knows where their rows are. It treats such a group as a changed one,
    since its outputs are not new files of its manifest.
    """
    swapped = [(sorted(group.outputs), sorted(group.inputs)) for group in groups if group.outputs]
    return [pb.Rewrite(inputs=inputs, outputs=outputs) for inputs, outputs in sorted(swapped)]


def _made_of(groups: Iterable[Group]) -> dict[str, frozenset[str]]:
    """(output) -> the inputs of all groups that it is an output of"""
    made_of: dict[str, frozenset[str]] = {}
    for group in groups:
        for path in group.outputs:
            made_of[path] = made_of.get(path, frozenset()) | group.inputs.keys()
    return made_of


def _changed(base: Files, files: Files) -> frozenset[str]:
    # Sides mostly share their messages with the base; only different messages are compared.
    suspects = (path for path in base.keys() | files.keys() if base.get(path) is not files.get(path))
    return frozenset(path for path in suspects if state(base.get(path)) != state(files.get(path)))


def _unexplained(base: Files, files: Files, changed: Iterable[str], deltas: Sequence[SideDelta]) -> SideDelta:
    """The differences between a side and the base that no delta explains.

    They occur if a side merged the base and did not take all of it, and for the state before a reverted commit.
    """
    explained = {(file.path, file.status) for delta in deltas for file in delta.manifest.data_files}
    entries = []
    for path in changed:
        status = DELETED if path not in files else EXISTING if path in base else ADDED
        if (path, status) not in explained:
            entries.append(with_status(base[path] if status == DELETED else files[path], status))
    return SideDelta("", pb.Manifest(data_files=entries), None)


def _given_back(deltas: Iterable[SideDelta], base: Files) -> Iterator[frozenset[str]]:
    """For each delta, the files whose deletion vectors it shrank, as reverts, restores and resets do."""
    last: dict[str, pb.DataFileRef] = {}
    for delta in deltas:
        entries = [file for file in delta.manifest.data_files if file.status != DELETED]
        restored = (file for file in entries if has_fewer_deletes(file, last.get(file.path, base.get(file.path))))
        yield frozenset(file.path for file in restored)
        last.update((file.path, file) for file in entries)


def _groups(side: Side, base: Files) -> tuple[list[Group], Files]:
    entries = dict(base)
    groups: list[Group] = []
    for position, delta in enumerate(side.deltas):
        listed = {file.path: file for file in delta.manifest.data_files}
        before = {path: _as_deleted(entries.get(path), file) for path, file in listed.items() if file.status == DELETED}
        for rewrite in delta.rewrites():
            inputs = {path: before.get(path) or entries.get(path) for path in rewrite.inputs}
            group = Group(inputs, {path: listed.get(path) for path in rewrite.outputs})
            if not base.keys() & group.outputs.keys() and (
                rewrite.outputs or _lasts(group, side.deltas[position + 1 :])
            ):
                groups.append(group)
        entries.update(before)
        entries.update((path, file) for path, file in listed.items() if file.status != DELETED)
    return groups, entries


def _as_deleted(known: pb.DataFileRef | None, entry: pb.DataFileRef) -> pb.DataFileRef:
    """The file as it was when it was deleted: a delete entry states the deletion vector, the rest is known."""
    if known is None or state(known) == state(entry):
        return known or entry
    return replaced(known, **{name: getattr(entry, name) if entry.HasField(name) else None for name in _VECTOR})


def _lasts(group: Group, later: Sequence[SideDelta]) -> bool:
    """Whether a group without outputs, which leaves no other trace, is still the reason that its inputs are gone."""
    return not any(group.inputs.keys() & paths_of(delta.manifest.data_files) for delta in later)


def _is_in_force(group: Group, files: Files) -> bool:
    as_written = all(file is not None and state(files.get(path)) == state(file) for path, file in group.outputs.items())
    return as_written and _keeps_rows(group) and not files.keys() & group.inputs.keys()


def _keeps_rows(group: Group) -> bool:
    """Whether all inputs are known, and the outputs have as many rows, as far as deleted rows are counted.

    If they have fewer, the delta of a merge deleted rows and stated the compaction that came with it.
    """
    inputs = [file for file in group.inputs.values() if file is not None]
    outputs = [file for file in group.outputs.values() if file is not None]
    is_counted = all(file.HasField("deleted_rows") or not file.dv_path for file in (*inputs, *outputs))
    rows = [sum(file.num_rows - file.deleted_rows for file in files) for files in (inputs, outputs)]
    return len(inputs) == len(group.inputs) and (rows[0] == rows[1] or not is_counted)


def _replace(files: dict[str, pb.DataFileRef], old: Iterable[str], new: Mapping[str, pb.DataFileRef | None]) -> None:
    for path in old:
        del files[path]
    files.update((path, file) for path, file in new.items() if file is not None)
