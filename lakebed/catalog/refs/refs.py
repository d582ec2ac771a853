"""Refs by name, and catalogs, which have their names in the same way: find, make, rename, drop, undrop, purge.

Branches, tags and shares are children of the catalog in its ref line, which is never forked, and share one name space.
Catalogs are children of the project in the root line.
"""

from collections.abc import Iterator, Sequence
from typing import cast

from lakebed.catalog.objects.undrop import candidates, dropped_rows
from lakebed.catalog.transaction.commits import Commit, Request, commit_of
from lakebed.catalog.transaction.context import TRUNK, Context, Ref
from lakebed.catalog.transaction.objects import copied, what_became
from lakebed.catalog.transaction.scopes import Live
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Ambiguous, Expired, Invalid, NotFound
from lakebed.metastore import ROOT, Child, Dropped, ListingRead, Operation, life
from lakebed.metastore.kinds import type_name
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.records.names import Casing, folded, normal_name, normal_ref_name


def ref_scope(context: Context, ref: Ref) -> Live:
    """The ref line of the catalog that a line belongs to."""
    return Live(context, Ref(ref.catalog, ref.refs))


def root_scope(context: Context) -> Live:
    """The line of projects and catalogs."""
    return Live(context, Ref(ROOT.top, ROOT))


def is_trunk(name: str) -> bool:
    """Whether a ref's name is that of the trunk, which has no record."""
    return folded(normal_ref_name(name), Casing.FOLDED) == TRUNK


def resolve(work: Work, kind: int, name: str) -> Child | None:
    """What has the name that one of a kind might have, of whatever kind it is."""
    found = work.resolve(_parent(work, kind), _normal(kind, name))
    return None if found is None else Child(name, found, _life(work, found).type)


def find(work: Work, kind: int, name: str) -> str:
    """The id of the ref of a kind with this name, or `NotFound`, which says what has the name or if it was dropped."""
    found = resolve(work, kind, name)
    if found is None or found.type != kind:
        raise _no_such(work, kind, name, found)
    return found.id


def _no_such(work: Work, kind: int, name: str, other: Child | None) -> NotFound:
    said: str | None = _TRUNK if _is_reserved(kind, name) else None if other is None else f"a {type_name(other.type)}"
    advice = ""
    if said is None:
        said, advice = what_became(work, _parent(work, kind), _normal(kind, name), kind)
        advice = advice or f"{_PLURALS[kind]}() lists those that are there."
    return NotFound(f"there is no {type_name(kind)} of this name", subject=name, found=said, advice=advice)


def listed(work: Work, kind: int, prefix: str = "") -> Iterator[Child]:
    """Those of a kind, by name."""
    if not isinstance(prefix, str):
        raise Invalid("a prefix is text", expected="str", found=type(prefix).__name__)
    return (child for child in work.children(_parent(work, kind), prefix) if child.type == kind)


def ref_name(context: Context, ref: Ref, ref_id: str) -> str:
    """What a ref of a catalog is called now; of a dropped one, what it was called."""
    return name_of(all_refs(context, ref), ref_id)


def all_refs(context: Context, ref: Ref) -> Work:
    """The refs of a catalog as they are now, to be read though it be dropped: what is pinned can still be seen."""
    return Work(context, Ref(ref.catalog, ref.refs))


def name_of(work: Work, ref_id: str) -> str:
    """The name in an object's life, dropped or not."""
    record = work.life(ref_id)
    if record is None:
        raise NotFound("there is no such branch, tag or share", subject=ref_id)
    return record.name


def record_of(work: Work, ref_id: str) -> pb.CatalogRecord:
    """What a ref stands for: its line, version, ancestry, grants; to be read only."""
    return records_of(work, [ref_id])[0]


