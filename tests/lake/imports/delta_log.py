"""Delta tables whose logs the library does not write: with deletion vectors, and with mapped columns."""

import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pyarrow
import pyarrow.parquet
from pyroaring import BitMap64

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


class DeltaLog:
    """Writes a Delta table, version by version."""

    def __init__(self, folder: Path, fields: Iterable[Mapping[str, Any]], **settings: str) -> None:
        self.folder, self.version = folder, -1
        self._settings = settings
        self._adds = dict[str, Any]()
        self._vectors = 0
        (folder / "_delta_log").mkdir(parents=True)
        features = ["deletionVectors", "columnMapping"]
        protocol = {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": features,
            "writerFeatures": features,
        }
        self.write("CREATE TABLE", {"protocol": protocol}, self.metadata(fields))

    def metadata(self, fields: Iterable[Mapping[str, Any]], **settings: str) -> dict[str, Any]:
        """The action that sets columns."""
        self._settings |= settings
        schema = {"type": "struct", "fields": [{"nullable": True, "metadata": {}, **field} for field in fields]}
        return {
            "metaData": {
                "id": "760d97af-b9dd-44cf-96af-f2483575edf9",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(schema),
                "partitionColumns": [],
                "configuration": {"delta.enableDeletionVectors": "true", **self._settings},
            }
        }

    def add(self, name: str, rows: pyarrow.Table, **options: Any) -> dict[str, Any]:
        """The action that adds a new file."""
        path = self.folder / name
        pyarrow.parquet.write_table(rows, path, **options)
        self._adds[name] = {
            "path": quote(name),
            "partitionValues": {},
            "size": path.stat().st_size,
            "modificationTime": 1_700_000_000_000,
            "dataChange": True,
            "stats": json.dumps({"numRecords": rows.num_rows}),
        }
        return {"add": self._adds[name]}

    def delete(self, name: str, *positions: int) -> list[dict[str, Any]]:
        """The actions that delete rows of a file, instead of those deleted before."""
        self._vectors += 1
        id = UUID(int=self._vectors)
        blob = struct.pack("<i", 1681511377) + BitMap64(positions).serialize()
        data = b"\x01" + struct.pack(">i", len(blob)) + blob + struct.pack(">I", zlib.crc32(blob))
        (self.folder / f"deletion_vector_{id}.bin").write_bytes(data)
        place = {"storageType": "u", "pathOrInlineDv": _z85(id.bytes), "offset": 1}
        vector = {**place, "sizeInBytes": len(blob), "cardinality": len(positions)}
        gone = self.remove(name)
        self._adds[name] = {**self._adds[name], "deletionVector": vector}
        return [*gone, {"add": self._adds[name]}]

    def remove(self, name: str) -> list[dict[str, Any]]:
        """The action that removes a file."""
        vector = {key: value for key, value in self._adds[name].items() if key == "deletionVector"}
        return [{"remove": {"path": quote(name), "dataChange": True, "deletionTimestamp": 1_700_000_000_000, **vector}}]

    def write(self, operation: str, *actions: dict[str, Any]) -> None:
        """The next version."""
        self.version += 1
        info = {"timestamp": 1_700_000_000_000 + self.version, "operation": operation, "operationParameters": {}}
        lines = [{"commitInfo": {**info, "userName": "ben"}}, *actions]
        path = self.folder / "_delta_log" / f"{self.version:020}.json"
        path.write_text("\n".join(map(json.dumps, lines)))


def mapped(name: str, type: Any, id: int, physical: str) -> dict[str, Any]:
    """A field with column mapping."""
    metadata = {"delta.columnMapping.id": id, "delta.columnMapping.physicalName": physical}
    return {"name": name, "type": type, "metadata": metadata}


def _z85(data: bytes) -> str:
    text = ""
    for start in range(0, len(data), 4):
        number, own = struct.unpack(">I", data[start : start + 4])[0], ""
        for _ in range(5):
            own, number = _Z85[number % 85] + own, number // 85
        text += own
    return text
