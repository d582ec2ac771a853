"""The list of files that a stream reads, in the form of a streaming sink's log, which Spark's file source follows.

    <folder>/_spark_metadata/0 -> "v1", then one line of JSON for each file, in the order in which rows came

The list is replaced whole, by a rename. Spark remembers the paths that a query has read, in the query's checkpoint: so
the list may name them again. It lies in this machine's temporary folder, since only the driver reads it.
"""

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

HEADER: Final = "v1"


@dataclass(frozen=True, slots=True)
class Listed:
    """A file of the list: its address, as Spark opens it, and its size."""

    location: str
    size: int


class FileLog:
    """The list of one stream. Before it begins, Spark refuses to read it."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="lakebed-stream-")
        self._log = Path(self.folder, "_spark_metadata")
        self._log.mkdir()
        self._lines: list[str] = []
        self._known: set[str] = set()
        # Not when this object goes: Spark would find a DataFrame's folder gone, and take that for no files.
        atexit.register(_remove, self.folder, os.getpid())
        self.refuse("Lakebed did not see this query begin")

    @property
    def address(self) -> str:
        """The folder as Spark takes it."""
        return f"file://{self.folder}"

    def begin(self, files: Iterable[Listed] = ()) -> None:
        """Begin the list with these files."""
        self._lines, self._known = [], set()
        self.add(files)

    def add(self, files: Iterable[Listed]) -> None:
        """Add files at the end, all at once; Spark would read a file twice that is in the list twice."""
        for file in files:
            if file.location not in self._known:
                self._known.add(file.location)
                self._lines.append(_entry(file, len(self._lines) + 1))
        self._replace("\n".join([HEADER, *self._lines]))

    def refuse(self, why: str) -> None:
        """Make queries fail that look at the list from now on; Spark shows the reason."""
        self._lines, self._known = [], set()
        self._replace(" ".join(why.split()))

    def _replace(self, text: str) -> None:
        new = self._log / ".0.new"
        new.write_text(text, encoding="utf-8")
        new.rename(self._log / "0")


def _entry(file: Listed, order: int) -> str:
    scheme, _, rest = file.location.partition("://")
    entry = {
        "path": f"{scheme}://{quote(rest)}",
        "size": file.size,
        "isDir": False,
        "modificationTime": order,  # Spark reads files by their times, the oldest first
        "blockReplication": 1,
        "blockSize": file.size,
        "action": "add",
    }
    return json.dumps(entry)


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # a forked process ends earlier than this one
        shutil.rmtree(folder, ignore_errors=True)
