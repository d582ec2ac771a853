"""Properties of catalogs, namespaces, tables and views: texts by name, each changed on its own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard, cast

from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.tombstones import check_not_purged
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.metastore import Operation
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute

_Record = pb.CatalogRecord | pb.DatabaseRecord | pb.TableProperties
_RECORDS: dict[int, type[_Record]] = {
    pb.NAMESPACE: pb.DatabaseRecord,
    pb.TABLE: pb.TableProperties,
    pb.VIEW: pb.TableProperties,
}


COMMENT = "comment"
"""The property that is an object's comment, as Iceberg has it."""

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
    record = _stored(work, object_id)
    return {} if record is None else dict(sorted(record.properties.items()))


def set_properties(work: Work, object_id: str, properties: Mapping[str, str]) -> None:
    """Set some properties; all other properties stay."""
    given = check_properties(properties)
    _check_trust(work, object_id, given)
    put_properties(work, object_id, {**properties_of(work, object_id), **given})
    work.note(Operation("set_properties", object_id, _name(work, object_id), detail=", ".join(sorted(given))))


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
    left = {key: value for key, value in properties_of(work, object_id).items() if key not in gone}
    put_properties(work, object_id, left)
    work.note(Operation("unset_properties", object_id, _name(work, object_id), detail=", ".join(sorted(gone))))


def put_properties(work: Work, object_id: str, properties: Mapping[str, str]) -> None:
    """Replace all properties of an object."""
    known = _stored(work, object_id)
    record = _kind(work, object_id)() if known is None else type(known).FromString(known.SerializeToString())
    record.ClearField("properties")
    record.properties.update(properties)
    work.put_attribute(object_id, Attribute.PROPERTIES, record)


def _stored(work: Work, object_id: str) -> _Record | None:
    if object_id != work.top:
        work.path(object_id)
    found = cast("_Record | None", work.attribute(object_id, Attribute.PROPERTIES))
    if found is None and object_id != work.top:
        check_not_purged(work.context, work.ref, object_id)
    return found


def _kind(work: Work, object_id: str) -> type[_Record]:
    record = None if object_id == work.top else work.life(object_id)
    return pb.CatalogRecord if record is None else _RECORDS[record.type]


def _name(work: Work, object_id: str) -> str:
    return "" if object_id == work.top else spelled(tuple(life.name for life in work.path(object_id)))
