"""Refs by name, and catalogs, which are named the same way: find, create, rename, drop, undrop, purge.

Branches, tags and shares are children of the catalog in its ref line, which is never forked. No two of them have the
same name. Catalogs are children of the project in the root line.
"""

from collections.abc import Iterator, Sequence
from typing import cast

from lakebed.catalog.objects.purge import find_to_purge, purged_rows
from lakebed.catalog.objects.undrop import find_dropped
from lakebed.catalog.transaction.commits import Commit, Request, commit_of
from lakebed.catalog.transaction.context import TRUNK, Context, Ref
from lakebed.catalog.transaction.names import first_names
from lakebed.catalog.transaction.objects import (
    Slot,
    bring_back,
    check_free,
    children,
    find_in,
    mark_dropped,
    move,
    name_taken,
    type_of,
)
from lakebed.catalog.transaction.scopes import Live, once
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid, NotFound
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
    """What holds a name that a ref of a kind could have, whatever its own kind is."""
    slot = _slot(work, kind, name)
    found = work.resolve(slot.parent, slot.name)
    return None if found is None else Child(name, found, type_of(work, found))


def find(work: Work, kind: int, name: str) -> str:
    """The id of the ref of a kind with this name; `NotFound` says what else has the name, or that it was dropped."""
    if _is_reserved(kind, name):
        raise NotFound(f"there is no {type_name(kind)} of this name", subject=name, found=_TRUNK)
    return find_in(work, _slot(work, kind, name), kind)


def listed(work: Work, kind: int, prefix: str = "") -> Iterator[Child]:
    """The refs of a kind, by name."""
    if not isinstance(prefix, str):
        raise Invalid("a prefix is text", expected="str", found=type(prefix).__name__)
    return children(work, _parent(work, kind), kind, prefix)


def ref_name(context: Context, ref: Ref, ref_id: str) -> str:
    """The name that a ref of a catalog has now, or had when it was dropped."""
    return name_of(all_refs(context, ref), ref_id)


def all_refs(context: Context, ref: Ref) -> Work:
    """The refs of a catalog as they are now, even if it was dropped: handles at a version still show their names."""
    return Work(context, Ref(ref.catalog, ref.refs))


def name_of(work: Work, ref_id: str) -> str:
    """A ref's own name, dropped or not."""
    record = work.life(ref_id)
    if record is None:
        raise NotFound("there is no such branch, tag or share", subject=ref_id)
    return record.name


def record_of(work: Work, ref_id: str) -> pb.CatalogRecord:
    """What a ref stands for: its line, version, ancestry, grants. Not to be changed."""
    return records_of(work, [ref_id])[0]


def records_of(work: Work, ids: Sequence[str]) -> list[pb.CatalogRecord]:
    """What several refs stand for, in one round trip."""
    work.load((ref_id, Attribute.REF) for ref_id in ids)
    found = [work.attribute(ref_id, Attribute.REF) for ref_id in ids]
    if None in found:
        raise NotFound("there is no such branch, tag or share", subject=ids[found.index(None)])
    return cast(list[pb.CatalogRecord], found)


def create(work: Work, kind: int, name: str, record: pb.CatalogRecord) -> str:
    """Create a ref under a free name, and return its id."""
    slot = _free_slot(work, kind, name)
    made = work.new_id(slot.name)
    work.put_new_life(made, life(kind, slot.parent, slot.name))
    work.put_attribute(made, Attribute.REF, record)
    work.note(Operation("create", made, slot.text))
    return made


def rename(work: Work, kind: int, name: str, new_name: str) -> None:
    """Give a ref another name; its handles and its forks are not affected."""
    _check_no_trunk(kind, name, "renamed")
    found = find(work, kind, name)
    before, slot = name_of(work, found), _free_slot(work, kind, new_name, but=found)
    move(work, found, slot.parent, slot.name)
    work.note(Operation("rename", found, before, detail=slot.text))


def drop(work: Work, kind: int, name: str) -> None:
    """Free a ref's name. What it stood for stays until it is purged, and so do the refs that were made from it."""
    _check_no_trunk(kind, name, "dropped")
    found = find(work, kind, name)
    mark_dropped(work, found, pb.MARKED)
    work.note(Operation("drop", found, name_of(work, found)))


