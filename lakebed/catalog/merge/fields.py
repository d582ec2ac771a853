"""Single values of an object's records, by the names that people know them by: merged and compared one by one.

Those of a namespace are its location and its owner, those of a table how it is stored.
"""

from collections.abc import Mapping
from typing import cast

from google.protobuf.message import Message

from lakebed.catalog.objects import namespaces
from lakebed.catalog.tables import storage
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute


def fields_of(records: Mapping[Attribute, Message]) -> dict[str, str]:
    """The values that an object's records have."""
    described, stored = records.get(Attribute.PROPERTIES), records.get(Attribute.STORAGE)
    found = namespaces.fields_of(described) if isinstance(described, pb.DatabaseRecord) else {}
    # A staged stream has the storage of its edition, and of its own only the partition.
    has_own = isinstance(stored, pb.TableStorage) and bool(stored.location)
    return found | (storage.fields_of(cast(pb.TableStorage, stored)) if has_own else {})


def with_fields(record: Message | None, fields: Mapping[str, str]) -> tuple[Attribute, Message]:
    """A copy of an object's record with these values instead of its own, and the attribute that it is."""
    if isinstance(record, pb.TableStorage):
        return Attribute.STORAGE, storage.with_fields(record, fields)
    changed = pb.DatabaseRecord()
    if record is not None:
        changed.MergeFromString(record.SerializeToString())
    namespaces.put_fields(changed, {**dict.fromkeys(namespaces.fields_of(changed)), **fields})
    return Attribute.PROPERTIES, changed
