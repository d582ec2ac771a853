from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ColumnStatistics(_message.Message):
    __slots__ = ("field_id", "value_count", "null_count", "nan_count", "lower", "upper", "size", "raw_size", "offset", "bloom_offset", "bloom_length", "bloom_checksum")
    FIELD_ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_COUNT_FIELD_NUMBER: _ClassVar[int]
    NULL_COUNT_FIELD_NUMBER: _ClassVar[int]
    NAN_COUNT_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    RAW_SIZE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    BLOOM_OFFSET_FIELD_NUMBER: _ClassVar[int]
    BLOOM_LENGTH_FIELD_NUMBER: _ClassVar[int]
    BLOOM_CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    field_id: int
    value_count: int
    null_count: int
    nan_count: int
    lower: bytes
    upper: bytes
    size: int
    raw_size: int
    offset: int
    bloom_offset: int
    bloom_length: int
    bloom_checksum: int
    def __init__(self, field_id: _Optional[int] = ..., value_count: _Optional[int] = ..., null_count: _Optional[int] = ..., nan_count: _Optional[int] = ..., lower: _Optional[bytes] = ..., upper: _Optional[bytes] = ..., size: _Optional[int] = ..., raw_size: _Optional[int] = ..., offset: _Optional[int] = ..., bloom_offset: _Optional[int] = ..., bloom_length: _Optional[int] = ..., bloom_checksum: _Optional[int] = ...) -> None: ...

class PartitionValue(_message.Message):
    __slots__ = ("field_id", "value")
    FIELD_ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    field_id: int
    value: bytes
    def __init__(self, field_id: _Optional[int] = ..., value: _Optional[bytes] = ...) -> None: ...

class Block(_message.Message):
    __slots__ = ("num_rows", "columns")
    NUM_ROWS_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    num_rows: int
    columns: _containers.RepeatedCompositeFieldContainer[ColumnStatistics]
    def __init__(self, num_rows: _Optional[int] = ..., columns: _Optional[_Iterable[_Union[ColumnStatistics, _Mapping]]] = ...) -> None: ...

class EntryLocation(_message.Message):
    __slots__ = ("key", "offset", "length", "raw_length", "shared")
    KEY_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    RAW_LENGTH_FIELD_NUMBER: _ClassVar[int]
    SHARED_FIELD_NUMBER: _ClassVar[int]
    key: str
    offset: int
    length: int
    raw_length: int
    shared: bool
    def __init__(self, key: _Optional[str] = ..., offset: _Optional[int] = ..., length: _Optional[int] = ..., raw_length: _Optional[int] = ..., shared: _Optional[bool] = ...) -> None: ...

class ColumnName(_message.Message):
    __slots__ = ("field_id", "name")
    FIELD_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    field_id: int
    name: str
    def __init__(self, field_id: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...

class DataFileRef(_message.Message):
    __slots__ = ("path", "file_size", "num_rows", "level", "seq_min", "seq_max", "key_min", "key_max", "dv_path", "dv_offset", "dv_length", "status", "format", "first_row_id", "statistics", "spec_id", "partition", "blocks", "deleted_rows", "key_schema_id", "field_ids", "constants", "column_names", "footer_checksum")
    PATH_FIELD_NUMBER: _ClassVar[int]
    FILE_SIZE_FIELD_NUMBER: _ClassVar[int]
    NUM_ROWS_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    SEQ_MIN_FIELD_NUMBER: _ClassVar[int]
    SEQ_MAX_FIELD_NUMBER: _ClassVar[int]
    KEY_MIN_FIELD_NUMBER: _ClassVar[int]
    KEY_MAX_FIELD_NUMBER: _ClassVar[int]
    DV_PATH_FIELD_NUMBER: _ClassVar[int]
    DV_OFFSET_FIELD_NUMBER: _ClassVar[int]
    DV_LENGTH_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    FIRST_ROW_ID_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    SPEC_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    DELETED_ROWS_FIELD_NUMBER: _ClassVar[int]
    KEY_SCHEMA_ID_FIELD_NUMBER: _ClassVar[int]
    FIELD_IDS_FIELD_NUMBER: _ClassVar[int]
    CONSTANTS_FIELD_NUMBER: _ClassVar[int]
    COLUMN_NAMES_FIELD_NUMBER: _ClassVar[int]
    FOOTER_CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    path: str
    file_size: int
    num_rows: int
    level: int
    seq_min: int
    seq_max: int
    key_min: bytes
    key_max: bytes
    dv_path: str
    dv_offset: int
    dv_length: int
    status: int
    format: int
    first_row_id: int
    statistics: _containers.RepeatedCompositeFieldContainer[ColumnStatistics]
    spec_id: int
    partition: _containers.RepeatedCompositeFieldContainer[PartitionValue]
    blocks: _containers.RepeatedCompositeFieldContainer[Block]
    deleted_rows: int
    key_schema_id: int
    field_ids: str
    constants: _containers.RepeatedCompositeFieldContainer[PartitionValue]
    column_names: _containers.RepeatedCompositeFieldContainer[ColumnName]
    footer_checksum: int
    def __init__(self, path: _Optional[str] = ..., file_size: _Optional[int] = ..., num_rows: _Optional[int] = ..., level: _Optional[int] = ..., seq_min: _Optional[int] = ..., seq_max: _Optional[int] = ..., key_min: _Optional[bytes] = ..., key_max: _Optional[bytes] = ..., dv_path: _Optional[str] = ..., dv_offset: _Optional[int] = ..., dv_length: _Optional[int] = ..., status: _Optional[int] = ..., format: _Optional[int] = ..., first_row_id: _Optional[int] = ..., statistics: _Optional[_Iterable[_Union[ColumnStatistics, _Mapping]]] = ..., spec_id: _Optional[int] = ..., partition: _Optional[_Iterable[_Union[PartitionValue, _Mapping]]] = ..., blocks: _Optional[_Iterable[_Union[Block, _Mapping]]] = ..., deleted_rows: _Optional[int] = ..., key_schema_id: _Optional[int] = ..., field_ids: _Optional[str] = ..., constants: _Optional[_Iterable[_Union[PartitionValue, _Mapping]]] = ..., column_names: _Optional[_Iterable[_Union[ColumnName, _Mapping]]] = ..., footer_checksum: _Optional[int] = ...) -> None: ...

class DeleteFileRef(_message.Message):
    __slots__ = ("path", "file_size", "content")
    PATH_FIELD_NUMBER: _ClassVar[int]
    FILE_SIZE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    path: str
    file_size: int
    content: int
    def __init__(self, path: _Optional[str] = ..., file_size: _Optional[int] = ..., content: _Optional[int] = ...) -> None: ...

class Rewrite(_message.Message):
    __slots__ = ("inputs", "outputs")
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedScalarFieldContainer[str]
    outputs: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, inputs: _Optional[_Iterable[str]] = ..., outputs: _Optional[_Iterable[str]] = ...) -> None: ...