def undrop(work: Work, kind: int, name: str, ref_id: str | None, as_name: str | None) -> None:
    """Bring a dropped ref back, under its name or another free one; `Ambiguous` if several had the name."""
    _check_no_trunk(kind, name, "dropped or purged")
    found = find_dropped(work, _slot(work, kind, name), kind, ref_id)
    slot = _free_slot(work, kind, found.name if as_name is None else as_name)
    bring_back(work, found.id, slot.parent, slot.name)
    work.note(Operation("undrop", found.id, found.name, detail="" if slot.name == found.name else slot.text))


def purge(scope: Live, kind: int, name: str, ref_id: str | None, request: Request) -> Commit:
    """Mark a dropped ref as purged, or find the commit that did: what it stood for can then be erased."""

    def find_or_mark() -> Commit:
        found = _purge_of(scope.read(), kind, name, ref_id)
        return found or scope.change(lambda work: _mark_purged(work, kind, name, ref_id), request)

    commit = once(scope, request, find_or_mark)
    assert commit is not None, "only a transaction returns None"
    return commit


def _mark_purged(work: Work, kind: int, name: str, ref_id: str | None) -> None:
    _check_no_trunk(kind, name, "dropped or purged")
    found = find_to_purge(work, _slot(work, kind, name), kind, ref_id)
    _check_no_children(work, found)
    mark_dropped(work, found.id, pb.PURGED)
    work.note(Operation("purge", found.id, found.name))


def _purge_of(work: Work, kind: int, name: str, ref_id: str | None) -> Commit | None:
    """The commit that purged the last ref of this name, if no ref has it now or is left to purge."""
    rows = purged_rows(work, _slot(work, kind, name), kind, ref_id)
    if not rows:
        return None
    last = max(rows, key=lambda row: row.dropped)
    return commit_of(work.reader.log(object_id=last.id, limit=1).items[0])


def children_of(context: Context, ref: Ref, parent: str) -> list[str]:
    """The names of the branches, tags and shares that were made from a line and are not purged now."""
    made = context.metastore.forks(parent, project=context.project)
    states = context.metastore.reader(ref.refs).attributes([(ref_id, Attribute.LIFE) for ref_id in made])
    lives = [cast(pb.CatalogRecord, state.record) for state in states if state is not None]
    return sorted(f"{type_name(record.type)} {record.name}" for record in lives if record.drop_type != pb.PURGED)


def _check_no_children(work: Work, found: Dropped) -> None:
    # A concurrent creation changes the listing, so that only one of the two commits.
    work.read(ListingRead(_parent(work, found.type)))
    catalog = found.id if found.type == pb.CATALOG else work.top
    children = children_of(work.context, Ref(catalog, work.ref.line), found.id)
    if children:
        raise Invalid(
            f"other refs depend on the {type_name(found.type)}",
            subject=found.name,
            found=first_names(children),
            advice="Undrop it, drop and purge them, then drop and purge it."
            if found.type == pb.CATALOG
            else "Purge them first.",
        )


_TRUNK = "the trunk"


def _free_slot(work: Work, kind: int, name: str, but: str | None = None) -> Slot:
    slot = _slot(work, kind, name)
    if _is_reserved(kind, slot.name):
        raise name_taken(slot, _TRUNK)
    check_free(work, slot, but)
    return slot


def _check_no_trunk(kind: int, name: str, done: str) -> None:
    if kind == pb.BRANCH and is_trunk(name):
        raise Invalid(f"the trunk can't be {done}", subject=TRUNK, advice=f"The catalog itself can be {done}.")


def _parent(work: Work, kind: int) -> str:
    return work.context.project if kind == pb.CATALOG else work.top


def _slot(work: Work, kind: int, name: str) -> Slot:
    own = normal_name(name) if kind == pb.CATALOG else normal_ref_name(name)
    return Slot(_parent(work, kind), own, own)


def _is_reserved(kind: int, name: str) -> bool:
    return kind != pb.CATALOG and is_trunk(name)
