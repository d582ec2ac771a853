"""What a locator names: the handle of a namespace, table, edition, stream or partition, or a delta."""

from typing import Any, TypeAlias

from lakebed.catalog.data.streams import DEPRECATED
from lakebed.catalog.objects.namespaces import find_namespace
from lakebed.catalog.partitions.deltas import Delta
from lakebed.catalog.tables.editions import find_table
from lakebed.catalog.tables.locators import LEVELS, Locator, check_names
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import find_any, type_of
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid, NotFound
from lakebed.lake.namespace import Namespace
from lakebed.lake.partition import Partition
from lakebed.lake.table import Table
from lakebed.records import records_pb2 as pb

Found: TypeAlias = Namespace[Any] | Table[Any] | Partition[Any] | Delta
"""What a locator may name; an edition and a stream are tables."""


def find(scope: Scope, given: Locator | str) -> Found:
    """The object at a locator, or with a canonical string."""
    here = given if isinstance(given, Locator) else _located(scope.read(), given)
    if here.table is None:
        return Namespace(find_namespace(scope.read(), here.namespace), scope)
    table: Table[Any] = Table(find_table(scope.read(), (*here.namespace, here.table)), scope)
    if here.edition is None:
        return table
    edition = table.edition(here.edition)
    if here.stream is None:
        return edition
    if here.delta is not None:
        return _delta(edition, here)
    stream = edition.stream(here.stream)
    return stream if here.partition is None else _partition(stream, here.partition)


def _located(work: Work, text: str) -> Locator:
    """The locator with a canonical string. The first name that is not a namespace's is the table's."""
    names = check_names(text)
    for depth in range(1, len(names) + 1):
        kind = type_of(work, find_any(work, names[:depth]))
        if kind == pb.TABLE and len(names) - depth < len(LEVELS) - 1:
            return Locator.parse(text, LEVELS[1 + len(names) - depth])
        if kind != pb.NAMESPACE:
            raise Invalid(
                "a canonical string goes on behind what it could name",
                subject=f"{spelled(names[:depth])} in {text!r}",
                expected=" | ".join(LEVELS),
            )
    return Locator(names)


def _partition(table: Table[Any], id: str) -> Partition[Any]:
    """A partition of a stream by its id; the root is that of a staged stream, too."""
    root = table.partition()
    return root if root.id == id else table.partition(id=id)


def _delta(edition: Table[Any], here: Locator) -> Delta:
    """A delta, also one from before its stream was replaced: the deltas of its edition go on from it."""
    assert here.stream is not None and here.partition is not None and here.delta is not None
    replaced = {stream.id for stream in edition.streams() if stream.state == DEPRECATED}
    stream = edition if here.stream in replaced else edition.stream(here.stream)
    found = _partition(stream, here.partition).delta(here.delta)
    if here.stream in replaced and found.locator.stream != here.stream:
        raise NotFound(
            "the stream has no delta at this position",
            subject=str(here),
            found=str(found.locator),
            advice="deltas() of the partition lists them.",
        )
    return found
