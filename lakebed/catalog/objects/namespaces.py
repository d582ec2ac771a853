"""Namespaces."""

from collections.abc import Mapping

from lakebed.catalog.objects.properties import with_comment
from lakebed.catalog.transaction.names import Name, first_names, parse_name, spelled
from lakebed.catalog.transaction.objects import drop, find, free_place, name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.metastore import Operation, life
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute


def create_namespace(
    work: Work, name: Name, properties: Mapping[str, str] | None = None, comment: str | None = None
) -> str:
    """Create a namespace in an existing one, and return its id."""
    given = with_comment(properties, comment)
    parent, own = free_place(work, parse_name(name))
    namespace = work.new_id(spelled(parse_name(name)))
    work.put_new_life(namespace, life(pb.NAMESPACE, parent, own))
    work.put_attribute(namespace, Attribute.PROPERTIES, pb.DatabaseRecord(properties=given))
    work.note(Operation("create", namespace, spelled(parse_name(name))))
    return namespace


def find_namespace(work: Work, name: Name) -> str:
    """The id of the namespace with this name, or `NotFound`."""
    return find(work, parse_name(name), pb.NAMESPACE)


def drop_empty(work: Work, namespace: str) -> None:
    """Drop an empty namespace; `Invalid` if it holds something."""
    inside = [child.name for child in work.children(namespace)]
    if inside:
        raise Invalid(
            "the namespace is not empty",
            subject=spelled(name_of(work, namespace)),
            found=first_names(inside),
            advice="Drop what it holds, or pass cascade=True.",
        )
    drop(work, namespace)
