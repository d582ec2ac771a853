"""Statements about objects: what is read from their words, and which word an error points at."""

import re

import pytest

from lakebed.errors import Invalid
from lakebed.spark.sql.objects.alter import (
    AddCheck,
    AlterTable,
    ChangePartitions,
    DropCheck,
    DropKeyColumns,
    RenameTo,
    SetKey,
    SetProperties,
    UnsetProperties,
    WriteOrderedBy,
)
from lakebed.spark.sql.objects.columns import AddColumns, ChangeColumns, DropColumns, Place, RenameColumn
from lakebed.spark.sql.objects.comments import CommentOn
from lakebed.spark.sql.objects.describe import DescribeHistory, DescribeNamespace, DescribeTable
from lakebed.spark.sql.objects.kinds import ObjectKind
from lakebed.spark.sql.objects.like import CreateTableLike
from lakebed.spark.sql.objects.maintenance import NothingToDo, Optimize
from lakebed.spark.sql.objects.namespaces import CreateNamespace, DropNamespace
from lakebed.spark.sql.objects.partitions import AddPartition, DropPartition, MovePartition, RenamePartition
from lakebed.spark.sql.objects.refs import (
    CreateRef,
    DropRef,
    MergeBranch,
    RefKind,
    UseCatalog,
    UseNamespace,
    UseReference,
)
from lakebed.spark.sql.objects.returns import Restore, Undrop
from lakebed.spark.sql.objects.show import Listed, ShowColumns, ShowLog, ShowObjects, ShowProperties, ShowRefs
from lakebed.spark.sql.objects.views import CreateView
from lakebed.spark.sql.parsing import parse_statement


def altered(text: str) -> object:
    """The change of an ALTER TABLE a.b."""
    statement = parse_statement(f"ALTER TABLE a.b {text}")
    assert isinstance(statement, AlterTable)
    assert statement.table.parts == ("a", "b")
    return statement.change


def test_new_columns_are_read_with_all_that_describes_them() -> None:
    change = altered(
        "add columns (x struct<a: int, b: array<decimal(10, 2)>> comment 'it''s' after y,"
        " p.z bigint not null default coalesce(1, 2) first, m map<string, int>)"
    )
    assert isinstance(change, AddColumns)
    x, z, m = change.columns
    assert (x.path, x.type, x.comment, x.place) == (
        ("x",),
        "struct<a: int, b: array<decimal(10, 2)>>",
        "it's",
        Place("y"),
    )
    assert (z.path, z.type, z.required, z.default, z.place) == (
        ("p", "z"),
        "bigint",
        True,
        "coalesce(1, 2)",
        Place(None),
    )
    assert (m.path, m.type, m.place) == (("m",), "map<string, int>", None)
    single = altered("add column if not exists c int default now() comment 'x'")
    assert isinstance(single, AddColumns)
    assert single.if_not_exists and single.columns[0].default == "now()" and single.columns[0].comment == "x"


def test_changes_of_columns_are_read_one_by_one_and_together() -> None:
    change = altered("alter column a type bigint comment 'x' first, s.b set default 1 + 2, c drop not null")
    assert isinstance(change, ChangeColumns)
    a, b, c = change.changes
    assert (a.path, a.type, a.comment, a.place) == (("a",), "bigint", "x", Place(None))
    assert (b.path, b.default, b.type) == (("s", "b"), "1 + 2", None)
    assert c.optional and c.default is None
    hive = altered("change column a b struct<x: int> comment 'y' after c")
    assert isinstance(hive, ChangeColumns)
    [one] = hive.changes
    assert (one.new_name, one.type, one.comment, one.place) == ("b", "struct<x: int>", "y", Place("c"))
    dropped = altered("alter column a drop default")
    assert isinstance(dropped, ChangeColumns) and dropped.changes[0].default == ""


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("drop column a", DropColumns((("a",),), False)),
        ("drop columns if exists (a, s.b)", DropColumns((("a",), ("s", "b")), True)),
        ("rename column a to `b c`", RenameColumn(("a",), "b c")),
        ("set tblproperties ('a.b' = 'c', d.e = 1)", SetProperties((("a.b", "c"), ("d.e", "1")))),
        ("unset tblproperties if exists ('a', b.c)", UnsetProperties(("a", "b.c"))),
        ("add partition field bucket(16, id)", ChangePartitions(None, "bucket(16, id)")),
        ("add partition field day(ts) AS `the day`", ChangePartitions(None, "day(ts) AS `the day`")),
        ("add partition (a = 'x', b = -1)", AddPartition((("a", "x"), ("b", "-1")), None, False)),
        ("add if not exists partition (a = null) location '/x'", AddPartition((("a", None),), "/x", True)),
        ("drop partition (a = true)", DropPartition((("a", "true"),), False)),
        ("drop if exists partition (a = date '2026-11-01')", DropPartition((("a", "2026-11-01"),), True)),
        ("partition (a = 1) rename to partition (a = 2)", RenamePartition((("a", "1"),), (("a", "2"),))),
        ("partition (a = 1) set location '/x'", MovePartition((("a", "1"),), "/x")),
        ("drop partition field `a b`", ChangePartitions("`a b`", None)),
        ("replace partition field day(ts) with month(ts)", ChangePartitions("day(ts)", "month(ts)")),
        ("replace partition field d with month(ts) as m", ChangePartitions("d", "month(ts) as m")),
        ("write ordered by a, day(b) desc nulls last", WriteOrderedBy(("a", "day(b) desc nulls last"))),
        ("write locally ordered by a", WriteOrderedBy(("a",))),
        ("write unordered", WriteOrderedBy(())),
        ("set identifier fields a, b.c", SetKey(("a", "b.c"))),
        ("drop identifier fields a", DropKeyColumns(("a",))),
        ("add constraint pk primary key (a, b)", SetKey(("a", "b"))),
        ("add primary key (a)", SetKey(("a",))),
        ("drop primary key", SetKey(())),
        ("add constraint few check (a < f(1))", AddCheck("few", "a < f(1)")),
        ("drop constraint if exists few", DropCheck("few", True)),
    ],
)
def test_changes_of_a_table_are_read(text: str, change: object) -> None:
    assert altered(text) == change


