"""The conflicts between the files of two sides of a merge, and the files that the loser of each gives up."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lakebed.table.manifest import manifest_pb2 as pb
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING
from lakebed.table.merge.compactions import Group, Uncompacted
from lakebed.table.merge.sides import Files, SideDelta, paths_of, state, state_text

FallsIn: TypeAlias = Callable[[pb.DataFileRef, SideDelta], bool]
MayShareKeys: TypeAlias = Callable[[Sequence[pb.DataFileRef], Sequence[pb.DataFileRef]], bool]


@dataclass(frozen=True, slots=True)
class FileConflict:
    """A thing that both sides changed, as text. `what` is `file <path>`, `overwrite`, `compaction` or `keys`."""

    what: str
    base: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Clash:
    """A conflict, and the files that take the winner's state: if ours wins, and if theirs does."""

    conflict: FileConflict
    if_ours: frozenset[str]
    if_theirs: frozenset[str]


def clashes(
    base: Files, ours: Uncompacted, theirs: Uncompacted, falls_in: FallsIn, may_share_keys: MayShareKeys | None
) -> list[Clash]:
    """Every conflict; apart from `keys`, a file is in only one of them."""
    found = [*_compactions(base, ours, theirs), *_overwrites(base, ours, theirs, falls_in)]
    seen = frozenset[str]().union(*(clash.if_ours & clash.if_theirs for clash in found))
    found += _files(base, ours, theirs, seen)
    if may_share_keys is not None:
        found += _keys(base, ours, theirs, may_share_keys)
    return found


def links(loser: Uncompacted) -> Iterator[frozenset[str]]:
    """Sets of files of the loser that can take the winner's state only together.

    A delta that changed rows and added files has moved rows: half of it would lose or duplicate them. So has a delta
    that removed rows and restored deleted ones, as the revert of an update does.
    """
    both = zip(loser.deltas, loser.given_back, strict=True)
    moved = [_files_of(delta) for delta, back in both if _moves_rows(delta, back)]
    yield from moved
    yield from loser.scopes()
    if not_taken := _files_of(loser.deltas[0]):
        # What the side did not take of the base may have lost to its own changes in an earlier merge with conflicts.
        yield not_taken.union(loser.changed - _appended(loser), *moved)


def _appended(side: Uncompacted) -> set[str]:
    """The files of deltas that only added files."""
    appends = (delta for delta in side.deltas if not delta.paths(EXISTING, DELETED) and not delta.rewrites())
    return {path for delta in appends for path in delta.paths(ADDED)}


def _moves_rows(delta: SideDelta, given_back: frozenset[str]) -> bool:
    changed, added = delta.moves()
    return bool(changed and (added or delta.overwrites)) or bool(given_back and changed - given_back)


def _files_of(delta: SideDelta) -> frozenset[str]:
    return frozenset[str]().union(*delta.moves())


def reached(paths: Iterable[str], linked: Iterable[frozenset[str]]) -> frozenset[str]:
    """The paths, and all paths linked to them, over any number of links."""
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
    """The sets, with those that intersect joined."""
    result: list[frozenset[str]] = []
    for paths in sets:
        disjoint = [other for other in result if not paths & other]
        joined = paths.union(*(other for other in result if paths & other))
        result = [*disjoint, joined]
    return result


def _compactions(base: Files, ours: Uncompacted, theirs: Uncompacted) -> Iterator[Clash]:
    """Compactions whose outputs were changed later, and whose inputs the other side changed."""
    touched = _stuck_inputs(ours) & theirs.changed | _stuck_inputs(theirs) & ours.changed
    scopes = [side.scope(group) for side in (ours, theirs) for group in side.stuck]
    for scope in _joined(scopes):
        if scope & touched:
            paths = sorted(scope & touched)
            texts = [_states_text(files, paths) for files in (base, ours.files, theirs.files)]
            yield Clash(FileConflict("compaction", *texts), scope, scope)


def _stuck_inputs(side: Uncompacted) -> frozenset[str]:
    return frozenset[str]().union(*(side.sources(group.outputs) for group in side.stuck))


