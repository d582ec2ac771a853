"""Whether the sequence numbers in files' entries bound those of their rows."""

from typing import Any

from lakebed import Table
from tests.support.seed_reader import read_manifest


def live_entries(table: Table[Any]) -> dict[str, dict[str, Any]]:
    """The live files by location, folded from the frames that the source document's reader reads."""
    live: dict[str, dict[str, Any]] = {}
    for info in reversed(table.snapshots()):
        for file in read_manifest(table.manifest(info.id).data)["data_files"]:
            if file["status"] == 2:
                del live[file["path"]]
            else:
                live[file["path"]] = file
    return live


def check_bounds(table: Table[Any]) -> list[tuple[int, int]]:
    """Every file's bounds are exactly the least and greatest numbers of its rows, deleted ones aside.

    No row that a snapshot shows has a number above the snapshot's own, and these only grow.
    """
    rows = table.scan(columns=["_file", "_last_updated_sequence_number"]).to_arrow()
    found: dict[str, list[int]] = {}
    for path, number in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        found.setdefault(path, []).append(number)
    entries = live_entries(table)
    own = [info.sequence_number for info in table.snapshots()]
    assert own == sorted(set(own), reverse=True)
    assert max((entry["seq_max"] for entry in entries.values()), default=0) <= own[0]
    assert table.describe().metadata()["last-sequence-number"] == own[0]
    bounds: dict[str, tuple[int, int]] = {}
    for path, numbers in found.items():
        [entry] = [entry for name, entry in entries.items() if path.endswith(name)]
        assert entry["seq_min"] <= min(numbers) <= max(numbers) <= entry["seq_max"]
        if "dv_path" not in entry:
            assert (entry["seq_min"], entry["seq_max"]) == (min(numbers), max(numbers))
        bounds[path] = entry["seq_min"], entry["seq_max"]
    return sorted(bounds.values())
