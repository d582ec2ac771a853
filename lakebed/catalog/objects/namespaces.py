"""Namespaces.

A namespace's location, description and owner are in one record with its properties: the description is the property
`comment`, the other two have fields of their own. Its life names who created it.
"""

from collections.abc import Mapping
from typing import cast

from lakebed.catalog.objects.properties import fill_properties, stored_properties, with_comment
from lakebed.catalog.transaction.names import Name, first_names, parse_name, spelled
from lakebed.catalog.transaction.objects import container_of, drop, find, free_place, name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.metastore import Operation, life
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute

OWNER = "owner"
LOCATION = "location"
TABLES = "tables"
"""The folder of tables whose namespaces have no location."""

_FIELDS = {LOCATION: "location", OWNER: "user_id"}


def create_namespace(
    work: Work,
    name: Name,
    properties: Mapping[str, str] | None = None,
    comment: str | None = None,
    location: str | None = None,
    owner: str | None = None,
) -> str:
    """Create a namespace in an existing one, and return its id."""
    given = with_comment(properties, comment)
    parent, own = free_place(work, parse_name(name))
    namespace = work.new_id(spelled(parse_name(name)))
    work.put_new_life(namespace, life(pb.NAMESPACE, parent, own))
    record = pb.DatabaseRecord(location=location, user_id=owner)
    fill_properties(record, given)
    work.put_attribute(namespace, Attribute.PROPERTIES, record)
    work.note(Operation("create", namespace, spelled(parse_name(name))))
    return namespace


def find_namespace(work: Work, name: Name) -> str:
    """The id of the namespace with this name, or `NotFound`."""
    return find(work, parse_name(name), pb.NAMESPACE)


def alter_namespace(work: Work, namespace: str, changes: Mapping[str, str | None]) -> None:
    """Set the location or the owner of a namespace, or with None go back to what it has without."""
    name = spelled(name_of(work, namespace))
    record = pb.DatabaseRecord()
    record.CopyFrom(cast("pb.DatabaseRecord | None", stored_properties(work, namespace)) or record)
    put_fields(record, changes)
    work.put_attribute(namespace, Attribute.PROPERTIES, record)
    work.note(Operation("alter_namespace", namespace, name, detail=", ".join(sorted(changes))))


def put_fields(record: pb.DatabaseRecord, changes: Mapping[str, str | None]) -> None:
    """Set or clear fields of a namespace's record, by the names that people know them by."""
    for name, value in changes.items():
        if value is None:
            record.ClearField(_FIELDS[name])
        else:
            setattr(record, _FIELDS[name], value)


def fields_of(record: pb.DatabaseRecord) -> dict[str, str]:
    """The location and the owner that were set."""
    return {name: getattr(record, field) for name, field in _FIELDS.items() if record.HasField(field)}


def owner_of(work: Work, namespace: str) -> str | None:
    """Who owns a namespace: whoever was named, or else whoever created it.

    None in a lake from before it was kept, and of a namespace that only leads to what a share shows.
    """
    if not work.reader.shows_all_of(namespace):
        return None
    return _fields(work, namespace).get(OWNER) or cast(pb.DatabaseRecord, work.life(namespace)).user_id or None


def location_of(work: Work, namespace: str) -> str:
    """The folder in which new tables of a namespace get theirs: its own, or that of what it is in.

    The commit does not rely on it: another commit may change it, and tables stay where they were created.
    """
    while namespace != work.top:
        work.load_with_path(namespace, Attribute.PROPERTIES)
        location = _fields(work, namespace).get(LOCATION)
        if location is not None:
            return location
        namespace = container_of(work, namespace)
    return TABLES


def shown_location(work: Work, namespace: str) -> str | None:
    """The same as other engines open it; None where a share does not show it."""
    return work.context.files.location(location_of(work, namespace)) if shows_location(work, namespace) else None


def shows_location(work: Work, namespace: str) -> bool:
    """Whether all is shown that decides on a namespace's location: not if a share leaves out what it is in."""
    while namespace != work.top:
        if not work.reader.shows_all_of(namespace):
            return False
        namespace = container_of(work, namespace)
    return True


def _fields(work: Work, namespace: str) -> dict[str, str]:
    record = cast("pb.DatabaseRecord | None", work.unread_attribute(namespace, Attribute.PROPERTIES))
    return {} if record is None else fields_of(record)


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
