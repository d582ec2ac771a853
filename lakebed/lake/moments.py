"""Moments as handles are given them."""

from datetime import datetime

from lakebed.catalog.refs.shares import Shared, forbidden
from lakebed.catalog.refs.tags import find_tag
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.scopes import Pinned, Scope
from lakebed.catalog.transaction.versions import Moment, find_version
from lakebed.store import Version


def fixed_moment(
    context: Context, pinned: Version | None, at: Moment | None
) -> tuple[Version | None, str | int | None]:
    """The version that is meant, None for the newest, and how it was asked for, which is the same in a call again."""
    version = pinned if at is None else find_version(context.metastore, at)
    asked = at.isoformat() if isinstance(at, datetime) else None if version is None else int(version)
    return version, asked


def at_tag(scope: Scope, tag: str) -> Scope:
    """What a tag of the scope's catalog stands for; a share has no tags."""
    if isinstance(scope, Shared):
        raise forbidden("tag")
    return Pinned(scope.context, *find_tag(scope.context, scope.ref, tag))