class Manifest(_message.Message):
    __slots__ = ("snapshot_id", "sequence_number", "schema_id", "partition_spec_id", "data_files", "delete_files", "previous_snapshot_id", "table_uuid", "last_updated_ms", "properties", "last_column_id", "next_row_id", "first_row_id", "rewrites", "entries", "overwritten", "staged")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_NUMBER_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_SPEC_ID_FIELD_NUMBER: _ClassVar[int]
    DATA_FILES_FIELD_NUMBER: _ClassVar[int]
    DELETE_FILES_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_UUID_FIELD_NUMBER: _ClassVar[int]
    LAST_UPDATED_MS_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    LAST_COLUMN_ID_FIELD_NUMBER: _ClassVar[int]
    NEXT_ROW_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_ROW_ID_FIELD_NUMBER: _ClassVar[int]
    REWRITES_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    OVERWRITTEN_FIELD_NUMBER: _ClassVar[int]
    STAGED_FIELD_NUMBER: _ClassVar[int]
    snapshot_id: int
    sequence_number: int
    schema_id: int
    partition_spec_id: int
    data_files: _containers.RepeatedCompositeFieldContainer[DataFileRef]
    delete_files: _containers.RepeatedCompositeFieldContainer[DeleteFileRef]
    previous_snapshot_id: int
    table_uuid: str
    last_updated_ms: int
    properties: _containers.ScalarMap[str, str]
    last_column_id: int
    next_row_id: int
    first_row_id: int
    rewrites: _containers.RepeatedCompositeFieldContainer[Rewrite]
    entries: EntryLocation
    overwritten: str
    staged: bool
    def __init__(self, snapshot_id: _Optional[int] = ..., sequence_number: _Optional[int] = ..., schema_id: _Optional[int] = ..., partition_spec_id: _Optional[int] = ..., data_files: _Optional[_Iterable[_Union[DataFileRef, _Mapping]]] = ..., delete_files: _Optional[_Iterable[_Union[DeleteFileRef, _Mapping]]] = ..., previous_snapshot_id: _Optional[int] = ..., table_uuid: _Optional[str] = ..., last_updated_ms: _Optional[int] = ..., properties: _Optional[_Mapping[str, str]] = ..., last_column_id: _Optional[int] = ..., next_row_id: _Optional[int] = ..., first_row_id: _Optional[int] = ..., rewrites: _Optional[_Iterable[_Union[Rewrite, _Mapping]]] = ..., entries: _Optional[_Union[EntryLocation, _Mapping]] = ..., overwritten: _Optional[str] = ..., staged: _Optional[bool] = ...) -> None: ...

class Part(_message.Message):
    __slots__ = ("entries", "files", "rows", "bytes", "first_row_id", "last_row_id", "ranges")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    FIRST_ROW_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_ROW_ID_FIELD_NUMBER: _ClassVar[int]
    RANGES_FIELD_NUMBER: _ClassVar[int]
    entries: EntryLocation
    files: int
    rows: int
    bytes: int
    first_row_id: int
    last_row_id: int
    ranges: _containers.RepeatedCompositeFieldContainer[ColumnStatistics]
    def __init__(self, entries: _Optional[_Union[EntryLocation, _Mapping]] = ..., files: _Optional[int] = ..., rows: _Optional[int] = ..., bytes: _Optional[int] = ..., first_row_id: _Optional[int] = ..., last_row_id: _Optional[int] = ..., ranges: _Optional[_Iterable[_Union[ColumnStatistics, _Mapping]]] = ...) -> None: ...

class PartList(_message.Message):
    __slots__ = ("parts",)
    PARTS_FIELD_NUMBER: _ClassVar[int]
    parts: _containers.RepeatedCompositeFieldContainer[Part]
    def __init__(self, parts: _Optional[_Iterable[_Union[Part, _Mapping]]] = ...) -> None: ...
