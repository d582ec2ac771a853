"""The conflicts among the files of two sides of a merge, and which files each conflict takes from its loser."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lakebed.table.manifest import manifest_pb2 as pb
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING
from lakebed.table.merge.compactions import Group, Uncompacted
from lakebed.table.merge.sides import Files, SideDelta, described, paths_of, state

FallsIn: TypeAlias = Callable[[pb.DataFileRef, SideDelta], bool]
MayShareKeys: TypeAlias = Callable[[Sequence[pb.DataFileRef], Sequence[pb.DataFileRef]], bool]


@dataclass(frozen=True, slots=True)
class FileConflict:
    """One thing that both sides changed, as text: `file <path>`, `overwrite`, `compaction` or `keys`."""

    what: str
    base: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Clash:
    """A conflict, and the files that take the winner's state: those if ours wins, and those if theirs does."""

    conflict: FileConflict
    if_ours: frozenset[str]
    if_theirs: frozenset[str]


def clashes(
    base: Files, ours: Uncompacted, theirs: Uncompacted, falls_in: FallsIn, may_share_keys: MayShareKeys | None
) -> list[Clash]:
    """Every conflict, each file in one of them only, but for `keys`."""
    found = [*_compactions(base, ours, theirs), *_overwrites(base, ours, theirs, falls_in)]
    seen = frozenset[str]().union(*(clash.if_ours & clash.if_theirs for clash in found))
    found += _files(base, ours, theirs, seen)
    if may_share_keys is not None:
        found += _keys(base, ours, theirs, may_share_keys)
    return found


def links(loser: Uncompacted) -> Iterator[frozenset[str]]:
    """The files of a loser that can only take the winner's state together.

    A delta that changed rows and added files has moved rows: half of it would lose them, or have them twice. So has one
    that took rows away and brought deleted ones back, as the revert of an update does.
    """
    both = zip(loser.deltas, loser.given_back, strict=True)
    moved = [_files_of(delta) for delta, back in both if _moves_rows(delta, back)]
    yield from moved
    yield from loser.scopes()
    if not_taken := _files_of(loser.deltas[0]):
        # What the side did not take of the base may have lost to its own changes, in a merge that was settled before.
        yield not_taken.union(loser.changed - _appended(loser), *moved)


def _appended(side: Uncompacted) -> set[str]:
    """What came by deltas that only added files."""
    apart = (delta for delta in side.deltas if not delta.paths(EXISTING, DELETED) and not delta.rewrites())
    return {path for delta in apart for path in delta.paths(ADDED)}


def _moves_rows(delta: SideDelta, given_back: frozenset[str]) -> bool:
    changed, added = delta.moves()
    return bool(changed and (added or delta.overwrites)) or bool(given_back and changed - given_back)


def _files_of(delta: SideDelta) -> frozenset[str]:
    return frozenset[str]().union(*delta.moves())


def reached(paths: Iterable[str], linked: Iterable[frozenset[str]]) -> frozenset[str]:
    """The paths, and all that is linked to them, over any number of links."""
    by_path: dict[str, list[frozenset[str]]] = {}
    for link in linked:
        for path in link:
            by_path.setdefault(path, []).append(link)
    found, left = set(paths), list(paths)
    while left:
        for link in by_path.pop(left.pop(), ()):
            left += link - found
            found |= link
    return frozenset(found)


