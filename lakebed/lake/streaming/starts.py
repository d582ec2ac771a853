"""Where a query began that reads a table from its present rows on: once, and kept for all its later starts.

    <table's first folder>/streaming/queries/<query id>.json -> what the line saw then, and the files with those rows

The id is Spark's for the query's checkpoint. The file is put before Spark looks at the list for the first time.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from lakebed.errors import AlreadyExists, Corrupt, NotFound
from lakebed.files import Files
from lakebed.records.cells import LineAt, Sight
from lakebed.store import Version
from lakebed.table.manifest.frame import crc32c

_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Start:
    """A state of a table: which commits it contains, whose columns it has, and paths of its files with their sizes."""

    sight: Sight
    holder: str
    changes: bool
    files: Sequence[tuple[str, int]]

    @property
    def fields(self) -> dict[str, Any]:
        return {
            "format-version": _FORMAT,
            "sight": [[at.line, str(at.version)] for at in self.sight],
            "holder": self.holder,
            "changes": self.changes,
            "files": [list(file) for file in self.files],
        }


def path_of(folder: str, query: str) -> str:
    """The path of a query's start."""
    return f"{folder}/queries/{query}.json"


def find_start(files: Files, folder: str, query: str) -> Start | None:
    """Where a query began, None if it has not."""
    path = path_of(folder, query)
    try:
        data = files.read(path)
    except NotFound:
        return None
    return _parsed(path, data)


def keep_start(files: Files, folder: str, query: str, start: Start) -> Start:
    """Note where a query begins; what it had noted before stays."""
    text = json.dumps(start.fields)
    data = json.dumps({"crc32c": crc32c(text.encode()), **start.fields}).encode()
    with suppress(AlreadyExists):
        files.put_if_absent(path_of(folder, query), data)
        return start
    found = find_start(files, folder, query)
    assert found is not None, "somebody deleted it"
    return found


def _parsed(path: str, data: bytes) -> Start:
    try:
        found: Mapping[str, Any] = json.loads(data)
        sum = found["crc32c"]
        own = {name: value for name, value in found.items() if name != "crc32c"}
        if found["format-version"] != _FORMAT or crc32c(json.dumps(own).encode()) != sum:
            raise ValueError("another format, or changed")
        sight = tuple(LineAt(line, Version.parse(version)) for line, version in found["sight"])
        return Start(sight, found["holder"], found["changes"], [(path, size) for path, size in found["files"]])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corrupt(
            "where the query began is not what was written",
            subject=path,
            found=str(error),
            advice="Begin again with a new checkpoint, and since= where it had come to.",
        ) from error
