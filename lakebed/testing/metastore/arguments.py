"""What the model refuses whatever the lake holds: malformed ids, records that do not fit, too much at once."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from google.protobuf.message import Message

from lakebed.errors import Invalid, TooLarge
from lakebed.metastore.change import AttributeRead, Change, DataRead, ListingRead, NameRead, Operation, Read
from lakebed.metastore.kinds import check_life
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute, id_element
from lakebed.store.limits import TRANSACTION_BYTES, VALUE_BYTES

RECORDS: dict[Attribute, tuple[type[Message], ...]] = {
    Attribute.PROPERTIES: (pb.CatalogRecord, pb.DatabaseRecord, pb.TableProperties, pb.TablePartition),
    Attribute.STORAGE: (pb.TableStorage,),
    Attribute.SCHEMA: (pb.TableSchema,),
    Attribute.SPEC: (pb.TableSpec,),
    Attribute.SORT: (pb.TableSortOrder,),
    Attribute.VIEW: (pb.ViewText,),
    Attribute.REF: (pb.CatalogRecord,),
    Attribute.PARTITION: (pb.TablePartition,),
}


def check_arguments(change: Change) -> None:
    """Refuse what is wrong whatever the lake holds."""
    ids = [change.event_id, change.line.id, *change.lives, *(one for one, _ in change.attributes)]
    ids += [life.container_id for life in change.lives.values()]
    ids += [one for data in change.data for one in (data.table, data.partition)]
    ids += [table for table, _, _ in change.bodies]
    ids += [parent.line for parent in change.parents]
    ids += [_read_id(read) for read in change.reads]
    check_ids(ids)
    for object_id, life in change.lives.items():
        check_life(object_id, life)
    for (object_id, attribute), record in change.attributes.items():
        if not isinstance(record, RECORDS.get(attribute, ())):
            raise Invalid(f"this can't be written as {attribute.name}", subject=object_id, found=type(record).__name__)
    for text in (change.message, change.author, change.project):
        check_text(text)
    for operation in change.operations:
        _check_operation(operation)
    partitions = sorted(data.partition for data in change.data)
    if any(one == other for one, other in pairwise(partitions)):
        raise Invalid("a change has two deltas for one partition", subject=change.event_id)


def _read_id(read: Read) -> str:
    match read:
        case AttributeRead(object_id):
            return object_id
        case NameRead(parent) | ListingRead(parent):
            return parent
        case DataRead(partition):
            return partition


def _check_operation(operation: Operation) -> None:
    id_element(operation.object_id)
    if operation.type.upper() not in dict(pb.OperationType.items()) or not operation.type.islower():
        raise Invalid("there is no such operation", found=operation.type)
    if any(not -(2**63) <= count < 2**63 for count in operation.counts.values()):
        raise Invalid("a count is beyond 64 bits", subject=operation.object_id)


def check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Invalid("a text is not Unicode", found=repr(text)) from error


def check_ids(ids: Iterable[str]) -> None:
    for one in ids:
        id_element(one)


def check_size(change: Change, deltas: Sequence[Message]) -> None:
    """About what a store would say: each value, and everything together."""
    records: list[Message] = [*change.lives.values(), *change.attributes.values(), *deltas]
    sizes = [len(change.message.encode()), *(record.ByteSize() for record in records)]
    names = sum(4 * len(life.name.encode()) + 400 for life in change.lives.values())  # four rows with long keys
    total = sum(sizes) + names + sum(len(body) for body in change.bodies.values())
    for size, limit in ((max(sizes), VALUE_BYTES), (total, TRANSACTION_BYTES)):
        if size > limit:
            raise TooLarge("a change is too large", expected=f"at most {limit:,} bytes", found=size, advice="Split it.")