def _joined(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """The sets, with those that have something in common made one."""
    result: list[frozenset[str]] = []
    for one in sets:
        apart = [other for other in result if not one & other]
        one = one.union(*(other for other in result if one & other))
        result = [*apart, one]
    return result


def _compactions(base: Files, ours: Uncompacted, theirs: Uncompacted) -> Iterator[Clash]:
    """Compactions whose outputs were changed since, and whose inputs the other side changed."""
    touched = _stuck_inputs(ours) & theirs.changed | _stuck_inputs(theirs) & ours.changed
    scopes = [side.scope(group) for side in (ours, theirs) for group in side.stuck]
    for scope in _joined(scopes):
        if scope & touched:
            paths = sorted(scope & touched)
            texts = [_state_text(files, paths) for files in (base, ours.files, theirs.files)]
            yield Clash(FileConflict("compaction", *texts), scope, scope)


def _stuck_inputs(side: Uncompacted) -> frozenset[str]:
    return frozenset[str]().union(*(side.sources(group.outputs) for group in side.stuck))


def _overwrites(base: Files, ours: Uncompacted, theirs: Uncompacted, falls_in: FallsIn) -> Iterator[Clash]:
    """What one side overwrote and the other changed, compacted or added to: one conflict for all of it."""
    by_ours, by_theirs = _in_force(ours, theirs), _in_force(theirs, ours)
    touched = _touched(base, by_ours, ours, theirs) | _touched(base, by_theirs, theirs, ours)
    theirs_in = _falling(own_rows(base, theirs), by_ours, falls_in)
    ours_in = _falling(own_rows(base, ours), by_theirs, falls_in)
    if touched or theirs_in or ours_in:
        ours_text = _overwrite_text(by_ours, touched, ours_in)
        theirs_text = _overwrite_text(by_theirs, touched, theirs_in)
        conflict = FileConflict("overwrite", _state_text(base, sorted(touched)), ours_text, theirs_text)
        yield Clash(conflict, touched | theirs_in, touched | ours_in)


def _in_force(side: Uncompacted, other: Uncompacted) -> list[SideDelta]:
    """The overwrites of a side that were not undone since, and that the other side has not got too."""
    got = set(other.entries)
    return [delta for delta in side.deltas if delta.overwrites and _shows(delta, side) and _is_new(delta, got)]


def _is_new(delta: SideDelta, got: set[str]) -> bool:
    added = delta.paths(ADDED)
    return not added or not added <= got


def _shows(delta: SideDelta, side: Uncompacted) -> bool:
    gone = any(side.sources([path]).isdisjoint(side.files) for path in delta.paths(DELETED))
    there = any(not side.sources([path]).isdisjoint(side.files) for path in delta.paths(ADDED))
    changed = not side.changed.isdisjoint(side.sources(delta.paths(EXISTING)))
    return gone or there or changed


def _touched(base: Files, overwrites: Iterable[SideDelta], side: Uncompacted, other: Uncompacted) -> frozenset[str]:
    """The files of the base that the overwrites removed or changed, and that the other side changed or compacted."""
    replaced = side.sources(path for delta in overwrites for path in delta.paths(DELETED, EXISTING))
    return replaced & base.keys() & (other.changed | other.compacted())


def _falling(files: Sequence[pb.DataFileRef], overwrites: Sequence[SideDelta], falls_in: FallsIn) -> frozenset[str]:
    return paths_of(file for file in files if any(falls_in(file, delta) for delta in overwrites))


def _overwrite_text(overwrites: Sequence[SideDelta], touched: frozenset[str], added: frozenset[str]) -> str:
    texts = [f"overwrote {one.manifest.overwritten or 'all rows'}" for one in overwrites]
    if added:
        texts.append(f"added {', '.join(sorted(added))}")
    return "; ".join(texts) or f"changed {', '.join(sorted(touched))}"


def own_rows(base: Files, side: Uncompacted) -> list[pb.DataFileRef]:
    """The files with which a side added rows, or of which it brought deleted ones back.

    Of a compaction that can't be undone they are those that went into it.
    """
    outputs = {path for group in side.stuck for path in group.outputs}
    back = frozenset[str]().union(*side.given_back) & side.changed
    own = [file for path, file in side.files.items() if (path not in base and path not in outputs) or path in back]
    return own + [file for group in side.stuck for file in _rows_of(group, base, side)]


def _rows_of(group: Group, base: Files, side: Uncompacted) -> list[pb.DataFileRef]:
    sources = sorted(_beyond(base, side.sources(group.outputs)))
    if any(path not in side.entries for path in sources):
        return [side.files[path] for path in group.outputs if path in side.files]
    return [side.entries[path] for path in sources]


def _files(base: Files, ours: Uncompacted, theirs: Uncompacted, seen: frozenset[str]) -> Iterator[Clash]:
    """Files that both changed: not alike, or both removed them, and one had moved rows of them elsewhere."""
    moved = _moved(base, ours) | _moved(base, theirs)
    for path in sorted((ours.changed & theirs.changed) - seen):
        versions = [files.get(path) for files in (base, ours.files, theirs.files)]
        if state(versions[1]) != state(versions[2]) or (path in moved and versions[1] is None):
            conflict = FileConflict(f"file {path}", *(described(file) for file in versions))
            yield Clash(conflict, frozenset([path]), frozenset([path]))


def _moved(base: Files, side: Uncompacted) -> frozenset[str]:
    """The files from which the side moved rows to others, but for moves that both sides have."""
    moves = [delta.moves() for delta in side.deltas]
    moved = {path for changed, added in moves if _beyond(base, added) for path in changed}
    for (changed, _), back in zip(moves, side.given_back, strict=True):
        moved |= changed - back if back & side.changed else set()
    if _beyond(base, side.changed - _appended(side)):
        moved |= moves[0][0]  # what the side did not take of the base: its rows may be in what it has instead
    return side.sources(moved)


def _beyond(base: Files, paths: Iterable[str]) -> set[str]:
    """The paths that the base does not have; unlike a difference of sets, at the cost of the paths alone."""
    return {path for path in paths if path not in base}


def _keys(base: Files, ours: Uncompacted, theirs: Uncompacted, may_share_keys: MayShareKeys) -> Iterator[Clash]:
    own, other = own_rows(base, ours), own_rows(base, theirs)
    if own and other and may_share_keys(own, other):
        conflict = FileConflict("keys", "none", _added_text(own), _added_text(other))
        yield Clash(conflict, paths_of(other), paths_of(own))


def _added_text(files: Sequence[pb.DataFileRef]) -> str:
    return f"added {', '.join(file.path for file in files)}"


def _state_text(files: Files, paths: Sequence[str]) -> str:
    return "; ".join(f"{path} {described(files.get(path))}" for path in paths)
