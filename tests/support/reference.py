"""The parts of the guide that follow from the code: `python -m tests.support.reference` writes them into their pages.

docs/guide/configuration.md    the properties of tables: names, defaults and ranges are the code's, meanings are here
docs/guide/errors.md           the tree of errors, as the docstring of lakebed/errors.py draws it
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lakebed import errors
from lakebed.catalog.tables import iceberg_properties as iceberg
from lakebed.catalog.tables import known_properties as known
from lakebed.catalog.tables import properties as typed
from lakebed.catalog.tables.properties import Setting
from lakebed.catalog.transaction.manifest_files import MANIFESTS, PLACES

GUIDE = Path(__file__).parents[2] / "docs/guide"
BEGIN, END = "<!-- python -m tests.support.reference begins -->", "<!-- python -m tests.support.reference ends -->"

MEANINGS = {
    "write.inline-bytes": "a write of at most this size is stored in the commit, without a file; 0 always writes files "
    "([rows](rows.md#inline-rows))",
    "write.target-file-bytes": "a writer begins a new file when one has this size; compaction aims at it",
    "write.row-group-bytes": "the size of a row group in memory, before compression; on Spark of encoded pages",
    "write.row-group-rows": "rows of a row group; 32,768 with a primary key, because `get` decodes one group",
    "write.bloom.columns": "columns that get bloom filters, separated by commas",
    "write.bloom.fpp": "false positives of a bloom filter: 0.01 lets one absent value of a hundred pass",
    "write.row-changes": "`merge-on-read` deletes rows by vectors, `copy-on-write` rewrites their files "
    "([rows](rows.md#copy-on-write))",
    "write.check-keys": "`append` refuses primary keys that the table has ([constraints](constraints.md#keys))",
    "write.distribution": "on Spark: `partition` shuffles the rows of a partition together, `none` writes them as they "
    "come ([spark](spark.md#writing))",
    "write.manifests": "`files` writes each manifest as a file, for readers without Lakebed "
    "([rows](rows.md#manifests-as-files))",
    "write.parquet.compression-codec": "how pages are compressed",
    "write.parquet.compression-level": "of zstd; unset, each engine has its own",
    "write.parquet.page-size-bytes": "when a page of a column is full",
    "write.parquet.dict-size-bytes": "how large a column's dictionary may be; unset, each engine has its own",
    "checkpoint.deltas": "commits to a table after which a checkpoint is written; 0 means never "
    "([compaction](compaction.md#checkpoints))",
    "checkpoint.bytes": "bytes of manifests after which one is written; 0 means never",
    "checkpoint.layout": "`non-shared` keeps each file's metadata in an object of its own "
    "([inspect](inspect.md#__segments))",
    "check.<name>": "a condition in SQL that no row may break ([constraints](constraints.md#checks))",
    "write.target-file-size-bytes": "`write.target-file-bytes`",
    "write.parquet.row-group-size-bytes": "`write.row-group-bytes`",
    "write.delete.mode": "`write.row-changes`, of deletes alone",
    "write.update.mode": "`write.row-changes`, of updates alone",
    "write.merge.mode": "`write.row-changes`, of upserts and merges alone",
    "write.distribution-mode": "`write.distribution`: `hash` is `partition`",
    "write.format.default": "the format of data files",
}

UNITS = {"write.row-group-rows": " rows", "checkpoint.deltas": " commits"}

TEXTS: dict[str, tuple[str, str]] = {  # the default and the values of properties that are not numbers
    typed.BLOOM_COLUMNS: ("none", "names of columns"),
    typed.BLOOM_FPP: (str(typed.DEFAULTS.bloom_fpp), "above 0, below 1"),
    typed.ROW_CHANGES: (typed.RowChanges.MERGE_ON_READ.value, " or ".join(way.value for way in typed.RowChanges)),
    typed.CHECK_KEYS: ("false", "true or false"),
    typed.DISTRIBUTION: (typed.DEFAULTS.distribution.value, " or ".join(way.value for way in typed.Distribution)),
    typed.CODEC: (typed.DEFAULTS.codec.value, ", ".join(codec.value for codec in typed.Codec)),
    typed.CHECKPOINT_LAYOUT: (typed.Layout.SHARED.value, " or ".join(layout.value for layout in typed.Layout)),
    MANIFESTS: (PLACES[0], " or ".join(PLACES)),
    iceberg.FORMAT: ("parquet", "parquet"),
    iceberg.DISTRIBUTION_MODE: ("hash", "hash or none"),
    **dict.fromkeys(iceberg.MODES.values(), ("merge-on-read", "merge-on-read or copy-on-write")),
}


@dataclass(frozen=True, slots=True)
class Property:
    """One row of the reference."""

    name: str
    default: str
    values: str
    meaning: str

    def __str__(self) -> str:
        return f"| `{self.name}` | {self.default} | {self.values} | {self.meaning} |"


def properties() -> list[Property]:
    """Every property of a table that Lakebed obeys, those with a name of Iceberg's own last."""
    numbers = {name: setting for setting in known._NUMBERS for name in (setting.name, setting.iceberg) if name}
    ours = [name for name in known._VALUES if name not in known._PAIRS and name != iceberg.FORMAT]
    theirs = [name for name in known._VALUES if name not in ours]
    return [
        *(property_of(name, numbers) for name in sorted(ours)),
        Property("check.<name>", "none", "a condition", MEANINGS["check.<name>"]),
        *(property_of(name, numbers) for name in sorted(theirs)),
    ]


