from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ObjectType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OBJECT_TYPE_UNSPECIFIED: _ClassVar[ObjectType]
    PROJECT: _ClassVar[ObjectType]
    CATALOG: _ClassVar[ObjectType]
    BRANCH: _ClassVar[ObjectType]
    TAG: _ClassVar[ObjectType]
    SHARE: _ClassVar[ObjectType]
    NAMESPACE: _ClassVar[ObjectType]
    TABLE: _ClassVar[ObjectType]
    VIEW: _ClassVar[ObjectType]
    EDITION: _ClassVar[ObjectType]
    STREAM: _ClassVar[ObjectType]
    PARTITION: _ClassVar[ObjectType]

class ObjectDropType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DROP_TYPE_UNSPECIFIED: _ClassVar[ObjectDropType]
    MARKED: _ClassVar[ObjectDropType]
    PURGED: _ClassVar[ObjectDropType]

class SegmentSetType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INIT: _ClassVar[SegmentSetType]
    DATA: _ClassVar[SegmentSetType]
    INDEX: _ClassVar[SegmentSetType]

class OperationType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OPERATION_TYPE_UNSPECIFIED: _ClassVar[OperationType]
    CREATE: _ClassVar[OperationType]
    DROP: _ClassVar[OperationType]
    UNDROP: _ClassVar[OperationType]
    RESTORE: _ClassVar[OperationType]
    RENAME: _ClassVar[OperationType]
    PURGE: _ClassVar[OperationType]
    SET_PROPERTIES: _ClassVar[OperationType]
    UNSET_PROPERTIES: _ClassVar[OperationType]
    ADD_COLUMN: _ClassVar[OperationType]
    DROP_COLUMN: _ClassVar[OperationType]
    RENAME_COLUMN: _ClassVar[OperationType]
    RETYPE_COLUMN: _ClassVar[OperationType]
    MOVE_COLUMN: _ClassVar[OperationType]
    CHANGE_SPEC: _ClassVar[OperationType]
    CHANGE_SORT: _ClassVar[OperationType]
    INSERT: _ClassVar[OperationType]
    OVERWRITE: _ClassVar[OperationType]
    UPDATE: _ClassVar[OperationType]
    DELETE: _ClassVar[OperationType]
    MERGE_ROWS: _ClassVar[OperationType]
    DROP_PARTITION: _ClassVar[OperationType]
    ALTER_PARTITION: _ClassVar[OperationType]
    COMPACT: _ClassVar[OperationType]
    MERGE_BRANCH: _ClassVar[OperationType]
    CHERRY_PICK: _ClassVar[OperationType]
    REVERT: _ClassVar[OperationType]
    RESET: _ClassVar[OperationType]
    ALTER_VIEW: _ClassVar[OperationType]
    GRANT: _ClassVar[OperationType]
    REVOKE: _ClassVar[OperationType]
    CHANGE_KEY: _ClassVar[OperationType]
    UPSERT: _ClassVar[OperationType]
    TRUNCATE: _ClassVar[OperationType]
    CHANGE_STORAGE: _ClassVar[OperationType]
    ALTER_NAMESPACE: _ClassVar[OperationType]
    ACTIVATE: _ClassVar[OperationType]
    STAGE: _ClassVar[OperationType]
    ALTER_EDITION: _ClassVar[OperationType]
