"""The checkpoints of flows: each run works on a copy, so that what it has read is published with what it wrote.

    <table's first folder>/streaming/checkpoints/<name>/   Spark's own files

Spark never changes a file of a checkpoint that it has written, so that a copy is hard links.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from lakebed.catalog.feed.arrivals import first_folder
from lakebed.catalog.feed.ends import end_at
from lakebed.errors import StepFailed
from lakebed.lake.catalog import Catalog
from lakebed.lake.table import Table
from lakebed.pipelines.running.positions import positions_of
from lakebed.pipelines.steps import Step

_BEGUN = "metadata"
"""The file that Spark writes first: a checkpoint without it is an empty one."""
_PLAIN = re.compile(r"[^\w-]+", re.ASCII)
_LONGEST = 40


def new_name(run: int, flow: str) -> str:
    """A name that no checkpoint of the table has, with the run and the flow for people."""
    return f"run-{run}-{_PLAIN.sub('_', flow)[:_LONGEST]}-{uuid4().hex[:12]}"


def place_of(table: Table[Any], name: str) -> Path:
    """The folder of one of a table's checkpoints, there or not."""
    return _folder(table) / name


def check_begun(place: Path, flow: str, step: str) -> None:
    """`StepFailed` if a checkpoint is gone: Spark would take an empty one, and read everything again."""
    if not (place / _BEGUN).is_file():
        raise StepFailed(
            "the checkpoint of a flow is missing",
            subject=f"step {step}, flow {flow}",
            found=str(place),
            advice=f"Restore it from a copy, or read everything again: full_refresh={step!r}.",
        )


def copy(old: Path, new: Path) -> None:
    """A copy of a checkpoint at a place that is free."""
    shutil.copytree(old, new, copy_function=_linked)


def make_durable(table: Table[Any], name: str, batch: int | None = None) -> None:
    """Sync a checkpoint, or what Spark has noted of a batch: what a commit says was read must not be read again.

    Spark syncs nothing. If the power fails, a commit would be there, and the note of what its batch had read would not.
    """
    files, place = table._scope.read().context.files, place_of(table, name)
    if batch is None:
        found = list(place.rglob("*"))
    else:
        notes = [*place.glob("offsets/*"), *place.glob("sources/*/*")]
        found = [place / _BEGUN, *(path for path in notes if path.name in (f"{batch}", f"{batch}.compact"))]
    files.sync(files.path_of(str(path)) for path in found if path.is_file())


def remove(table: Table[Any], name: str) -> None:
    """Delete a checkpoint that no branch has any more."""
    shutil.rmtree(place_of(table, name), ignore_errors=True)  # what is left, a later run prunes


def prune(line: Catalog, steps: Iterable[Step], before: float) -> None:
    """Delete the checkpoints of steps that no branch has, and that were last written to before a time, in seconds."""
    outputs = [step.outputs[0] for step in steps if step.flows]
    for table in (line.table(name) for name in outputs if line.table_exists(name)):
        kept = set(_known(line, table))
        folder = _folder(table)
        for place in folder.iterdir() if folder.is_dir() else ():
            if place.name not in kept and _last_written(place) < before:
                shutil.rmtree(place)


def _known(line: Catalog, table: Table[Any]) -> Iterator[str]:
    """The checkpoints that any branch would go on with."""
    for branch in line.branches():
        if branch.table_exists(str(table.name)):
            yield from (position.checkpoint for position in positions_of(branch.table(str(table.name))).values())


def _folder(table: Table[Any]) -> Path:
    work = table._scope.read()
    folder = first_folder(end_at(table._scope, str(table.id), work.base))
    return Path(work.context.files.location(f"{folder}/streaming/checkpoints"))


def _last_written(place: Path) -> float:
    return max(Path(folder).stat().st_mtime for folder, _, _ in os.walk(place))


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)