def _overwrites(base: Files, ours: Uncompacted, theirs: Uncompacted, falls_in: FallsIn) -> Iterator[Clash]:
    """One conflict for everything that one side overwrote and the other changed, compacted or added to."""
    by_ours, by_theirs = overwrites_in_force(ours, theirs), overwrites_in_force(theirs, ours)
    touched = _touched(base, by_ours, ours, theirs) | _touched(base, by_theirs, theirs, ours)
    theirs_in = _falling(own_rows(base, theirs), by_ours, falls_in)
    ours_in = _falling(own_rows(base, ours), by_theirs, falls_in)
    if touched or theirs_in or ours_in:
        ours_text = _overwrite_text(by_ours, touched, ours_in)
        theirs_text = _overwrite_text(by_theirs, touched, theirs_in)
        conflict = FileConflict("overwrite", _states_text(base, sorted(touched)), ours_text, theirs_text)
        yield Clash(conflict, touched | theirs_in, touched | ours_in)


def overwrites_in_force(side: Uncompacted, other: Uncompacted) -> list[SideDelta]:
    """The overwrites of a side that were not undone later, and that the other side does not have too."""
    known = set(other.entries)
    return [delta for delta in side.deltas if delta.overwrites and _is_visible(delta, side) and _is_new(delta, known)]


def _is_new(delta: SideDelta, known: set[str]) -> bool:
    added = delta.paths(ADDED)
    return not added or not added <= known


def _is_visible(delta: SideDelta, side: Uncompacted) -> bool:
    removed = any(side.sources([path]).isdisjoint(side.files) for path in delta.paths(DELETED))
    added = any(not side.sources([path]).isdisjoint(side.files) for path in delta.paths(ADDED))
    changed = not side.changed.isdisjoint(side.sources(delta.paths(EXISTING)))
    return removed or added or changed


def _touched(base: Files, overwrites: Iterable[SideDelta], side: Uncompacted, other: Uncompacted) -> frozenset[str]:
    """The files of the base that the overwrites removed or changed, and that the other side changed or compacted."""
    replaced = side.sources(path for delta in overwrites for path in delta.paths(DELETED, EXISTING))
    return replaced & base.keys() & (other.changed | other.compacted())


def _falling(files: Sequence[pb.DataFileRef], overwrites: Sequence[SideDelta], falls_in: FallsIn) -> frozenset[str]:
    return paths_of(file for file in files if any(falls_in(file, delta) for delta in overwrites))


def _overwrite_text(overwrites: Sequence[SideDelta], touched: frozenset[str], added: frozenset[str]) -> str:
    texts = [f"overwrote {delta.manifest.overwritten or 'all rows'}" for delta in overwrites]
    if added:
        texts.append(f"added {', '.join(sorted(added))}")
    return "; ".join(texts) or f"changed {', '.join(sorted(touched))}"


def own_rows(base: Files, side: Uncompacted) -> list[pb.DataFileRef]:
    """The files by which a side added rows, or whose deleted rows it restored.

    For a compaction that can't be undone, they are its sources.
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
    """Files that both sides changed: differently, or both removed them and one had moved rows of them elsewhere."""
    moved = _moved(base, ours) | _moved(base, theirs)
    for path in sorted((ours.changed & theirs.changed) - seen):
        versions = [files.get(path) for files in (base, ours.files, theirs.files)]
        if state(versions[1]) != state(versions[2]) or (path in moved and versions[1] is None):
            conflict = FileConflict(f"file {path}", *(state_text(file) for file in versions))
            yield Clash(conflict, frozenset([path]), frozenset([path]))


def _moved(base: Files, side: Uncompacted) -> frozenset[str]:
    """The files from which the side moved rows to others, except moves that both sides have."""
    moves = [delta.moves() for delta in side.deltas]
    moved = {path for changed, added in moves if _beyond(base, added) for path in changed}
    for (changed, _), back in zip(moves, side.given_back, strict=True):
        moved |= changed - back if back & side.changed else set()
    if _beyond(base, side.changed - _appended(side)):
        moved |= moves[0][0]  # what the side did not take of the base: its rows may be in what it has instead
    return side.sources(moved)


def _beyond(base: Files, paths: Iterable[str]) -> set[str]:
    """The paths that are not in the base; unlike a difference of sets, this costs no more than the paths."""
    return {path for path in paths if path not in base}


def _keys(base: Files, ours: Uncompacted, theirs: Uncompacted, may_share_keys: MayShareKeys) -> Iterator[Clash]:
    own, other = own_rows(base, ours), own_rows(base, theirs)
    if own and other and may_share_keys(own, other):
        conflict = FileConflict("keys", "none", _added_text(own), _added_text(other))
        yield Clash(conflict, paths_of(other), paths_of(own))


def _added_text(files: Sequence[pb.DataFileRef]) -> str:
    return f"added {', '.join(file.path for file in files)}"


def _states_text(files: Files, paths: Sequence[str]) -> str:
    return "; ".join(f"{path} {state_text(files.get(path))}" for path in paths)
