"""Which records an attribute can be."""

from google.protobuf.message import Message

from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute

LIVES = (pb.CatalogRecord, pb.DatabaseRecord, pb.TableReference, pb.TablePartition)

RECORDS: dict[Attribute, tuple[type[Message], ...]] = {
    Attribute.LIFE: LIVES,
    Attribute.PROPERTIES: (pb.CatalogRecord, pb.DatabaseRecord, pb.TableProperties, pb.TablePartition),
    Attribute.STORAGE: (pb.TableStorage,),
    Attribute.SCHEMA: (pb.TableSchema,),
    Attribute.SPEC: (pb.TableSpec,),
    Attribute.SORT: (pb.TableSortOrder,),
    Attribute.DATA: (pb.TableReference,),
    Attribute.VIEW: (pb.ViewText,),
    Attribute.REF: (pb.CatalogRecord,),
    Attribute.PARTITION: (pb.TablePartition,),
}
"""The types of an attribute's current rows; its history has theirs, that of DATA has deltas."""
