"""Branches and tags: CREATE, DROP, MERGE BRANCH, USE. The words are Nessie's."""

from dataclasses import dataclass
from enum import Enum

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.names import LakeName, Moment
from lakebed.spark.sql.objects.names import NAMESPACE, RefName, catalog_name, moment, namespace_name, ref_name


class RefKind(Enum):
    """What a ref is."""

    BRANCH = "branch"
    TAG = "tag"


@dataclass(frozen=True, slots=True)
class CreateRef:
    """A branch or tag to create, of the current line or of `source`, at its newest version or at a moment."""

    kind: RefKind
    ref: RefName
    if_not_exists: bool
    catalog: RefName | None
    source: RefName | None
    moment: Moment | None


@dataclass(frozen=True, slots=True)
class DropRef:
    """A branch or tag to drop."""

    kind: RefKind
    ref: RefName
    if_exists: bool
    catalog: RefName | None


@dataclass(frozen=True, slots=True)
class MergeBranch:
    """A branch or tag to merge into another branch, or the current one."""

    source: RefName
    target: RefName | None
    catalog: RefName | None
    strategy: str | None


@dataclass(frozen=True, slots=True)
class UseReference:
    """A branch, tag or share for later statements."""

    ref: RefName
    moment: Moment | None
    catalog: RefName | None


@dataclass(frozen=True, slots=True)
class UseNamespace:
    """A namespace for later statements; unless it `is_namespace`, it may also be a catalog or a ref."""

    name: LakeName
    is_namespace: bool


@dataclass(frozen=True, slots=True)
class UseCatalog:
    """A catalog for later statements."""

    catalog: RefName


def create_ref(cursor: Cursor, kind: RefKind) -> CreateRef:
    """What follows CREATE BRANCH or CREATE TAG."""
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    ref = ref_name(cursor)
    catalog = ref_name(cursor, "a catalog") if cursor.take("IN") else None
    source = ref_name(cursor) if cursor.take("FROM") else None
    when = moment(cursor)
    cursor.end("IN, FROM, AT or the end")
    return CreateRef(kind, ref, if_not_exists, catalog, source, when)


def drop_ref(cursor: Cursor, kind: RefKind) -> DropRef:
    """What follows DROP BRANCH or DROP TAG."""
    if_exists = cursor.take("IF", "EXISTS")
    ref, catalog = ref_name(cursor), catalog_name(cursor)
    cursor.end("IN or the end")
    return DropRef(kind, ref, if_exists, catalog)


def merge_branch(cursor: Cursor) -> MergeBranch:
    """MERGE BRANCH dev INTO main."""
    cursor.expect("MERGE")
    cursor.position += 1
    source = ref_name(cursor)
    target = ref_name(cursor) if cursor.take("INTO") else None
    catalog = catalog_name(cursor)
    strategy = cursor.column("FAIL, OURS or THEIRS").lower() if cursor.take("STRATEGY") else None
    cursor.end("INTO, IN, STRATEGY or the end")
    return MergeBranch(source, target, catalog, strategy)


def use(cursor: Cursor) -> UseReference | UseNamespace | UseCatalog:
    """USE [NAMESPACE | REFERENCE | BRANCH | TAG | CATALOG] name."""
    cursor.expect("USE")
    is_named = cursor.position + 1 < len(cursor.words.words)
    if is_named and cursor.sees_one("REFERENCE", "BRANCH", "TAG"):
        cursor.position += 1
        return _use_reference(cursor)
    if is_named and cursor.take("CATALOG"):
        return _use_catalog(cursor)
    is_namespace = is_named and cursor.sees_one(*NAMESPACE)
    cursor.position += is_namespace
    name = namespace_name(cursor)
    cursor.end()
    return UseNamespace(name, is_namespace)


def set_catalog(cursor: Cursor) -> UseCatalog:
    """SET CATALOG name."""
    cursor.expect("SET")
    if not cursor.take("CATALOG"):
        raise cursor.refused("sql sets no configuration", advice="Pass settings of the session to spark.sql(…).")
    return _use_catalog(cursor)


def _use_catalog(cursor: Cursor) -> UseCatalog:
    catalog = ref_name(cursor, "a catalog")
    cursor.end()
    return UseCatalog(catalog)


def _use_reference(cursor: Cursor) -> UseReference:
    ref, when = ref_name(cursor), moment(cursor)
    catalog = catalog_name(cursor)
    when = when or moment(cursor)
    cursor.end("AT, IN or the end")
    return UseReference(ref, when, catalog)
