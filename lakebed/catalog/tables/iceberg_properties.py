"""Iceberg's properties: those that Lakebed obeys, under which names, and why it refuses the others."""

from collections.abc import Mapping
from typing import Final

from lakebed.errors import Invalid

FORMAT: Final = "write.format.default"
DISTRIBUTION_MODE: Final = "write.distribution-mode"
MODES: Final = {"delete": "write.delete.mode", "update": "write.update.mode", "merge": "write.merge.mode"}

_METADATA: Final = (
    "Lakebed keeps metadata in its store, and condenses it as checkpoint.deltas and checkpoint.bytes say."
)
_FOLDER: Final = "Lakebed names files itself: create_table(…, location=…) chooses their folder."
_PARQUET: Final = "Lakebed writes Parquet: set write.parquet.compression-codec."
_ISOLATION: Final = 'Use transaction(isolation="snapshot").'

_REFUSED: Final = {
    "write.metadata.": _METADATA,
    "write.manifest": f"{_METADATA} Set write.manifests to files to have each manifest as a file.",
    "write.parquet.bloom-filter": "Set write.bloom.columns and write.bloom.fpp.",
    "write.parquet.page-row-limit": "Set write.parquet.page-size-bytes.",
    "write.parquet.row-group-check": "Set write.row-group-rows.",
    "write.delete.isolation-level": _ISOLATION,
    "write.update.isolation-level": _ISOLATION,
    "write.merge.isolation-level": _ISOLATION,
    "write.delete.distribution-mode": "Set write.distribution.",
    "write.update.distribution-mode": "Set write.distribution.",
    "write.merge.distribution-mode": "Set write.distribution.",
    "write.delete.": "Lakebed deletes rows by deletion vectors in Puffin files, or with write.row-changes by copies.",
    "write.avro.": _PARQUET,
    "write.orc.": _PARQUET,
    "write.object-storage.": _FOLDER,
    "write.location-provider.": _FOLDER,
    "write.data.path": _FOLDER,
    "write.folder-storage.path": _FOLDER,
    "write.wap.enabled": "Write on a branch: create_branch, then merge.",
    "write.upsert.enabled": "Call upsert(…) instead of append(…).",
    "write.spark.fanout.enabled": "Set write.distribution.",
    "format-version": "An export has the version that its rows need; lake.format_version is that of the lake.",
    "history.expire.": "Lakebed keeps every version until the table is purged.",
    "gc.enabled": "Lakebed keeps every version until the table is purged.",
    "commit.retry.": "Changes are retried by themselves; lake.run(…, attempts=…) says how often a transaction is.",
    "commit.status-check.": "A commit whose answer is lost is looked up by its event id.",
    "commit.manifest": _METADATA,
    "read.split.": "On Spark set spark.sql.files.maxPartitionBytes.",
    "read.parquet.": "Parquet is read in batches of columns.",
    "read.orc.": _PARQUET,
    "schema.name-mapping.default": "Columns have ids; export_iceberg(…) writes the mapping.",
    "compatibility.snapshot-id-inheritance.": _METADATA,
    "engine.hive.": "Hive reads an export: export_iceberg(…).",
    "encryption.": "Lakebed does not encrypt files: use an encrypted disk or bucket.",
}
"""By how Iceberg's names begin, what to do instead; the first that fits."""


OTHERS: Final = tuple(begin for begin in _REFUSED if not begin.startswith("write."))
"""How names of Iceberg's begin that are not `write.` ones: they have an effect there, and would have none here."""


def advice_for(name: str) -> str | None:
    """What to do instead of setting a property of Iceberg's that Lakebed does not have; None if it is not known."""
    return next((advice for begin, advice in _REFUSED.items() if name.lower().startswith(begin)), None)


def check_one_name(stored: Mapping[str, str], given: Mapping[str, str], pairs: Mapping[str, str]) -> None:
    """Refuse what is set by two names at once. `pairs` are Iceberg's names and Lakebed's own for the same thing."""
    after = {**stored, **given}
    for theirs, ours in pairs.items():
        if theirs in after and ours in after and (theirs in given or ours in given):
            kept = theirs if theirs in given else ours
            other = ours if kept == theirs else theirs
            raise Invalid(
                "two properties say the same thing, by Iceberg's name and by Lakebed's",
                subject=f"{theirs} and {ours}",
                expected="one of them",
                advice=f"Leave {other} out, or unset it first: unset_properties([{other!r}]).",
            )
