"""P7 and P8 of every call that changes something: which calls there are, the handles say."""

import inspect
from uuid import uuid4

import pytest

from lakebed import Catalog, Forbidden, Invalid, Lake, NotFound, Table, Transaction, View
from lakebed.records.check.check import check
from tests.support.changed_files import live
from tests.support.examples import diagonal
from tests.support.faults import Fault, FaultyStore
from tests.support.grown_lakes import grown_store, held_in, seen_from
from tests.support.mutations import (
    CALLS,
    PURGES,
    Held,
    commit_count,
    handles,
    mutating_calls,
    public_calls,
    without_branches,
)

EVERY = {**CALLS, **PURGES}
STATEMENTS = {"sql"}
"""Need Spark: tested below."""
IMPORTS = {"import_parquet", "import_csv", "import_json", "import_delta", "import_iceberg", "import_database"}
"""Answer what came, which a repeated call does not read again: tests/lake/imports says what they promise."""


@pytest.fixture
def store():
    with grown_store() as store:
        yield store
        assert check(store) == []


def case_name(handle: type, call: str) -> str:
    """How the cases of `tests.support.mutations` name a call: those of a lake and a catalog by the call alone."""
    owner = Table if issubclass(handle, Table) and hasattr(Table, call) else handle  # a stream has a table's calls too
    return call if handle in (Lake, Catalog, Transaction) else f"{owner.__name__.lower()}.{call}"


def tried() -> set[str]:
    return {case.partition(" ")[0] for case in EVERY}


def test_every_call_that_takes_an_event_id_has_a_case():
    """A new call without one fails here: add it to CALLS, and what P7 and P8 say is tested of it."""
    found = {case_name(handle, call) for handle in handles() for call in mutating_calls(handle)}
    assert {Lake, Catalog, Transaction} < handles()
    assert found - STATEMENTS - IMPORTS == tried()


WITHOUT = {(Transaction, "sql"), (Transaction, "transaction"), (View, "sql_for"), (Catalog, "merge_in_progress")}
"""A transaction's statement belongs to its one commit; a transaction in another is refused; the others ask."""


def test_a_call_that_changes_something_by_its_name_takes_an_event_id():
    """So that the test above can't be got round: a `create_…` or `set_…` without one would be in no case."""
    verbs = {call.partition("_")[0] for handle in handles() for call in mutating_calls(handle)}
    found = {
        (handle, call)
        for handle in handles()
        for call in public_calls(handle).keys() - mutating_calls(handle)
        if call.partition("_")[0] in verbs
    }
    assert found == WITHOUT


# What the log calls a call, where that is not the call's own first word.
TYPES = {
    "create_or_replace_table": ["drop", "create"],
    "create_or_replace_view": ["alter_view"],
    "merge": ["merge_branch"],
    "cherry_pick": ["cherry_pick"],
    "set_comment": ["set_properties"],
    "set_properties": ["set_properties"],
    "unset_properties": ["unset_properties"],
    "namespace.set_location": ["alter_namespace"],
    "namespace.set_owner": ["alter_namespace"],
    "table.set_storage": ["change_storage"],
    "table.set_edition_state": ["alter_edition"],
    "stream.commit": ["overwrite", "activate"],
    "stream.discard": ["drop"],
    "table.append": ["insert"],
    "table.add_files": ["insert"],
    "table.merge": ["merge_rows"],
    "table.drop_partition": ["drop_partition", "drop"],
    "partition.append": ["insert"],
    "partition.add_files": ["insert"],
    "partition.commit": ["overwrite", "create"],
    "partition.discard": ["drop"],
    "partition.alter": ["alter_partition"],
    "partition.rename": ["alter_partition"],
    "partition.drop": ["drop_partition", "drop"],
    "table.evolve": ["add_column", "rename_column", "change_spec", "change_sort"],
    "view.set_sql": ["alter_view"],
    "consumer.advance": ["set_properties"],
    "mergeinprogress.decide": ["set_properties"],
    "mergeinprogress.finish": ["merge_branch"],
    "mergeinprogress.abandon": ["set_properties"],
    "consumer.reset": ["set_properties"],
    "run": ["set_properties"],
    "transaction": ["insert", "create", "rename"],
}