OBJECT_TYPE_UNSPECIFIED: ObjectType
PROJECT: ObjectType
CATALOG: ObjectType
BRANCH: ObjectType
TAG: ObjectType
SHARE: ObjectType
NAMESPACE: ObjectType
TABLE: ObjectType
VIEW: ObjectType
EDITION: ObjectType
STREAM: ObjectType
PARTITION: ObjectType
DROP_TYPE_UNSPECIFIED: ObjectDropType
MARKED: ObjectDropType
PURGED: ObjectDropType
INIT: SegmentSetType
DATA: SegmentSetType
INDEX: SegmentSetType
OPERATION_TYPE_UNSPECIFIED: OperationType
CREATE: OperationType
DROP: OperationType
UNDROP: OperationType
RESTORE: OperationType
RENAME: OperationType
PURGE: OperationType
SET_PROPERTIES: OperationType
UNSET_PROPERTIES: OperationType
ADD_COLUMN: OperationType
DROP_COLUMN: OperationType
RENAME_COLUMN: OperationType
RETYPE_COLUMN: OperationType
MOVE_COLUMN: OperationType
CHANGE_SPEC: OperationType
CHANGE_SORT: OperationType
INSERT: OperationType
OVERWRITE: OperationType
UPDATE: OperationType
DELETE: OperationType
MERGE_ROWS: OperationType
DROP_PARTITION: OperationType
ALTER_PARTITION: OperationType
COMPACT: OperationType
MERGE_BRANCH: OperationType
CHERRY_PICK: OperationType
REVERT: OperationType
RESET: OperationType
ALTER_VIEW: OperationType
GRANT: OperationType
REVOKE: OperationType
CHANGE_KEY: OperationType
UPSERT: OperationType
TRUNCATE: OperationType
CHANGE_STORAGE: OperationType
ALTER_NAMESPACE: OperationType
ACTIVATE: OperationType
STAGE: OperationType
ALTER_EDITION: OperationType

