"""Looking after a lake: its check, its backup, its times, and what its files take."""

import os
from functools import partial

from lakebed.catalog.objects.properties import is_text
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.upkeep import times
from lakebed.catalog.upkeep.backup import Backup
from lakebed.catalog.upkeep.backup import backup as back_up
from lakebed.catalog.upkeep.check import Findings, check_lake
from lakebed.catalog.upkeep.times import RepairedTime
from lakebed.catalog.upkeep.usage import usage_rows
from lakebed.errors import Invalid
from lakebed.lake.arguments import check_flag
from lakebed.lake.engines import arrow_engine
from lakebed.lake.upkeep.usage import Usage
from lakebed.metastore import Metastore, RecordsMetastore
from lakebed.store import SQLiteStore


def check(context: Context, deep: bool) -> Findings:
    """What is wrong with the lake's records and files."""
    read_whole = partial(arrow_engine().read_whole, context.files) if check_flag("deep", deep) else None
    return check_lake(context, read_whole)


def backup(context: Context, path: str | os.PathLike[str]) -> Backup:
    """Copy the lake to a folder."""
    folder = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(folder, str) or not folder or "://" in folder or not is_text(folder) or "\0" in folder:
        raise Invalid("a backup goes to a folder", subject=ascii(path), expected="a path in UTF-8")
    return back_up(context, os.path.expanduser(folder), _open_records)


def repair_times(context: Context, dry_run: bool) -> list[RepairedTime]:
    """Give every version whose time is in the future a time that has passed; only say which, if it is a dry run."""
    return times.wrong_times(context) if check_flag("dry_run", dry_run) else times.repair_times(context)


def usage(context: Context) -> Usage:
    """What the lake's files take."""
    return Usage(usage_rows(context))


def _open_records(path: str) -> Metastore:
    return RecordsMetastore(SQLiteStore(path))
