"""How and where a table's data is stored: the record `TableStorage` as people see it, and its changes.

Files are Parquet, and nothing else can be read. What Hive calls the formats and the serde follows from that; a record
has them only if one of Hive's other names for Parquet was chosen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final, cast

from lakebed.catalog.objects.properties import check_properties, is_text
from lakebed.catalog.tables.locations import check_location
from lakebed.catalog.transaction.commits import Argument
from lakebed.catalog.transaction.holders import check_alive, holder_of
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt, Invalid
from lakebed.metastore import Operation
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute

SOURCE: Final = "lakebed"
"""The short name of Spark's data source that reads a table."""

PARQUET: Final = "parquet"

_HIVE: Final = "org.apache.hadoop.hive.ql.io.parquet"
_NAMES: Final = {
    "input_format": (f"{_HIVE}.MapredParquetInputFormat", "parquet.hive.DeprecatedParquetInputFormat"),
    "output_format": (f"{_HIVE}.MapredParquetOutputFormat", "parquet.hive.DeprecatedParquetOutputFormat"),
    "serde": (f"{_HIVE}.serde.ParquetHiveSerDe", "parquet.hive.serde.ParquetHiveSerDe"),
}
"""By field, the classes by which a Hive metastore names Parquet: today's first."""

FORMATS: Final = {"file_format": PARQUET, **{name: own[0] for name, own in _NAMES.items()}}
"""By field, what a record means that leaves it out."""

_FIELDS: Final = {"owner": "user_id"}
"""Fields of the record that people know by another name."""

_KEPT: Final = ("location", "file_format", "input_format", "output_format", "serde")
_PROPERTY: Final = "storage property "


@dataclass(frozen=True, slots=True)
class Storage:
    """How a table is stored. `location` is the folder that new files go to; those of before stay where they are.

    `input_format`, `output_format` and `serde` are Hive's classes for the files. `owner` is None in a lake from before
    it was kept. `properties` are the storage's own: what Hive calls serde properties.
    """

    location: str
    source_short_name: str
    file_format: str
    input_format: str
    output_format: str
    serde: str
    owner: str | None
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StorageChange:
    """What to change of a table's storage; None stays as it is. `properties` replaces all of them."""

    location: str | None = None
    file_format: str | None = None
    input_format: str | None = None
    output_format: str | None = None
    serde: str | None = None
    owner: str | None = None
    properties: Mapping[str, str] | None = field(default=None)

    def __post_init__(self) -> None:
        if self.location is not None:
            check_location(self.location)
        if self.file_format is not None:
            _check_named("file_format", self.file_format, (PARQUET,), "Leave it out: files are Parquet.")
        for name, classes in _NAMES.items():
            if (given := getattr(self, name)) is not None:
                _check_named(name, given, classes, "Files are Parquet: another reader would not read them.")
        if self.owner is not None:
            check_owner(self.owner)
        if self.properties is not None:
            check_properties(self.properties)

    @property
    def given(self) -> dict[str, Argument]:
        """What is to be changed, by name."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) is not None}


def check_owner(owner: str) -> str:
    """The name of an owner, or `Invalid`."""
    if not is_text(owner) or not owner:
        raise Invalid("an owner is text", expected="a name", found=repr(owner))
    return owner


def storage_of(record: pb.TableStorage) -> Storage:
    """A record as people see it, with what follows from the format of its files."""
    whole = filled_storage(record)
    return Storage(
        whole.location,
        whole.source_short_name,
        whole.file_format,
        whole.input_format,
        whole.output_format,
        whole.serde,
        whole.user_id or None,
        dict(sorted(whole.properties.items())),
    )


def filled_storage(record: pb.TableStorage) -> pb.TableStorage:
    """The record with what it leaves out because it follows from the format of its files."""
    whole = pb.TableStorage()
    whole.CopyFrom(record)
    known = {"source_short_name": SOURCE, **FORMATS}
    for name, value in known.items():
        if not getattr(whole, name):
            setattr(whole, name, value)
    return whole


def table_storage(work: Work, table: str) -> Storage:
    """How a table is stored; `NotFound` if it is not alive."""
    work.load_with_path(table, Attribute.STORAGE)
    check_alive(work, table)
    return storage_of(stored_record(work, holder_of(work, table)))


def stored_record(work: Work, table: str) -> pb.TableStorage:
    record = cast("pb.TableStorage | None", work.attribute(table, Attribute.STORAGE))
    if record is None:
        raise Corrupt("a record of the object is missing", subject=table, advice="Run lake.check().")
    return record


def set_storage(work: Work, table: str, change: StorageChange) -> None:
    """Change how a table is stored: new files go by it, those of before stay as they are."""
    check_alive(work, table)
    holder = holder_of(work, table)
    record = pb.TableStorage()
    record.CopyFrom(stored_record(work, holder))
    put_storage(record, change, holder)
    work.put_attribute(holder, Attribute.STORAGE, record)
    name = spelled(work.name_parts(holder))
    work.note(Operation("change_storage", holder, name, detail=", ".join(sorted(change.given))))


def put_storage(record: pb.TableStorage, change: StorageChange, table: str) -> None:
    """Put a change into a record."""
    for name, value in change.given.items():
        if name == "properties":
            record.ClearField("properties")
            record.properties.update(cast(Mapping[str, str], value))
        elif name == "location":
            record.location = table_folder(table, cast(str, value))
        else:
            setattr(record, _FIELDS.get(name, name), value)


def fields_of(record: pb.TableStorage) -> dict[str, str]:
    """The values of a record that can be changed, as a merge compares them."""
    whole = filled_storage(record)
    named = {"owner": whole.user_id, **{f"storage {name.replace('_', ' ')}": getattr(whole, name) for name in _KEPT}}
    own = {f"{_PROPERTY}{key}": value for key, value in whole.properties.items()}
    return {**{name: value for name, value in named.items() if value}, **own}


def with_fields(record: pb.TableStorage, values: Mapping[str, str]) -> pb.TableStorage:
    """A copy of a record with these values of `fields_of` instead of its own; others stay."""
    changed = pb.TableStorage()
    changed.CopyFrom(record)
    changed.ClearField("user_id")
    if "owner" in values:
        changed.user_id = values["owner"]
    for name in _KEPT:
        setattr(changed, name, values[f"storage {name.replace('_', ' ')}"])
    changed.ClearField("properties")
    own = {key.removeprefix(_PROPERTY): value for key, value in values.items() if key.startswith(_PROPERTY)}
    changed.properties.update(own)
    return changed


def table_folder(table: str, parent: str) -> str:
    """A folder of the table's own below `parent`, so that purging it can't delete files of others."""
    return f"{parent.rstrip('/')}/{table}"


def _check_named(what: str, given: object, expected: tuple[str, ...], advice: str) -> None:
    if given not in expected:
        raise Invalid(
            f"this can't be the {what.replace('_', ' ')} of a table",
            subject=repr(given),
            expected=" or ".join(expected),
            advice=advice,
        )
