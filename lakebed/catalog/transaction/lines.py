"""Lines by their ids, a catalog's trunk and its branches, and whether they are alive."""

from collections.abc import Iterator, Sequence
from typing import cast

from lakebed.catalog.transaction.context import Context, Ref
from lakebed.errors import Expired, NotFound
from lakebed.metastore import ROOT, Line, State
from lakebed.metastore.kinds import type_name
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute
from lakebed.records.names import Casing
from lakebed.store import Version


def trunk(context: Context, catalog: str) -> Ref:
    """The first line of a catalog."""
    [rules] = context.metastore.reader(ROOT).attributes([(catalog, Attribute.REF)])
    casing = Casing.FOLDED if rules is None else Casing(cast(pb.CatalogRecord, rules.record).casing)
    return Ref(catalog, Line(catalog, catalog, casing=casing))


def open_line(context: Context, catalog: str, line: str) -> Ref:
    """A line of a catalog by its id, dropped or not; `NotFound` if there never was one."""
    return open_lines(context, catalog, [line])[0]


def open_lines(context: Context, catalog: str, lines: Sequence[str]) -> list[Ref]:
    """Several lines of a catalog by their ids, in as few round trips as a single one."""
    wanted = [(line, Attribute.REF) for line in lines if line != catalog]
    states = context.metastore.reader(Ref(catalog, ROOT).refs).attributes(wanted) if wanted else []
    found = {line: _branch(catalog, line, state) for (line, _), state in zip(wanted, states, strict=True)}
    if len(wanted) < len(lines):
        found[catalog] = trunk(context, catalog)
    return [found[line] for line in lines]


def _branch(catalog: str, line: str, state: State | None) -> Ref:
    if state is None:
        raise NotFound("there is no such branch", subject=line)
    record = cast(pb.CatalogRecord, state.record)
    ancestry = tuple(LineAt(at.line_id, Version(at.version)) for at in record.ancestry)
    return Ref(catalog, Line(line, catalog, ancestry, Casing(record.casing)))


def check_alive(context: Context, ref: Ref, newest: Version) -> None:
    """Refuse a line whose branch or catalog was dropped. The lines that it forked from need not be alive."""
    if context.parents.was_alive(ref.line.id, newest):
        return
    for life in _holders(context, ref, newest):
        if life.drop_type == pb.PURGED:
            raise NotFound(f"the {type_name(life.type)} was purged", subject=life.name, advice="Open another one.")
        if life.dropped:
            raise NotFound(
                f"the {type_name(life.type)} was dropped", subject=life.name, advice="Undrop it, or open another one."
            )
    context.parents.learn_alive(ref.line.id, newest)


def check_kept(context: Context, ref: Ref) -> None:
    """Refuse a line whose branch or catalog was purged. The past of a dropped line can still be read."""
    for life in _holders(context, ref, context.metastore.newest()):
        if life.drop_type == pb.PURGED:
            raise Expired(f"the {type_name(life.type)} was purged, with all its past", subject=life.name)


def _holders(context: Context, ref: Ref, newest: Version) -> Iterator[pb.CatalogRecord]:
    for holder in ref.holders:
        line = ROOT if holder.line == ROOT.id else ref.refs
        [state] = context.metastore.reader(line, newest).attributes([(holder.object_id, Attribute.LIFE)])
        if state is None:
            raise NotFound("there is no such catalog or branch", subject=holder.object_id)
        yield cast(pb.CatalogRecord, state.record)