class Operation(_message.Message):
    __slots__ = ("type", "object_id", "name", "counts", "detail", "summary", "table_id")
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class SummaryEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TYPE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    type: OperationType
    object_id: str
    name: str
    counts: _containers.ScalarMap[str, int]
    detail: str
    summary: _containers.ScalarMap[str, str]
    table_id: str
    def __init__(self, type: _Optional[_Union[OperationType, str]] = ..., object_id: _Optional[str] = ..., name: _Optional[str] = ..., counts: _Optional[_Mapping[str, int]] = ..., detail: _Optional[str] = ..., summary: _Optional[_Mapping[str, str]] = ..., table_id: _Optional[str] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("field_id", "name", "type", "required", "comment", "physical_name")
    FIELD_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    PHYSICAL_NAME_FIELD_NUMBER: _ClassVar[int]
    field_id: int
    name: str
    type: str
    required: bool
    comment: str
    physical_name: str
    def __init__(self, field_id: _Optional[int] = ..., name: _Optional[str] = ..., type: _Optional[str] = ..., required: _Optional[bool] = ..., comment: _Optional[str] = ..., physical_name: _Optional[str] = ...) -> None: ...

class LineVersion(_message.Message):
    __slots__ = ("line_id", "version")
    LINE_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    line_id: str
    version: bytes
    def __init__(self, line_id: _Optional[str] = ..., version: _Optional[bytes] = ...) -> None: ...

class ObjectName(_message.Message):
    __slots__ = ("type", "parent_id", "name", "object_id")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    type: int
    parent_id: str
    name: str
    object_id: str
    def __init__(self, type: _Optional[int] = ..., parent_id: _Optional[str] = ..., name: _Optional[str] = ..., object_id: _Optional[str] = ...) -> None: ...

class DroppedObjectName(_message.Message):
    __slots__ = ("type", "parent_id", "name", "object_id", "dropped_time", "drop_type", "create_version", "dropped_version")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    DROPPED_TIME_FIELD_NUMBER: _ClassVar[int]
    DROP_TYPE_FIELD_NUMBER: _ClassVar[int]
    CREATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    DROPPED_VERSION_FIELD_NUMBER: _ClassVar[int]
    type: int
    parent_id: str
    name: str
    object_id: str
    dropped_time: int
    drop_type: ObjectDropType
    create_version: bytes
    dropped_version: bytes
    def __init__(self, type: _Optional[int] = ..., parent_id: _Optional[str] = ..., name: _Optional[str] = ..., object_id: _Optional[str] = ..., dropped_time: _Optional[int] = ..., drop_type: _Optional[_Union[ObjectDropType, str]] = ..., create_version: _Optional[bytes] = ..., dropped_version: _Optional[bytes] = ...) -> None: ...

class TableObjectName(_message.Message):
    __slots__ = ("catalog_id", "database_id", "name", "object_id", "type")
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    database_id: str
    name: str
    object_id: str
    type: ObjectType
    def __init__(self, catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., name: _Optional[str] = ..., object_id: _Optional[str] = ..., type: _Optional[_Union[ObjectType, str]] = ...) -> None: ...

class DroppedTableObjectName(_message.Message):
    __slots__ = ("catalog_id", "database_id", "name", "object_id", "create_time", "dropped_time", "drop_type", "type", "create_version", "dropped_version")
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    DROPPED_TIME_FIELD_NUMBER: _ClassVar[int]
    DROP_TYPE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CREATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    DROPPED_VERSION_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    database_id: str
    name: str
    object_id: str
    create_time: int
    dropped_time: int
    drop_type: ObjectDropType
    type: ObjectType
    create_version: bytes
    dropped_version: bytes
    def __init__(self, catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., name: _Optional[str] = ..., object_id: _Optional[str] = ..., create_time: _Optional[int] = ..., dropped_time: _Optional[int] = ..., drop_type: _Optional[_Union[ObjectDropType, str]] = ..., type: _Optional[_Union[ObjectType, str]] = ..., create_version: _Optional[bytes] = ..., dropped_version: _Optional[bytes] = ...) -> None: ...

class CatalogRecord(_message.Message):
    __slots__ = ("project_id", "catalog_id", "name", "create_time", "properties", "parent_type", "parent_project_id", "parent_id", "parent_version", "user_id", "dropped", "type", "container_id", "drop_type", "create_version", "ancestry", "granted_ids", "casing", "drop_version")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    PARENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    PARENT_PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    PARENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    DROP_TYPE_FIELD_NUMBER: _ClassVar[int]
    CREATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    ANCESTRY_FIELD_NUMBER: _ClassVar[int]
    GRANTED_IDS_FIELD_NUMBER: _ClassVar[int]
    CASING_FIELD_NUMBER: _ClassVar[int]
    DROP_VERSION_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    catalog_id: str
    name: str
    create_time: str
    properties: _containers.ScalarMap[str, str]
    parent_type: ObjectType
    parent_project_id: str
    parent_id: str
    parent_version: bytes
    user_id: str
    dropped: bool
    type: ObjectType
    container_id: str
    drop_type: ObjectDropType
    create_version: bytes
    ancestry: _containers.RepeatedCompositeFieldContainer[LineVersion]
    granted_ids: _containers.RepeatedScalarFieldContainer[str]
    casing: int
    drop_version: bytes
    def __init__(self, project_id: _Optional[str] = ..., catalog_id: _Optional[str] = ..., name: _Optional[str] = ..., create_time: _Optional[str] = ..., properties: _Optional[_Mapping[str, str]] = ..., parent_type: _Optional[_Union[ObjectType, str]] = ..., parent_project_id: _Optional[str] = ..., parent_id: _Optional[str] = ..., parent_version: _Optional[bytes] = ..., user_id: _Optional[str] = ..., dropped: _Optional[bool] = ..., type: _Optional[_Union[ObjectType, str]] = ..., container_id: _Optional[str] = ..., drop_type: _Optional[_Union[ObjectDropType, str]] = ..., create_version: _Optional[bytes] = ..., ancestry: _Optional[_Iterable[_Union[LineVersion, _Mapping]]] = ..., granted_ids: _Optional[_Iterable[str]] = ..., casing: _Optional[int] = ..., drop_version: _Optional[bytes] = ...) -> None: ...

class CatalogHistory(_message.Message):
    __slots__ = ("project_id", "catalog_id", "name", "properties", "parent_type", "parent_id", "parent_version", "dropped", "event_id", "version")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    PARENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    PARENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    catalog_id: str
    name: str
    properties: _containers.ScalarMap[str, str]
    parent_type: ObjectType
    parent_id: str
    parent_version: bytes
    dropped: bool
    event_id: str
    version: bytes
    def __init__(self, project_id: _Optional[str] = ..., catalog_id: _Optional[str] = ..., name: _Optional[str] = ..., properties: _Optional[_Mapping[str, str]] = ..., parent_type: _Optional[_Union[ObjectType, str]] = ..., parent_id: _Optional[str] = ..., parent_version: _Optional[bytes] = ..., dropped: _Optional[bool] = ..., event_id: _Optional[str] = ..., version: _Optional[bytes] = ...) -> None: ...

class CatalogCommit(_message.Message):
    __slots__ = ("event_id", "project_id", "catalog_id", "commit_time", "operation", "detail", "version", "author", "fingerprint", "base_version", "operations", "parents", "operation_parts", "clock")
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TIME_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    BASE_VERSION_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    PARENTS_FIELD_NUMBER: _ClassVar[int]
    OPERATION_PARTS_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    event_id: str
    project_id: str
    catalog_id: str
    commit_time: int
    operation: str
    detail: str
    version: bytes
    author: str
    fingerprint: bytes
    base_version: bytes
    operations: _containers.RepeatedCompositeFieldContainer[Operation]
    parents: _containers.RepeatedCompositeFieldContainer[LineVersion]
    operation_parts: int
    clock: int
    def __init__(self, event_id: _Optional[str] = ..., project_id: _Optional[str] = ..., catalog_id: _Optional[str] = ..., commit_time: _Optional[int] = ..., operation: _Optional[str] = ..., detail: _Optional[str] = ..., version: _Optional[bytes] = ..., author: _Optional[str] = ..., fingerprint: _Optional[bytes] = ..., base_version: _Optional[bytes] = ..., operations: _Optional[_Iterable[_Union[Operation, _Mapping]]] = ..., parents: _Optional[_Iterable[_Union[LineVersion, _Mapping]]] = ..., operation_parts: _Optional[int] = ..., clock: _Optional[int] = ...) -> None: ...

class DatabaseRecord(_message.Message):
    __slots__ = ("project_id", "catalog_id", "database_id", "catalog_name", "name", "properties", "location", "create_time", "description", "user_id", "type", "container_id", "dropped", "drop_type", "create_version", "drop_version")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    CATALOG_NAME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    DROP_TYPE_FIELD_NUMBER: _ClassVar[int]
    CREATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    DROP_VERSION_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    catalog_id: str
    database_id: str
    catalog_name: str
    name: str
    properties: _containers.ScalarMap[str, str]
    location: str
    create_time: str
    description: str
    user_id: str
    type: ObjectType
    container_id: str
    dropped: bool
    drop_type: ObjectDropType
    create_version: bytes
    drop_version: bytes
    def __init__(self, project_id: _Optional[str] = ..., catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., catalog_name: _Optional[str] = ..., name: _Optional[str] = ..., properties: _Optional[_Mapping[str, str]] = ..., location: _Optional[str] = ..., create_time: _Optional[str] = ..., description: _Optional[str] = ..., user_id: _Optional[str] = ..., type: _Optional[_Union[ObjectType, str]] = ..., container_id: _Optional[str] = ..., dropped: _Optional[bool] = ..., drop_type: _Optional[_Union[ObjectDropType, str]] = ..., create_version: _Optional[bytes] = ..., drop_version: _Optional[bytes] = ...) -> None: ...

class DatabaseHistory(_message.Message):
    __slots__ = ("catalog_id", "database_id", "name", "properties", "location", "create_time", "description", "user_id", "event_id", "version")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    database_id: str
    name: str
    properties: _containers.ScalarMap[str, str]
    location: str
    create_time: str
    description: str
    user_id: str
    event_id: str
    version: bytes
    def __init__(self, catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., name: _Optional[str] = ..., properties: _Optional[_Mapping[str, str]] = ..., location: _Optional[str] = ..., create_time: _Optional[str] = ..., description: _Optional[str] = ..., user_id: _Optional[str] = ..., event_id: _Optional[str] = ..., version: _Optional[bytes] = ...) -> None: ...

class TableReference(_message.Message):
    __slots__ = ("catalog_id", "database_id", "table_id", "name", "latest_meta", "latest_data", "type", "container_id", "dropped", "drop_type", "create_version", "drop_version")
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    LATEST_META_FIELD_NUMBER: _ClassVar[int]
    LATEST_DATA_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    DROP_TYPE_FIELD_NUMBER: _ClassVar[int]
    CREATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    DROP_VERSION_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    database_id: str
    table_id: str
    name: str
    latest_meta: str
    latest_data: str
    type: ObjectType
    container_id: str
    dropped: bool
    drop_type: ObjectDropType
    create_version: bytes
    drop_version: bytes
    def __init__(self, catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., table_id: _Optional[str] = ..., name: _Optional[str] = ..., latest_meta: _Optional[str] = ..., latest_data: _Optional[str] = ..., type: _Optional[_Union[ObjectType, str]] = ..., container_id: _Optional[str] = ..., dropped: _Optional[bool] = ..., drop_type: _Optional[_Union[ObjectDropType, str]] = ..., create_version: _Optional[bytes] = ..., drop_version: _Optional[bytes] = ...) -> None: ...

class TableSchema(_message.Message):
    __slots__ = ("catalog_id", "database_id", "table_id", "column", "schema_id")
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_ID_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    database_id: str
    table_id: str
    column: _containers.RepeatedCompositeFieldContainer[Column]
    schema_id: int
    def __init__(self, catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., table_id: _Optional[str] = ..., column: _Optional[_Iterable[_Union[Column, _Mapping]]] = ..., schema_id: _Optional[int] = ...) -> None: ...

class TableStorage(_message.Message):
    __slots__ = ("catalog_id", "database_id", "table_id", "location", "source_short_name", "file_format", "input_format", "output_format", "serde", "user_id", "properties", "edition_id", "stream_id", "partition_id", "active_edition_id")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_SHORT_NAME_FIELD_NUMBER: _ClassVar[int]
    FILE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    INPUT_FORMAT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FORMAT_FIELD_NUMBER: _ClassVar[int]
    SERDE_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    EDITION_ID_FIELD_NUMBER: _ClassVar[int]
    STREAM_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_ID_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_EDITION_ID_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    database_id: str
    table_id: str
    location: str
    source_short_name: str
    file_format: str
    input_format: str
    output_format: str
    serde: str
    user_id: str
    properties: _containers.ScalarMap[str, str]
    edition_id: str
    stream_id: str
    partition_id: str
    active_edition_id: str
    def __init__(self, catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., table_id: _Optional[str] = ..., location: _Optional[str] = ..., source_short_name: _Optional[str] = ..., file_format: _Optional[str] = ..., input_format: _Optional[str] = ..., output_format: _Optional[str] = ..., serde: _Optional[str] = ..., user_id: _Optional[str] = ..., properties: _Optional[_Mapping[str, str]] = ..., edition_id: _Optional[str] = ..., stream_id: _Optional[str] = ..., partition_id: _Optional[str] = ..., active_edition_id: _Optional[str] = ...) -> None: ...

class TableProperties(_message.Message):
    __slots__ = ("catalog_id", "database_id", "table_id", "properties")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    database_id: str
    table_id: str
    properties: _containers.ScalarMap[str, str]
    def __init__(self, catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., table_id: _Optional[str] = ..., properties: _Optional[_Mapping[str, str]] = ...) -> None: ...

class TablePartition(_message.Message):
    __slots__ = ("catalog_id", "database_id", "table_id", "name", "partition_id", "location", "file_format", "input_format", "output_format", "serde", "properties", "type", "container_id", "dropped", "drop_type", "create_version", "values", "state", "drop_version", "previous_id", "based_on")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARTITION_ID_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    FILE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    INPUT_FORMAT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FORMAT_FIELD_NUMBER: _ClassVar[int]
    SERDE_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    DROP_TYPE_FIELD_NUMBER: _ClassVar[int]
    CREATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DROP_VERSION_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_ID_FIELD_NUMBER: _ClassVar[int]
    BASED_ON_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    database_id: str
    table_id: str
    name: str
    partition_id: str
    location: str
    file_format: str
    input_format: str
    output_format: str
    serde: str
    properties: _containers.ScalarMap[str, str]
    type: ObjectType
    container_id: str
    dropped: bool
    drop_type: ObjectDropType
    create_version: bytes
    values: bytes
    state: str
    drop_version: bytes
    previous_id: str
    based_on: bytes
    def __init__(self, catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., table_id: _Optional[str] = ..., name: _Optional[str] = ..., partition_id: _Optional[str] = ..., location: _Optional[str] = ..., file_format: _Optional[str] = ..., input_format: _Optional[str] = ..., output_format: _Optional[str] = ..., serde: _Optional[str] = ..., properties: _Optional[_Mapping[str, str]] = ..., type: _Optional[_Union[ObjectType, str]] = ..., container_id: _Optional[str] = ..., dropped: _Optional[bool] = ..., drop_type: _Optional[_Union[ObjectDropType, str]] = ..., create_version: _Optional[bytes] = ..., values: _Optional[bytes] = ..., state: _Optional[str] = ..., drop_version: _Optional[bytes] = ..., previous_id: _Optional[str] = ..., based_on: _Optional[bytes] = ...) -> None: ...

class TableHistory(_message.Message):
    __slots__ = ("catalog_id", "database_id", "table_id", "segment_type", "cur_set_id", "set_ids", "table_index_url", "event_id", "version", "snapshot_id", "previous_snapshot_id", "sequence_number", "first_row_id", "schema_id", "spec_id", "operation", "totals", "counts", "manifest", "manifest_path", "manifest_length", "manifest_crc32c", "last_column_id")
    class TotalsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    CUR_SET_ID_FIELD_NUMBER: _ClassVar[int]
    SET_IDS_FIELD_NUMBER: _ClassVar[int]
    TABLE_INDEX_URL_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_NUMBER_FIELD_NUMBER: _ClassVar[int]
    FIRST_ROW_ID_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_ID_FIELD_NUMBER: _ClassVar[int]
    SPEC_ID_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    TOTALS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_PATH_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_CRC32C_FIELD_NUMBER: _ClassVar[int]
    LAST_COLUMN_ID_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    database_id: str
    table_id: str
    segment_type: SegmentSetType
    cur_set_id: str
    set_ids: _containers.RepeatedScalarFieldContainer[str]
    table_index_url: str
    event_id: str
    version: bytes
    snapshot_id: int
    previous_snapshot_id: int
    sequence_number: int
    first_row_id: int
    schema_id: int
    spec_id: int
    operation: OperationType
    totals: _containers.ScalarMap[str, int]
    counts: _containers.ScalarMap[str, int]
    manifest: bytes
    manifest_path: str
    manifest_length: int
    manifest_crc32c: int
    last_column_id: int
    def __init__(self, catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., table_id: _Optional[str] = ..., segment_type: _Optional[_Union[SegmentSetType, str]] = ..., cur_set_id: _Optional[str] = ..., set_ids: _Optional[_Iterable[str]] = ..., table_index_url: _Optional[str] = ..., event_id: _Optional[str] = ..., version: _Optional[bytes] = ..., snapshot_id: _Optional[int] = ..., previous_snapshot_id: _Optional[int] = ..., sequence_number: _Optional[int] = ..., first_row_id: _Optional[int] = ..., schema_id: _Optional[int] = ..., spec_id: _Optional[int] = ..., operation: _Optional[_Union[OperationType, str]] = ..., totals: _Optional[_Mapping[str, int]] = ..., counts: _Optional[_Mapping[str, int]] = ..., manifest: _Optional[bytes] = ..., manifest_path: _Optional[str] = ..., manifest_length: _Optional[int] = ..., manifest_crc32c: _Optional[int] = ..., last_column_id: _Optional[int] = ...) -> None: ...

class TableSchemaHistory(_message.Message):
    __slots__ = ("catalog_id", "database_id", "table_id", "column", "event_id", "version", "schema_id")
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_ID_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    database_id: str
    table_id: str
    column: _containers.RepeatedCompositeFieldContainer[Column]
    event_id: str
    version: bytes
    schema_id: int
    def __init__(self, catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., table_id: _Optional[str] = ..., column: _Optional[_Iterable[_Union[Column, _Mapping]]] = ..., event_id: _Optional[str] = ..., version: _Optional[bytes] = ..., schema_id: _Optional[int] = ...) -> None: ...

class TableStorageHistory(_message.Message):
    __slots__ = ("catalog_id", "database_id", "table_id", "location", "source_short_name", "file_format", "input_format", "output_format", "serde", "user_id", "properties", "event_id", "version", "edition_id", "stream_id", "partition_id", "active_edition_id")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_SHORT_NAME_FIELD_NUMBER: _ClassVar[int]
    FILE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    INPUT_FORMAT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FORMAT_FIELD_NUMBER: _ClassVar[int]
    SERDE_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    EDITION_ID_FIELD_NUMBER: _ClassVar[int]
    STREAM_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_ID_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_EDITION_ID_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    database_id: str
    table_id: str
    location: str
    source_short_name: str
    file_format: str
    input_format: str
    output_format: str
    serde: str
    user_id: str
    properties: _containers.ScalarMap[str, str]
    event_id: str
    version: bytes
    edition_id: str
    stream_id: str
    partition_id: str
    active_edition_id: str
    def __init__(self, catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., table_id: _Optional[str] = ..., location: _Optional[str] = ..., source_short_name: _Optional[str] = ..., file_format: _Optional[str] = ..., input_format: _Optional[str] = ..., output_format: _Optional[str] = ..., serde: _Optional[str] = ..., user_id: _Optional[str] = ..., properties: _Optional[_Mapping[str, str]] = ..., event_id: _Optional[str] = ..., version: _Optional[bytes] = ..., edition_id: _Optional[str] = ..., stream_id: _Optional[str] = ..., partition_id: _Optional[str] = ..., active_edition_id: _Optional[str] = ...) -> None: ...

class TablePropertiesHistory(_message.Message):
    __slots__ = ("catalog_id", "database_id", "table_id", "properties", "event_id", "version")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    database_id: str
    table_id: str
    properties: _containers.ScalarMap[str, str]
    event_id: str
    version: bytes
    def __init__(self, catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., table_id: _Optional[str] = ..., properties: _Optional[_Mapping[str, str]] = ..., event_id: _Optional[str] = ..., version: _Optional[bytes] = ...) -> None: ...

class TablePartitionHistory(_message.Message):
    __slots__ = ("catalog_id", "database_id", "table_id", "name", "partition_id", "location", "file_format", "input_format", "output_format", "serde", "properties", "event_id", "version")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARTITION_ID_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    FILE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    INPUT_FORMAT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FORMAT_FIELD_NUMBER: _ClassVar[int]
    SERDE_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    database_id: str
    table_id: str
    name: str
    partition_id: str
    location: str
    file_format: str
    input_format: str
    output_format: str
    serde: str
    properties: _containers.ScalarMap[str, str]
    event_id: str
    version: bytes
    def __init__(self, catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., table_id: _Optional[str] = ..., name: _Optional[str] = ..., partition_id: _Optional[str] = ..., location: _Optional[str] = ..., file_format: _Optional[str] = ..., input_format: _Optional[str] = ..., output_format: _Optional[str] = ..., serde: _Optional[str] = ..., properties: _Optional[_Mapping[str, str]] = ..., event_id: _Optional[str] = ..., version: _Optional[bytes] = ...) -> None: ...

class TableCommit(_message.Message):
    __slots__ = ("event_id", "catalog_id", "database_id", "table_id", "table_name", "create_time", "commit_time", "operation", "dropped_time", "version")
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    DATABASE_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TIME_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    DROPPED_TIME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    event_id: str
    catalog_id: str
    database_id: str
    table_id: str
    table_name: str
    create_time: int
    commit_time: int
    operation: _containers.RepeatedCompositeFieldContainer[Operation]
    dropped_time: int
    version: bytes
    def __init__(self, event_id: _Optional[str] = ..., catalog_id: _Optional[str] = ..., database_id: _Optional[str] = ..., table_id: _Optional[str] = ..., table_name: _Optional[str] = ..., create_time: _Optional[int] = ..., commit_time: _Optional[int] = ..., operation: _Optional[_Iterable[_Union[Operation, _Mapping]]] = ..., dropped_time: _Optional[int] = ..., version: _Optional[bytes] = ...) -> None: ...

class LakeRecord(_message.Message):
    __slots__ = ("format_version", "lake_id", "incarnation", "create_time")
    FORMAT_VERSION_FIELD_NUMBER: _ClassVar[int]
    LAKE_ID_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    format_version: int
    lake_id: str
    incarnation: int
    create_time: int
    def __init__(self, format_version: _Optional[int] = ..., lake_id: _Optional[str] = ..., incarnation: _Optional[int] = ..., create_time: _Optional[int] = ...) -> None: ...

class TableSpec(_message.Message):
    __slots__ = ("spec_id",)
    SPEC_ID_FIELD_NUMBER: _ClassVar[int]
    spec_id: int
    def __init__(self, spec_id: _Optional[int] = ...) -> None: ...

class TableSortOrder(_message.Message):
    __slots__ = ("sort_order_id",)
    SORT_ORDER_ID_FIELD_NUMBER: _ClassVar[int]
    sort_order_id: int
    def __init__(self, sort_order_id: _Optional[int] = ...) -> None: ...

class ColumnValue(_message.Message):
    __slots__ = ("field_id", "value")
    FIELD_ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    field_id: int
    value: bytes
    def __init__(self, field_id: _Optional[int] = ..., value: _Optional[bytes] = ...) -> None: ...

class PartitionValues(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[ColumnValue]
    def __init__(self, values: _Optional[_Iterable[_Union[ColumnValue, _Mapping]]] = ...) -> None: ...

class ViewText(_message.Message):
    __slots__ = ("sql", "schema_id")
    class SqlEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SQL_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_ID_FIELD_NUMBER: _ClassVar[int]
    sql: _containers.ScalarMap[str, str]
    schema_id: int
    def __init__(self, sql: _Optional[_Mapping[str, str]] = ..., schema_id: _Optional[int] = ...) -> None: ...

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

class TableCheckpoint(_message.Message):
    __slots__ = ("table_id", "snapshot_id", "sequence_number", "schema_id", "top", "top_list", "counts", "last_row_id", "written_ms")
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_NUMBER_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_ID_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    TOP_LIST_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    LAST_ROW_ID_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_MS_FIELD_NUMBER: _ClassVar[int]
    table_id: str
    snapshot_id: int
    sequence_number: int
    schema_id: int
    top: EntryLocation
    top_list: bytes
    counts: _containers.ScalarMap[str, int]
    last_row_id: int
    written_ms: int
    def __init__(self, table_id: _Optional[str] = ..., snapshot_id: _Optional[int] = ..., sequence_number: _Optional[int] = ..., schema_id: _Optional[int] = ..., top: _Optional[_Union[EntryLocation, _Mapping]] = ..., top_list: _Optional[bytes] = ..., counts: _Optional[_Mapping[str, int]] = ..., last_row_id: _Optional[int] = ..., written_ms: _Optional[int] = ...) -> None: ...

class CheckpointIntent(_message.Message):
    __slots__ = ("paths", "begun_ms", "abandoned")
    PATHS_FIELD_NUMBER: _ClassVar[int]
    BEGUN_MS_FIELD_NUMBER: _ClassVar[int]
    ABANDONED_FIELD_NUMBER: _ClassVar[int]
    paths: _containers.RepeatedScalarFieldContainer[str]
    begun_ms: int
    abandoned: bool
    def __init__(self, paths: _Optional[_Iterable[str]] = ..., begun_ms: _Optional[int] = ..., abandoned: _Optional[bool] = ...) -> None: ...
