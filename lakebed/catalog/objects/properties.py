"""Properties of catalogs, namespaces, tables and views: texts by name, each changed on its own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard, cast

from google.protobuf.message import Message

from lakebed.catalog.transaction.holders import check_alive, holder_of
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.tombstones import check_not_purged
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.metastore import Operation
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute

_Record = pb.CatalogRecord | pb.DatabaseRecord | pb.TableProperties | pb.TablePartition
_RECORDS: dict[int, type[_Record]] = {
    pb.NAMESPACE: pb.DatabaseRecord,
    pb.TABLE: pb.TableProperties,
    pb.VIEW: pb.TableProperties,
    pb.EDITION: pb.TableProperties,
    pb.PARTITION: pb.TablePartition,
    pb.BRANCH: pb.CatalogRecord,
}


COMMENT = "comment"
"""The property that is an object's comment, as Iceberg has it."""

OWN_PREFIX = "lakebed."
"""Properties of a catalog that begin so are not their users': `merge/progress.py`, `feed/consumers.py`."""

TRUSTED_VIEWS = "views.trusted"
"""The property of a catalog whose views may do all that their reader may; docs/guide/security.md."""


def check_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties, or `Invalid` if one is not text."""
    if not isinstance(properties, Mapping):
        raise Invalid("properties are a mapping", expected="names to texts", found=type(properties).__name__)
    for key, value in properties.items():
        if not key or not is_text(key) or not is_text(value):
            raise Invalid(
                "the name and the value of a property are text",
                subject=repr(key),
                expected="text",
                found=repr(value),
                advice=f"Write {str(value).lower()!r}." if isinstance(value, int | float) else "",
            )
    return dict(properties)


def is_text(given: object) -> TypeGuard[str]:
    """Whether it is text that can be stored."""
    # Half of a surrogate pair is a str to Python, but can't be encoded.
    return isinstance(given, str) and not any("\ud800" <= character <= "\udfff" for character in given)


def with_comment(properties: Mapping[str, str] | None, comment: str | None) -> dict[str, str]:
    """The properties of a new object, including its comment; `Invalid` if one is not text."""
    return check_properties({**check_properties(properties or {}), **({} if comment is None else {COMMENT: comment})})


def check_keys(keys: Iterable[str]) -> list[str]:
    """The names of properties, sorted, each once; a single name may be given as text."""
    if not isinstance(keys, Iterable):
        raise Invalid("these are not names of properties", expected="texts", found=type(keys).__name__)
    names = [keys] if isinstance(keys, str) else list(keys)
    for name in names:
        if not isinstance(name, str):
            raise Invalid("a property's name is text", expected="str", found=type(name).__name__)
    return sorted(set(names))


def properties_of(work: Work, object_id: str) -> dict[str, str]:
    """An object's properties. Those of the catalog itself belong to the line too."""
    record = stored_properties(work, object_id)
    return {} if record is None else dict(sorted(read_properties(record).items()))


def read_properties(record: Message) -> dict[str, str]:
    """The properties in a record. The comment of a namespace is its description; in older lakes it is one of them."""
    known = cast(_Record, record)
    described = isinstance(known, pb.DatabaseRecord) and known.HasField("description")
    return {**known.properties, **({COMMENT: cast(pb.DatabaseRecord, known).description} if described else {})}


def fill_properties(record: _Record, properties: Mapping[str, str]) -> None:
    """Put all properties into a record in place of those that it has."""
    record.ClearField("properties")
    record.properties.update(properties)
    if isinstance(record, pb.DatabaseRecord):
        record.ClearField("description")
        if COMMENT in properties:
            record.description = record.properties.pop(COMMENT)


def set_properties(work: Work, object_id: str, properties: Mapping[str, str]) -> None:
    """Set some properties; all other properties stay."""
    given = check_properties(properties)
    object_id = _owner(work, object_id)
    _check_own(work, object_id, given)
    _check_trust(work, object_id, given)
    put_properties(work, object_id, {**properties_of(work, object_id), **given})
    work.note(Operation("set_properties", object_id, _name(work, object_id), detail=", ".join(sorted(given))))


def _check_own(work: Work, object_id: str, given: Mapping[str, str]) -> None:
    """Refuse what Lakebed keeps among the properties of a catalog: merges in progress, positions of consumers."""
    own = next((key for key in given if key.startswith(OWN_PREFIX)), None)
    if own is not None and object_id == work.top:
        raise Invalid(
            "properties of a catalog with this prefix are Lakebed's own",
            subject=own,
            found=OWN_PREFIX,
            advice="Choose another name.",
        )


def _check_trust(work: Work, object_id: str, given: Mapping[str, str]) -> None:
    """Refuse the property about views where nobody looks for it, and values that would mean nothing."""
    value = given.get(TRUSTED_VIEWS)
    if value is not None and object_id != work.top:
        raise Invalid(
            "this is a property of a catalog", subject=TRUSTED_VIEWS, advice="catalog.set_properties(…) sets it."
        )
    if value not in (None, "true", "false"):
        raise Invalid("this property is true or false", subject=TRUSTED_VIEWS, found=repr(value))


def unset_properties(work: Work, object_id: str, gone: Sequence[str]) -> None:
    """Remove some properties; names that are not set are ignored."""
    object_id = _owner(work, object_id)
    left = {key: value for key, value in properties_of(work, object_id).items() if key not in gone}
    put_properties(work, object_id, left)
    work.note(Operation("unset_properties", object_id, _name(work, object_id), detail=", ".join(sorted(gone))))


def put_properties(work: Work, object_id: str, properties: Mapping[str, str]) -> None:
    """Replace all properties of an object."""
    known = stored_properties(work, object_id)
    record = _kind(work, object_id)() if known is None else type(known).FromString(known.SerializeToString())
    fill_properties(record, properties)
    work.put_attribute(object_id, Attribute.PROPERTIES, record)


def stored_properties(work: Work, object_id: str) -> _Record | None:
    """The record with the properties of an object that is alive; `Expired` if it was purged."""
    object_id = _owner(work, object_id)
    if object_id != work.top:
        check_alive(work, object_id)
    found = cast("_Record | None", work.attribute(object_id, Attribute.PROPERTIES))
    if found is None and object_id != work.top:
        check_not_purged(work.context, work.ref, object_id)
    return found


def _owner(work: Work, object_id: str) -> str:
    """What has the properties of an object: of a table, its active edition."""
    if object_id == work.top:
        return object_id
    work.path(object_id)
    life = work.life(object_id)
    return holder_of(work, object_id) if life is not None and life.type in (pb.TABLE, pb.EDITION) else object_id


def _kind(work: Work, object_id: str) -> type[_Record]:
    record = None if object_id == work.top else work.life(object_id)
    return pb.CatalogRecord if record is None else _RECORDS[record.type]


def _name(work: Work, object_id: str) -> str:
    return "" if object_id == work.top else spelled(name_of(work, object_id))
