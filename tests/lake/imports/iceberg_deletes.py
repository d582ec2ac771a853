"""Snapshots of Iceberg tables that PyIceberg reads and does not write: rows deleted by positions, or by values."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from random import getrandbits
from typing import Any
from uuid import uuid4

import fastavro
import pyarrow
import pyarrow.parquet

_IDS = {"file_path": b"2147483546", "pos": b"2147483545"}


def with_deletes(metadata: str, positions: Mapping[str, list[int]], content: int = 1) -> str:
    """Write the next metadata document of a table: rows at these positions of files are deleted; where it is."""
    path = Path(metadata.removeprefix("file://"))
    body = json.loads(path.read_text())
    folder, number = path.parent, getrandbits(62)
    [current] = [each for each in body["snapshots"] if each["snapshot-id"] == body["current-snapshot-id"]]
    list_schema, list_header, manifests = _read(current["manifest-list"])
    schema, header, entries = _read(manifests[0]["manifest_path"])
    deletes = folder.parent / "data" / f"{uuid4()}-deletes.parquet"
    count = _write_positions(deletes, positions)
    file = dict.fromkeys(entries[0]["data_file"])
    file |= {"content": content, "file_path": f"file://{deletes}", "file_format": "PARQUET", "partition": {}}
    file |= {"record_count": count, "file_size_in_bytes": os.path.getsize(deletes)}
    entry = {**entries[0], "status": 1, "snapshot_id": number, "sequence_number": None, "data_file": file}
    manifest = folder / f"{uuid4()}-m0.avro"
    _write(manifest, schema, {**header, "content": "deletes"}, [entry | {"file_sequence_number": None}])
    sequence = body["last-sequence-number"] + 1
    row = {**manifests[0], "manifest_path": f"file://{manifest}", "manifest_length": os.path.getsize(manifest)}
    row |= {"content": 1, "sequence_number": sequence, "min_sequence_number": sequence, "added_snapshot_id": number}
    row |= {"added_files_count": 1, "added_rows_count": count, "existing_files_count": 0, "existing_rows_count": 0}
    listing = folder / f"snap-{number}.avro"
    _write(listing, list_schema, list_header, [*manifests, row])
    snapshot = {**current, "snapshot-id": number, "parent-snapshot-id": current["snapshot-id"]}
    snapshot |= {"sequence-number": sequence, "manifest-list": f"file://{listing}", "summary": {"operation": "delete"}}
    body |= {
        "last-sequence-number": sequence,
        "current-snapshot-id": number,
        "snapshots": [*body["snapshots"], snapshot],
    }
    body["refs"]["main"]["snapshot-id"] = number
    last = max(int(each.name.split("-")[0]) for each in folder.glob("*.metadata.json"))
    found = folder / f"{last + 1:05}-{uuid4()}.metadata.json"
    found.write_text(json.dumps(body))
    return str(found)


def _write_positions(path: Path, positions: Mapping[str, list[int]]) -> int:
    pairs = [(file, position) for file, all_of_them in sorted(positions.items()) for position in all_of_them]
    types = {"file_path": pyarrow.string(), "pos": pyarrow.int64()}
    fields = [
        pyarrow.field(name, type, nullable=False, metadata={b"PARQUET:field_id": _IDS[name]})
        for name, type in types.items()
    ]
    columns = [[pair[place] for pair in pairs] for place in range(2)]
    pyarrow.parquet.write_table(
        pyarrow.Table.from_arrays(
            [pyarrow.array(column, type) for column, type in zip(columns, types.values(), strict=True)],
            schema=pyarrow.schema(fields),
        ),
        path,
    )
    return len(pairs)


def _read(address: str) -> tuple[Any, dict[str, str], list[Any]]:
    with open(address.removeprefix("file://"), "rb") as file:
        reader = fastavro.reader(file)
        header = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
        return reader.writer_schema, header, list(reader)


def _write(path: Path, schema: Any, header: dict[str, str], rows: list[Any]) -> None:
    with path.open("wb") as file:
        fastavro.writer(file, schema, rows, metadata=header)