def types_of(case: str) -> list[str]:
    call = case.partition(" ")[0]
    own = call.rpartition(".")[2]
    return (
        TYPES.get(call) or TYPES.get(own if own.endswith(("properties", "comment")) else "") or [own.partition("_")[0]]
    )


def prepared(lake: Lake, case: str) -> Held:
    return without_branches(held_in(lake)) if case in PURGES else held_in(lake)


def contents(line: Catalog) -> list[object]:
    """What a line holds."""
    tables = [(one.name, one.id, one.properties, one.schema, live(one), one.storage) for one in line.tables("sales")]
    others = [*line.namespaces(recursive=True), *line.views("sales")]
    return [*tables, *((one.name, one.id, one.properties) for one in others), line.properties]


@pytest.mark.parametrize("case", EVERY)
def test_every_call_is_one_commit_of_its_type(lake, store, case):
    """P8, law 5: with its message and author, once in the logs of the tables that it names; and the past stays."""
    held, event = prepared(lake, case), str(uuid4())
    before, past = commit_count(store), lake.catalog().at(held.main.version)
    then = contents(past)
    told = {"author": "bob"} if case == "transaction" else {"author": "bob", "message": "why"}
    EVERY[case](held, event_id=event, **told)
    assert commit_count(store) == before + 1
    commit = lake._context.metastore.find(event)
    assert (commit.author, commit.message) == ("bob", told.get("message", "load"))
    assert list(dict.fromkeys(operation.type for operation in commit.operations)) == types_of(case)
    changed = {changed for done in commit.operations for changed in (done.object_id, done.table)}
    for table in held.main.tables("sales") if held.main.namespace_exists("sales") else []:
        logged = [found.id for found in table.history()]
        assert logged.count(event) == (table.id in changed)
        assert logged[0] == event or table.id not in changed
        versions = [found.version for found in table.history()]
        assert versions == sorted(versions, reverse=True)
    assert contents(past) == then


IN_TRANSACTIONS = sorted(call for call in mutating_calls(Transaction) if call in CALLS)


@pytest.mark.parametrize(("case", "fault"), diagonal(IN_TRANSACTIONS, {fault.value: fault for fault in Fault}))
def test_every_call_of_a_transaction_is_in_its_one_commit_though_the_answer_is_lost(open_lake, case, fault):
    """P7, P8: a call and the change before it are one commit."""
    with FaultyStore(grown_store()) as store:
        held = held_in(open_lake(store))
        before = commit_count(store)
        store.arm(fault)
        with held.main.transaction("both") as tx:
            tx.table("sales.parted").set_properties({"first": "1"})
            CALLS[case](held._replace(main=tx))
        assert store.armed == ()
        assert commit_count(store) == before + 1
        assert [operation.type for operation in tx.committed.operations] == ["set_properties", *types_of(case)]
        assert check(store.store) == []


@pytest.mark.parametrize("case", PURGES)
def test_what_is_purged_is_not_purged_in_a_transaction(lake, unchanged, case):
    held = prepared(lake, case)
    with unchanged(), pytest.raises(Invalid), held.main.transaction("purge") as tx:
        PURGES[case](held._replace(main=tx))


@pytest.mark.parametrize("fault", Fault)
def test_a_statement_whose_answer_is_lost_is_one_commit(open_lake, spark, fault):
    """P7, P8 of `sql`, of a lake and of a catalog: what runs it is the call of a handle."""
    with FaultyStore(grown_store()) as store:
        held = held_in(open_lake(store))
        for runner in (held.lake, held.main):
            for text, types in STATEMENT_TYPES.items():
                before, event = commit_count(store), str(uuid4())
                store.arm(fault)
                runner.sql(spark, text, event_id=event)
                assert store.armed == ()
                runner.sql(spark, text, event_id=event)
                assert commit_count(store) == before + 1, text
                assert [one.type for one in held.lake._context.metastore.find(event).operations] == types
        assert held.orders.scan().count() == 3
        assert check(store.store) == []


STATEMENT_TYPES = {
    "CREATE NAMESPACE IF NOT EXISTS n": ["create"],
    "INSERT INTO sales.orders VALUES (7)": ["insert"],
    "DROP NAMESPACE n": ["drop"],
}