def test_names_of_namespaces_refs_and_moments_are_read() -> None:
    created = parse_statement("create database if not exists a.b comment 'x' with dbproperties (k = 'v')")
    assert isinstance(created, CreateNamespace)
    assert (created.namespace.parts, created.comment, created.properties) == (("a", "b"), "x", (("k", "v"),))
    dropped = parse_statement("drop schema if exists a@dev cascade")
    assert isinstance(dropped, DropNamespace)
    assert (dropped.namespace.parts, dropped.namespace.place, dropped.cascade) == (("a",), "@dev", True)
    branch = parse_statement("create branch if not exists `a/b` in other from 'q4' at timestamp '2026-11-01'")
    assert isinstance(branch, CreateRef) and branch.source and branch.catalog and branch.moment
    assert (branch.kind, branch.ref.text, branch.source.text) == (RefKind.BRANCH, "a/b", "q4")
    assert (branch.catalog.text, branch.moment.time, branch.moment.version) == ("other", "2026-11-01", None)
    for text, version, time in (
        ("at 17", "17", None),
        ("at version 17", "17", None),
        ("at commit '17'", "17", None),
        ("at '2026-11-01'", None, "2026-11-01"),
        ("version as of 17", "17", None),
        ("for timestamp as of '2026-11-01'", None, "2026-11-01"),
    ):
        tag = parse_statement(f"create tag t {text}")
        assert isinstance(tag, CreateRef) and tag.moment
        assert (tag.moment.version, tag.moment.time) == (version, time), text
    gone = parse_statement("drop tag if exists t in c")
    assert isinstance(gone, DropRef) and gone.if_exists and gone.catalog and gone.catalog.text == "c"
    merge = parse_statement("merge branch dev into main in c strategy ours")
    assert isinstance(merge, MergeBranch) and merge.target and merge.catalog
    assert (merge.source.text, merge.target.text, merge.strategy) == ("dev", "main", "ours")


def test_use_reads_what_is_chosen() -> None:
    for text, kind in (
        ("use sales", UseNamespace),
        ("use namespace sales.eu", UseNamespace),
        ("use branch", UseNamespace),
        ("use reference dev at 17 in c", UseReference),
        ("use tag `2026-q4`", UseReference),
        ("use catalog c", UseCatalog),
        ("set catalog c", UseCatalog),
    ):
        assert isinstance(parse_statement(text), kind), text


def test_show_and_describe_are_read() -> None:
    tables = parse_statement("show tables from sales 'a*|b'")
    assert isinstance(tables, ShowObjects) and tables.inside
    assert (tables.listed, tables.inside.parts, tables.pattern) == (Listed.TABLES, ("sales",), "a*|b")
    refs = parse_statement("list references in c like 'd*'")
    assert isinstance(refs, ShowRefs) and (refs.listed, refs.pattern) == (Listed.REFERENCES, "d*")
    for text in ("show columns in sales.orders@dev", "show columns from orders from sales@dev"):
        columns = parse_statement(text)
        assert isinstance(columns, ShowColumns)
        assert (columns.table.parts, columns.table.place) == (("sales", "orders"), "@dev")
    properties = parse_statement("show tblproperties a.b ('k.x')")
    assert isinstance(properties, ShowProperties) and properties.key == "k.x"
    log = parse_statement("show log dev in c limit 5")
    assert isinstance(log, ShowLog) and log.ref and (log.ref.text, log.limit) == ("dev", 5)
    described = parse_statement("desc table extended a.b c.d")
    assert isinstance(described, DescribeTable) and (described.extended, described.column) == (True, ("c", "d"))
    history = parse_statement("describe history a.b limit 2")
    assert isinstance(history, DescribeHistory) and history.limit == 2
    table = parse_statement("describe history")
    assert isinstance(table, DescribeTable) and table.table.parts == ("history",)
    namespace = parse_statement("describe schema extended a")
    assert isinstance(namespace, DescribeNamespace) and namespace.extended