def records_of(work: Work, ids: Sequence[str]) -> list[pb.CatalogRecord]:
    """What refs stand for, in one round trip."""
    work.load((one, Attribute.REF) for one in ids)
    found = [work.attribute(one, Attribute.REF) for one in ids]
    if None in found:
        raise NotFound("there is no such branch, tag or share", subject=ids[found.index(None)])
    return cast(list[pb.CatalogRecord], found)


def create(work: Work, kind: int, name: str, record: pb.CatalogRecord) -> str:
    """Make a ref under a name that is free, and answer its id."""
    own = _free_name(work, kind, name)
    made = work.new_id(own)
    work.put_new_life(made, life(kind, _parent(work, kind), own))
    work.put_attribute(made, Attribute.REF, record)
    work.note(Operation("create", made, own))
    return made


def rename(work: Work, kind: int, name: str, new_name: str) -> None:
    """Give a ref another name; handles and what forked from it don't notice."""
    _check_no_trunk(kind, name, "renamed")
    found = find(work, kind, name)
    record = copied(work, found)
    before, record.name = record.name, _free_name(work, kind, new_name, but=found)
    work.put_life(found, record)
    work.note(Operation("rename", found, before, detail=record.name))


def drop(work: Work, kind: int, name: str) -> None:
    """Free a ref's name. What it stood for stays until it is purged, and so does all that was made of it."""
    _check_no_trunk(kind, name, "dropped")
    found = find(work, kind, name)
    record = copied(work, found)
    record.dropped, record.drop_type = True, pb.MARKED
    work.put_life(found, record)
    work.note(Operation("drop", found, record.name))


def undrop(work: Work, kind: int, name: str, ref_id: str | None, as_name: str | None) -> None:
    """Bring a dropped ref back, under its name or another that is free; `Ambiguous` if several were called so."""
    found = _dropped(work, kind, name, ref_id)
    record = copied(work, found.id)
    record.name = _free_name(work, kind, found.name if as_name is None else as_name)
    record.dropped = False
    record.ClearField("drop_type")
    work.put_life(found.id, record)
    work.note(Operation("undrop", found.id, found.name, detail="" if record.name == found.name else record.name))


def purge(scope: Live, kind: int, name: str, ref_id: str | None, request: Request) -> Commit:
    """Mark a dropped ref as purged, or find the commit that did: what it stood for can go then."""
    known = scope.replayed(request) or _purge_of(scope.read(), kind, name, ref_id)
    return known or scope.change(lambda work: _mark_purged(work, kind, name, ref_id), request)


def _mark_purged(work: Work, kind: int, name: str, ref_id: str | None) -> None:
    _check_not_alive(work, kind, name, ref_id)
    found = _dropped(work, kind, name, ref_id)
    _check_no_children(work, found)
    record = copied(work, found.id)
    record.drop_type = pb.PURGED
    work.put_life(found.id, record)
    work.note(Operation("purge", found.id, found.name))


def _check_not_alive(work: Work, kind: int, name: str, ref_id: str | None) -> None:
    if _is_alive(work, kind, name, ref_id) and not _kept(_rows(work, kind, name, ref_id)):
        raise Invalid(f"the {type_name(kind)} was not dropped", subject=name, advice="Drop it first.")


def _purge_of(work: Work, kind: int, name: str, ref_id: str | None) -> Commit | None:
    """The commit that purged what had this name last, if nothing has it now or is left to purge under it."""
    rows = _rows(work, kind, name, ref_id)
    if not rows or _kept(rows) or _is_alive(work, kind, name, ref_id):
        return None
    last = max(rows, key=lambda one: one.dropped)
    return commit_of(work.reader.log(object_id=last.id, limit=1).items[0])


def _is_alive(work: Work, kind: int, name: str, ref_id: str | None) -> bool:
    found = resolve(work, kind, name)
    return found is not None and found.type == kind and ref_id in (None, found.id)