def test_the_handles_that_cases_use_are_all_seen_from_elsewhere(lake):
    """A handle that is not would be that of the line itself, and its calls would be tried there."""
    held = held_in(lake)
    there = seen_from(held, held.main.at(held.main.version))
    known = {"lake", "dev", "stranger", "born", "picked", "filled"}
    assert {name for name, one in there._asdict().items() if one is getattr(held, name)} == known


OF_OTHER_CATALOGS = {"mergeinprogress.decide", "mergeinprogress.finish", "mergeinprogress.abandon"}
"""Cases with a catalog of their own: a line of the first one has no part in them."""

OF_LAKES = {*mutating_calls(Lake), *OF_OTHER_CATALOGS}
FROM_THE_PAST = {"create_branch", "create_tag", "create_share"}
"""Refs may begin at an earlier version."""


def of_lines(without=()):
    """The cases of calls on a line and what is in it."""
    return {case: call for case, call in EVERY.items() if case.partition(" ")[0] not in {*OF_LAKES, *without}}


def test_no_call_changes_the_past_or_a_tag(lake, unchanged):
    """All calls that the handles have, of catalogs, namespaces, tables and views."""
    held = held_in(lake)
    for line in (held.main.at(held.main.version), held.main.create_tag("now")):
        there = seen_from(held, line)
        for case, call in of_lines(FROM_THE_PAST).items():
            with unchanged(), pytest.raises(Forbidden):
                call(there)
                pytest.fail(case)


def test_no_call_changes_anything_through_a_share(lake, unchanged):
    """P19."""
    held = held_in(lake)
    share = held.main.create_share("all", ["sales", "empty"])
    for line in (share, share.at(share.version)):
        there = seen_from(held, line)
        for case, call in of_lines().items():
            with unchanged(), pytest.raises(Forbidden):
                call(there)
                pytest.fail(case)


def test_no_call_of_a_handle_finds_what_was_dropped(lake, unchanged):
    """KV-3, KV-12: of tables and their partitions, views and namespaces, calls and questions."""
    held = held_in(lake)
    kinds = {"view": [held.recent], "namespace": [held.empty], "table": [held.orders, held.parted, held.days]}
    for kind, gone in kinds.items():
        for handle in gone:
            getattr(held.main, f"drop_{kind}")(handle.name)
    for case, call in EVERY.items():
        if "." in case and case not in {"table.restore", *OF_OTHER_CATALOGS}:  # a restore brings back what was dropped
            with unchanged(), pytest.raises(NotFound, match="dropped"):
                call(held)
                pytest.fail(case)
    for gone in (held.orders, held.recent, held.empty):
        for name, found in inspect.getmembers(type(gone), lambda one: isinstance(one, property)):
            if not name.startswith("_") and name not in ("id", "version"):
                with pytest.raises(NotFound, match="dropped"):
                    found.__get__(gone)
                    pytest.fail(name)


def test_no_call_on_a_name_finds_what_never_was(lake, unchanged):
    """KV-3: every call of a catalog and a lake that takes the name of something there is."""
    held = held_in(lake)
    tried = set()
    for handle in (held.lake, held.main):
        for name, call in public_calls(type(handle)).items():
            first = [*inspect.signature(call).parameters][1:2]
            if (
                first == ["name"]
                and not name.startswith(("create_", "import_", "catalog", "inspect"))
                and not name.endswith("_exists")
            ):
                more = [one for one in inspect.signature(call).parameters.values() if one.default is one.empty][2:]
                given = {"new_name": "n", "objects": ["sales"], "version": held.born}
                with unchanged(), pytest.raises(NotFound):
                    getattr(handle, name)("never", *(given[one.name] for one in more))
                    pytest.fail(name)
                tried.add(name.partition("_")[0])
    assert {"rename", "drop", "undrop", "purge", "restore", "grant", "table", "branch"} <= tried


def test_no_call_works_in_a_transaction_that_has_ended(lake, unchanged):
    held = held_in(lake)
    with held.main.transaction("ended") as tx:
        inside = seen_from(held, tx)
        tx.set_properties({"k": "v"})
    for case, call in {**of_lines(), "transaction": CALLS["transaction"]}.items():
        if hasattr(tx, case.partition(" ")[0]) or "." in case:
            with unchanged(), pytest.raises(Invalid):
                call(inside)
                pytest.fail(case)