def property_of(name: str, numbers: dict[str, Setting]) -> Property:
    if name not in numbers:
        return Property(name, *TEXTS[name], MEANINGS[name])
    setting = numbers[name]
    unit = UNITS.get(name, "")
    default = "the engine's" if setting in (typed.LEVEL, typed.DICTIONARY_BYTES) else amount(setting, setting.default)
    return Property(
        name, default + unit, f"{amount(setting, setting.least)} to {amount(setting, setting.most)}", MEANINGS[name]
    )


def amount(setting: Setting, value: int) -> str:
    """A number as `set_properties` takes it, apart from the commas."""
    if not setting.is_size:
        return f"{value:,}"
    for power, unit in ((40, "TB"), (30, "GB"), (20, "MB"), (10, "KB")):
        if value and value % (1 << power) == 0:
            return f"{value >> power} {unit}"
    return f"{value:,} bytes" if value != 1 else "1 byte"


def table_of_properties() -> str:
    heading = "| property | default | values | |\n| --- | --- | --- | --- |\n"
    return heading + "\n".join(map(str, properties()))


def table_of_errors() -> str:
    heading = "| error | `kind` | when | what to do next |\n| --- | --- | --- | --- |\n"
    return heading + "\n".join(rows_of_errors())


def rows_of_errors() -> Iterator[str]:
    """The errors in the order of the tree; `KeyError` for one that it does not draw."""
    advice = dict(re.findall(r"[├└]── (\w+) +(.+)", errors.__doc__ or ""))
    for name, error in errors_by_name().items():
        if error is not errors.LakebedError:
            below = ", ".join(f"`{base.__name__}`" for base in error.__bases__ if base is not errors.LakebedError)
            kind_of = f", a kind of {below}" if below else ""
            yield f"| `{name}`{kind_of} | `{error.kind}` | {error.__doc__} | {advice[name]} |"


def errors_by_name() -> dict[str, type[errors.LakebedError]]:
    """All errors, as the module has them."""
    found = vars(errors).items()
    return {name: one for name, one in found if isinstance(one, type) and issubclass(one, errors.LakebedError)}


SECTIONS: dict[str, Callable[[], str]] = {"configuration.md": table_of_properties, "errors.md": table_of_errors}


def current(page: str, section: str) -> str:
    """A page with its section as the code has it."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{section}\n\n{END}{after}"


if __name__ == "__main__":
    for name, section in SECTIONS.items():
        path = GUIDE / name
        path.write_text(current(path.read_text(encoding="utf-8"), section()), encoding="utf-8")
