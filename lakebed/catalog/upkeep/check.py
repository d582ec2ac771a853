"""The check of a lake: its records, and the files that they refer to.

Files are looked at after the records that name them were read. A file that is missing, and no longer referred to when
that is looked up again, was purged meanwhile: it is not a problem.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from lakebed.catalog.data.checkpoints import open_checkpoint
from lakebed.catalog.data.deletion_vectors import check_vector
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.upkeep.orphans import orphans
from lakebed.catalog.upkeep.references import (
    FileKind,
    Reference,
    kept_records,
    lake_paths,
    own_files,
    referred_by,
    schema_id_of,
    table_of,
)
from lakebed.catalog.upkeep.refs import last_names
from lakebed.errors import Corrupt, LakebedError, NotFound
from lakebed.files import Files
from lakebed.metastore import State
from lakebed.records import records_pb2 as pb
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.manifest.puffin import MAGIC, parse_puffin
from lakebed.table.statistics.blocks import check_blocks

_TABLE = re.compile(r"\btable ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")

ReadWhole = Callable[[DataFileRef], None]
"""Reads a data file with all its checksums, and raises what is wrong with it."""


class Findings(list[str]):
    """What is wrong, one sentence each; empty if nothing is. `orphans` are files of the lake that nothing refers to.

    An orphan is not damage: a killed writer leaves some, and the files of an export are orphans too.
    """

    __slots__ = ("orphans",)

    def __init__(self, problems: Iterable[str] = (), orphans: Iterable[str] = ()) -> None:
        super().__init__(problems)
        self.orphans = tuple(orphans)


@dataclass(frozen=True, slots=True)
class _Problem:
    """What is wrong, and the file that it is about, if that can be missing because it was purged."""

    text: str
    path: str | None = None


def check_lake(context: Context, read_whole: ReadWhole | None) -> Findings:
    """Everything that is wrong with the records and the files. With `read_whole`, every byte of them is read."""
    context = replace(context)  # with a cache of its own: what this process has read before may be damaged since
    problems = [_Problem(text) for text in context.metastore.check()]
    try:
        return _with_files(context, problems, read_whole)
    except Corrupt:
        if not problems:
            raise
        return Findings(problem.text for problem in problems)  # because of which the records can't be read


def _with_files(context: Context, problems: list[_Problem], read_whole: ReadWhole | None) -> Findings:
    """The problems of records, with those of what they refer to."""
    problems, references = [*problems], list[Reference]()
    for state in kept_records(context):
        found, damage = _examined(context, state)
        references += found
        problems += damage
    paths = lake_paths(references)
    for reference in paths.values():
        problems += _file_problems(context.files, reference)
    if read_whole is not None:
        damaged = {problem.path for problem in problems}
        problems += _deep_problems(context, [one for one in references if one.path not in damaged], read_whole)
    return Findings(_lasting(context, problems), orphans(context, paths))


def _examined(context: Context, state: State) -> tuple[tuple[Reference, ...], list[_Problem]]:
    """What a delta or a checkpoint refers to, and what is wrong with it itself."""
    try:
        referred = referred_by(context, state)
        Sources(context.files, referred.table, context.metastore).inline_rows(referred.inline)
    except LakebedError as error:
        return (), [_Problem(f"{_owner(state)}: {error}", path) for path in _damaged_paths(context, state)]
    return referred.files, list(_entry_problems(context, state, referred.entries))


def _entry_problems(context: Context, state: State, entries: Iterable[DataFileRef]) -> Iterator[_Problem]:
    """Entries whose figures of a file are not those of its row groups: by one of them a filter may skip rows."""
    for entry in entries:
        try:
            check_blocks(entry, context.bodies.get(table_of(state), schema_id_of(state)))
        except LakebedError as error:
            yield _Problem(f"{_owner(state)}: {error}")


def _damaged_paths(context: Context, state: State) -> list[str | None]:
    """The file that a record which can't be read is in, so that a purge explains that it is missing."""
    if isinstance(state.record, pb.TableCheckpoint):
        return [None]
    try:
        return [next((one.path for one in own_files(context, state)), None)]
    except LakebedError:
        return [None]


def _file_problems(files: Files, reference: Reference) -> Iterator[_Problem]:
    try:
        size = files.size(reference.path)
    except NotFound:
        yield _problem(reference, "it is missing")
        return
    except LakebedError as error:
        yield _problem(reference, str(error))
        return
    if reference.size is not None and size != reference.size:
        yield _problem(reference, f"it has {size:,} bytes instead of {reference.size:,}")
    elif size < reference.least:
        yield _problem(reference, f"it ends after {size:,} bytes, and at least {reference.least:,} are needed")
    elif reference.kind is FileKind.VECTORS and files.read(reference.path, size - len(MAGIC)) != MAGIC:
        yield _problem(reference, "it does not end as a Puffin file does")


def _deep_problems(context: Context, references: list[Reference], read_whole: ReadWhole) -> Iterator[_Problem]:
    """Every vector is decoded, every data file is read once, and so is every part of a checkpoint, with its entries."""
    yield from (problem for state in kept_records(context) for problem in _part_problems(context, state))
    read: set[str] = set()
    for reference in references:
        is_new = reference.path not in read
        read.add(reference.path)
        try:
            if reference.kind is FileKind.DATA and is_new and reference.entry is not None:
                read_whole(reference.entry)
            if reference.kind is FileKind.VECTORS and is_new:
                parse_puffin(context.files.read(reference.path), reference.path)
            if reference.kind is FileKind.VECTORS and reference.entry is not None:
                check_vector(context.files, reference.entry)
        except LakebedError as error:
            yield _problem(reference, str(error))


def _part_problems(context: Context, state: State) -> Iterator[_Problem]:
    if not isinstance(state.record, pb.TableCheckpoint):
        return
    try:
        files = [live.file for live in open_checkpoint(context, state).files(context)]
    except LakebedError as error:
        yield _Problem(f"{_owner(state)}: {error}")
        return
    yield from _entry_problems(context, state, files)


def _lasting(context: Context, problems: list[_Problem]) -> Iterator[str]:
    """The problems without those of files that were purged during the check."""
    unsure = {problem.path for problem in problems} - {None}
    still = set()
    if unsure:
        still = {path for state in kept_records(context) for path in _paths_of(context, state)} & unsure
    tables = [table for problem in problems for table in _TABLE.findall(problem.text)]
    names = last_names(context, tables) if tables else {}
    for problem in dict.fromkeys(problems):
        if problem.path is None or problem.path in still:
            yield _with_names(problem.text, names)


def _with_names(text: str, names: Mapping[str, str]) -> str:
    """A sentence with the names of tables in addition to their ids."""
    return _TABLE.sub(lambda found: f"table {names[found[1]]} ({found[1]})" if found[1] in names else found[0], text)


def _paths_of(context: Context, state: State) -> list[str]:
    try:
        return [one.path for one in referred_by(context, state).files]
    except LakebedError:
        return [path for path in _damaged_paths(context, state) if path is not None]


def _problem(reference: Reference, what: str) -> _Problem:
    owner = f"table {reference.table}, version {reference.version}"
    return _Problem(f"{reference.kind.value} {reference.path} of {owner}: {what}", reference.path)


def _owner(state: State) -> str:
    what = "checkpoint" if isinstance(state.record, pb.TableCheckpoint) else "manifest"
    return f"{what} of table {table_of(state)}, version {state.version}"