def test_views_comments_and_returns_are_read() -> None:
    view = parse_statement("create or replace view a.v (x comment 'y', z) comment 'w' as select 1, 2")
    assert isinstance(view, CreateView) and view.replace
    assert [(column.name, column.comment) for column in view.columns] == [("x", "y"), ("z", "")]
    assert (view.comment, view.query.words.own_text) == ("w", "select 1, 2")
    comment = parse_statement("comment on column a.b.c is null")
    assert isinstance(comment, CommentOn) and (comment.kind, comment.comment) == (ObjectKind.COLUMN, None)
    undrop = parse_statement("undrop table a.b with id 'x' as c")
    assert isinstance(undrop, Undrop) and undrop.new_name
    assert (undrop.id, undrop.new_name.parts) == ("x", ("c",))
    for text in ("restore table a.b to version as of 3", "restore a.b version as of 3"):
        restored = parse_statement(text)
        assert isinstance(restored, Restore) and restored.moment.version == "3"
    optimized = parse_statement("optimize a.b where c > 1 and d = 'x'")
    assert isinstance(optimized, Optimize) and optimized.where == "c > 1 and d = 'x'"
    for text in ("analyze table a.b compute statistics for all columns", "refresh table a.b", "refresh a.b"):
        assert isinstance(parse_statement(text), NothingToDo)
    like = parse_statement("create table if not exists a.b like c.d@dev tblproperties (k = 'v') location 'x'")
    assert isinstance(like, CreateTableLike)
    assert (like.source.parts, like.source.place, like.properties, like.location) == (
        ("c", "d"),
        "@dev",
        (("k", "v"),),
        "x",
    )


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("alter table a.b", "line 1, column 16", "ALTER TABLE can't do this"),
        ("alter table a.b frobnicate", "line 1, column 17", "docs/guide/sql.md"),
        ("alter table a.b\n create branch dev", "line 2, column 2", "Branches are of the whole catalog: CREATE BRANCH"),
        ("alter table a.b add column c", "line 1, column 29", "a column needs a type"),
        ("alter table a.b add column c int check (c > 0)", "line 1, column 34", "NOT NULL, DEFAULT, COMMENT"),
        ("alter table a.b alter column c", "line 1, column 31", "nothing about the column"),
        (
            "alter table a.b alter column c set not null",
            "line 1, column 32",
            "CHECK (c IS NOT NULL)",
        ),
        ("alter table a.b add partition field day(t) as d.e", "line 1, column 47", "a name"),
        ("alter table a.b drop partition field day(t) as d", "line 1, column 45", "the end"),
        ("alter table a.b add partition dt = 1", "line 1, column 31", "(column = value, …)"),
        ("alter table a.b add partition (dt)", "line 1, column 34", "="),
        ("alter table a.b add partition (dt = x)", "line 1, column 37", "a value such as"),
        ("alter table a.b add partition (a = 1) partition (a = 2)", "line 1, column 39", "adds one partition"),
        ("alter table a.b partition (a = 1) set owner", "line 1, column 35", "RENAME TO PARTITION or SET LOCATION"),
        ("alter table a.b add constraint x foreign key (y)", "line 1, column 34", "CHECK (condition)"),
        ("alter table a.b set tblproperties (a = b c)", "line 1, column 42", "a property has one value"),
        ("alter table t add column c int", "line 1, column 13", "namespace.table"),
        ("create branch a-b", "line 1, column 16", "Put it in backticks"),
        ("create branch a at b", "line 1, column 20", "AT TIMESTAMP"),
        ("create namespace a location", "line 1, column 28", "a text"),
        ("create view a.v", "line 1, column 16", "AS query"),
        ("show frobs", "line 1, column 6", "TABLES, NAMESPACES"),
        ("show tables in a like b", "line 1, column 23", "LIKE 'pattern'"),
        ("show log limit x", "line 1, column 16", "a whole number"),
        ("describe function f", "line 1, column 19", "spark.sql"),
        ("comment on column c is 'x'", "line 1, column 19", "named with its table"),
        ("comment on share s is 'x'", "line 1, column 12", "TABLE or VIEW or NAMESPACE or COLUMN"),
        ("optimize a.b zorder by (c)", "line 1, column 14", "sort_by"),
        ("restore table a.b", "line 1, column 18", "VERSION AS OF"),
        ("undrop share s", "line 1, column 8", "TABLE or VIEW or NAMESPACE"),
        ("set x = 1", "line 1, column 5", "spark.sql"),
        ("selct 1", "line 1, column 1", "Is SELECT meant?"),
        ("grant select on a.b to ada", "line 1, column 1", "create_share"),
    ],
)
def test_what_is_refused_is_pointed_at_with_advice(text: str, place: str, said: str) -> None:
    with pytest.raises(Invalid, match=re.escape(said)) as refused:
        parse_statement(text)
    assert refused.value.subject == place


def test_a_rename_in_a_namespace_is_read() -> None:
    change = altered("rename to c")
    assert isinstance(change, RenameTo) and change.name.parts == ("c",)
    moved = altered("rename to x.c")
    assert isinstance(moved, RenameTo) and moved.name.parts == ("x", "c")