def children_of(context: Context, ref: Ref, parent: str) -> list[str]:
    """The names of the branches, tags and shares that were made of a line and are not purged, as of now."""
    made = context.metastore.forks(parent, project=context.project)
    states = context.metastore.reader(ref.refs).attributes([(one, Attribute.LIFE) for one in made])
    lives = [cast(pb.CatalogRecord, state.record) for state in states if state is not None]
    return sorted(f"{type_name(one.type)} {one.name}" for one in lives if one.drop_type != pb.PURGED)


def shown(names: list[str]) -> str:
    """Some names in a sentence."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _check_no_children(work: Work, found: Dropped) -> None:
    # Whoever makes one changes the listing, so that only one of the two commits.
    work.read(ListingRead(_parent(work, found.type)))
    catalog = found.id if found.type == pb.CATALOG else work.top
    children = children_of(work.context, Ref(catalog, work.ref.line), found.id)
    if children:
        raise Invalid(
            f"others hang on the {type_name(found.type)}",
            subject=found.name,
            found=shown(children),
            advice="Purge them first.",
        )


def _free_name(work: Work, kind: int, name: str, but: str | None = None) -> str:
    own = _normal(kind, name)
    found = resolve(work, kind, own)
    if _is_reserved(kind, own) or (found is not None and found.id != but):
        taken = None if found is None else found.type
        raise AlreadyExists(
            "the name is taken",
            subject=own,
            found=_TRUNK if taken is None else f"a {type_name(taken)}",
            advice=_STAYS if taken == kind == pb.TAG else "Choose another name, or rename or drop what has it.",
        )
    return own


_TRUNK = "the trunk"
_STAYS = "A tag never moves: choose another name, or drop or rename the one that is there."


def _check_no_trunk(kind: int, name: str, done: str) -> None:
    if kind == pb.BRANCH and is_trunk(name):
        raise Invalid(f"the trunk can't be {done}", subject=TRUNK, advice=f"The catalog itself can be {done}.")


def _parent(work: Work, kind: int) -> str:
    return work.context.project if kind == pb.CATALOG else work.top


def _normal(kind: int, name: str) -> str:
    return normal_name(name) if kind == pb.CATALOG else normal_ref_name(name)


def _is_reserved(kind: int, name: str) -> bool:
    return kind != pb.CATALOG and is_trunk(name)


def _dropped(work: Work, kind: int, name: str, ref_id: str | None) -> Dropped:
    """The one ref of a kind that was dropped under a name and is not purged."""
    _check_no_trunk(kind, name, "dropped or purged")
    rows = _rows(work, kind, name, ref_id)
    kept = _kept(rows)
    if len(kept) == 1:
        return kept[0]
    if kept:
        raise Ambiguous(
            f"several dropped {_PLURALS[kind]} had this name",
            subject=name,
            candidates=candidates(work, kept),
            advice="Say which one by its id: id=….",
        )
    if rows:
        raise Expired(f"the {type_name(kind)} was purged", subject=name)
    alive = resolve(work, kind, name)
    raise NotFound(
        f"no {type_name(kind)} of this name was dropped",
        subject=name,
        expected=ref_id,
        found=None if alive is None else f"a {type_name(alive.type)} that is alive",
    )


_PLURALS: dict[int, str] = {pb.BRANCH: "branches", pb.TAG: "tags", pb.SHARE: "shares", pb.CATALOG: "catalogs"}


def _rows(work: Work, kind: int, name: str, ref_id: str | None) -> list[Dropped]:
    rows = dropped_rows(work, kind, _parent(work, kind), _normal(kind, name))
    return [one for one in rows if ref_id in (None, one.id)]


def _kept(rows: list[Dropped]) -> list[Dropped]:
    return [one for one in rows if one.drop_type != pb.PURGED]


def _life(work: Work, ref_id: str) -> pb.CatalogRecord:
    record = work.life(ref_id)
    assert record is not None, "a name leads to what has it"
    return cast(pb.CatalogRecord, record)
