"""Properties of a table that say how it is written: what they are changed to is no conflict with who went by them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.manifest.inline import DEFAULT_INLINE_BYTES, MOST_INLINE_BYTES


@dataclass(frozen=True, slots=True)
class Setting:
    """A property that is a whole number from `least` to `most`, and what it is unless the table has it."""

    name: str
    default: int
    least: int = 0
    most: int = 2**40


INLINE_BYTES: Final = Setting("write.inline-bytes", DEFAULT_INLINE_BYTES, most=MOST_INLINE_BYTES)
"""The most bytes that a write's rows have in the metastore; what is larger becomes files, with 0 everything."""

TARGET_FILE_BYTES: Final = Setting("write.target-file-bytes", 128 << 20, least=1)
ROW_GROUP_BYTES: Final = Setting("write.row-group-bytes", 64 << 20, least=1)
"""In memory, before they are compressed."""
ROW_GROUP_ROWS: Final = Setting("write.row-group-rows", 1 << 20, least=1, most=1 << 30)
KEYED_GROUP_ROWS: Final = replace(ROW_GROUP_ROWS, default=1 << 15)
"""Of a table with a primary key: a row by its key is found by decoding one row group."""

CHECKPOINT_DELTAS: Final = Setting("checkpoint.deltas", 128)
CHECKPOINT_BYTES: Final = Setting("checkpoint.bytes", 4_000_000)
"""How many deltas, and how many bytes of manifests, make a checkpoint due; 0 is never."""

DISTRIBUTION: Final = "write.distribution"
"""What Spark does with rows before it writes them: `partition` brings those of a partition together, `none` nothing."""

BLOOM_COLUMNS: Final = "write.bloom.columns"
"""The columns whose files get bloom filters, by name, with commas between them."""

BLOOM_FPP: Final = "write.bloom.fpp"
"""How many of the values that are not there a bloom filter may let pass: 0.01 is one of a hundred."""


def inline_bytes(work: Work, table: str) -> int:
    """The limit of inline rows of a table; `Invalid` if the property is no such number."""
    return number(work, table, INLINE_BYTES)


def number(work: Work, table: str, setting: Setting) -> int:
    """What a table has a setting at; `Invalid` if the property is no such number."""
    found = text(work, table, setting.name)
    if found is None:
        return setting.default
    if found.isascii() and found.isdigit() and len(found) <= len(str(setting.most)):
        value = int(found)
        if setting.least <= value <= setting.most:
            return value
    raise Invalid(
        "a property of the table is no number that it can be",
        subject=setting.name,
        expected=f"digits, {setting.least} to {setting.most}",
        found=repr(found),
        advice=f'Mend it with set_properties({{"{setting.name}": "{setting.default}"}}), or unset it.',
    )


def text(work: Work, table: str, name: str) -> str | None:
    """A property of a table, None if it has none of this name."""
    return texts(work, table).get(name)


def texts(work: Work, table: str) -> Mapping[str, str]:
    """The properties of a table."""
    record = cast("pb.TableProperties | None", work.unread_attribute(table, Attribute.PROPERTIES))
    return {} if record is None else record.properties
