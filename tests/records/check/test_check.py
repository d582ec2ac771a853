"""`check` finds nothing in a sound lake, and names whatever is damaged in any of its key spaces."""

import zlib
from uuid import UUID, uuid4

import pytest

from lakebed.metastore import ROOT, Line, Operation, RecordsMetastore, life, new_id
from lakebed.metastore.records import erasure
from lakebed.records import bodies, codec, layout
from lakebed.records import records_pb2 as pb
from lakebed.records.check.check import PAGE_ROWS, check
from lakebed.records.codec import ATTRIBUTE_TYPES
from lakebed.records.layout import ID_SIZE, PREFIX, VERSION_SIZE, Attribute, Space
from lakebed.records.names import Casing
from lakebed.store import MemoryStore, Version
from lakebed.store.tuples import pack, unpack
from lakebed.testing.metastore.writer import Writer, root_partition, trunk
from tests.support.examples import examples
from tests.support.faults import WrappedStore

pytestmark = pytest.mark.sampled(3)

NOTHING = codec.encode(pb.ObjectName())
COMMITS = (Space.COMMIT, Space.OPERATIONS)


def build(store):
    """A small lake in which every space has rows and everything that can happen to an object has happened."""
    metastore = RecordsMetastore(store)
    root = Writer(metastore, ROOT)
    project = root.create(pb.PROJECT, "default")
    root.create(pb.CATALOG, "sales", project)
    line = trunk()
    writer = Writer(metastore, line)
    sales = writer.namespace("Sales")
    europe = writer.namespace("eu", sales)
    orders = writer.table("orders", sales)
    described(writer, orders)
    items = [writer.table("items", sales)]
    writer.drop(items[0])
    items.append(writer.table("Items", sales))  # the same name, another object
    writer.drop(items[1])
    writer.undrop(items[0])
    writer.rename(orders, "Orders")  # the same folded name
    writer.rename(orders, "bestellungen")
    writer.move(orders, europe)
    swap(writer, sales, europe)
    writer.drop(writer.namespace("short-lived"))
    writer.create(pb.VIEW, "totals", sales)
    edition = writer.create(pb.EDITION, "1", orders)
    stream = writer.create(pb.STREAM, "main", edition)
    writer.write(writer.create(pb.PARTITION, "root", stream), Attribute.PARTITION, 1)
    branch_out(metastore, writer, orders, items[0])
    writer.commit(operations=tuple(Operation("insert", new_id(), detail="x" * 20_000) for _ in range(7)))  # 4 values
    exact = Writer(metastore, Line(new_id(), new_id(), casing=Casing.EXACT))
    exact.rename(exact.table("T"), "t")
    exact.table("T")
    return metastore


def described(writer, table):
    """All attributes, data, ids and bodies of a table."""
    for number in (1, 2):
        for attribute in set(Attribute) - {Attribute.LIFE, Attribute.DATA, Attribute.REF, Attribute.PARTITION}:
            writer.write(table, attribute, number)
        version = writer.append(table, 10).version
    writer.checkpoint(table, version)
    writer.metastore.begin_checkpoint(writer.line.id, root_partition(table), ["metadata/a"])
    writer.metastore.allocate(table, "field", 300)
    writer.commit(bodies={(table, "schema", 1): bytes(2 * bodies.PART_BYTES + 1), (table, "schema", 2): b"short"})


def swap(writer, one, other):
    """Two namespaces change names and places in one commit."""
    lives = {one: writer.life(one, name="eu"), other: writer.life(other, name="sales", container_id=writer.line.top)}
    writer.commit(lives=lives)


def branch_out(metastore, writer, orders, items):
    """A branch with its record in the ref line, which changes what it inherits; and one of the branch."""
    refs = Writer(metastore, Line(new_id(), writer.line.top))
    dev = writer.fork()
    register(refs, dev, "feature/dev", writer.line.id)
    dev.rename(orders, "dev orders")
    dev.drop(items)
    dev.set(orders, 5)
    dev.table("new")
    deeper = dev.fork()
    register(refs, deeper, "deeper", dev.line.id)
    register(refs, deeper, "deeper", writer.line.id)  # as if it had another parent
    deeper.commit(lives={orders: deeper.life(orders, drop_type=pb.MARKED)})  # the name stays with the ancestor's row
    deeper.undrop(items, name="back")


def register(refs, branch, name, parent):
    ref = pb.CatalogRecord(parent_id=parent, parent_project_id="p", parent_type=pb.BRANCH)
    ref.ancestry.extend(pb.LineVersion(line_id=at.line, version=at.version) for at in branch.line.ancestry)
    lives = {} if refs.resolve(name) else {branch.line.id: life(pb.BRANCH, refs.line.top, name)}
    refs.commit(lives=lives, attributes={(branch.line.id, Attribute.REF): ref})


@pytest.fixture(scope="module")
def store():
    """One lake for all: every test puts back what it damages."""
    store = MemoryStore()
    build(store)
    return store


def rows(store, space):
    return store.read(lambda transaction: transaction.get_range(layout.prefix_range(PREFIX[space]))).entries


def write(store, changes):
    """Set rows, or clear them where the value is None."""

    def work(transaction):
        for key, value in changes.items():
            if value is None:
                transaction.clear(key)
            else:
                transaction.set(key, value)

    store.run(work)


def problems_after(store, changes):
    """What `check` says with these rows changed; they are put back."""
    keys = list(changes)
    before = dict(zip(keys, store.read(lambda transaction: transaction.get_many(keys)), strict=True))
    assert before != changes, "the damage does nothing"
    write(store, changes)
    try:
        return check(store)
    finally:
        write(store, before)


def sealed(body):
    return body + zlib.crc32(body).to_bytes(4, "little")


# A sound lake


def test_a_sound_lake_has_no_problem(store):
    assert check(store) == []


def test_every_space_and_every_attribute_is_in_the_lake_that_these_tests_damage(store):
    assert all(rows(store, space) for space in Space)
    assert {unpack(key)[3] for key, _ in rows(store, Space.CURRENT)} == set(Attribute) == set(ATTRIBUTE_TYPES)


def test_an_empty_store_has_no_problem():
    assert check(MemoryStore()) == []


def test_a_lake_of_many_pages_is_checked_whole():
    store = MemoryStore()
    writer = Writer(RecordsMetastore(store), trunk())
    lives = {new_id(): life(pb.TABLE, writer.line.top, f"t{number}") for number in range(2 * PAGE_ROWS + 1)}
    writer.commit(lives=lives, operations=tuple(Operation("create", one) for one in lives))
    assert check(store) == []
    for key in (rows(store, Space.NAME)[0][0], rows(store, Space.NAME)[-1][0]):
        assert problems_after(store, {key: None})


def test_a_branch_that_comes_and_one_that_goes_while_the_check_runs_are_no_problem():
    """The branches of a catalog are the one thing that is compared over several transactions."""
    store = MemoryStore()
    metastore = RecordsMetastore(store)
    writer = Writer(metastore, trunk())
    refs = Writer(metastore, Line(new_id(), writer.line.top))
    one, other = writer.fork(), writer.fork()
    register(refs, one, "one", writer.line.id)
    register(refs, other, "other", writer.line.id)

    class Busy(MemoryStore):
        """The same store, with a writer that acts between any two reads of the check."""

        def read(self, work, **more):
            answer = store.read(work, **more)
            if acts:
                acts.pop()()
            return answer

    for delay in range(6):
        acts = [
            lambda: register(refs, one, "one", other.line.id),
            lambda: register(refs, writer.fork(), new_id(), writer.line.id),
            *[lambda: None] * delay,
        ]
        assert check(Busy()) == []
        register(refs, one, "one", writer.line.id)


# Damage, row by row


def deleted(key, value):
    return {key: None}


def flipped(key, value):
    """One bit in the middle; of a row that has no value, a value."""
    if not value:
        return {key: b"x"}
    broken = bytearray(value)
    broken[len(value) // 2] ^= 1
    return {key: bytes(broken)}


def flipped_at_the_front(key, value):
    return {key: bytes((value[0] ^ 1,)) + value[1:]} if value else {key: b"\x00"}


def cut_off(key, value):
    return {key: value[:-1]} if value else {key: b"xy"}


def emptied(key, value):
    return {key: b""} if value else {key: b"xyz"}


def of_another_version(key, value):
    """The row as if a commit that never was had written it."""
    never = Version.of(1, bytes(9) + b"\x01")
    if isinstance(unpack(key)[-1], Version):
        return {key: None, key[:-VERSION_SIZE] + layout.version_element(never): value}
    return {key: never + value[12:]}


def of_another_type(key, value):
    """A sound record that does not belong there."""
    space = Space(unpack(key)[0])
    stranger = codec.encode(pb.CatalogCommit(detail="x") if space not in COMMITS else pb.TableSpec(spec_id=1))
    stamped = space in (Space.CURRENT, Space.NAME, Space.DROPPED, Space.COMMIT)
    return {key: value[:12] + stranger if stamped else stranger}


def with_a_longer_key(key, value):
    return {key: None, key + pack((None,)): value}


def copied_to_another_line(key, value):
    return {key[:2] + layout.id_element(str(uuid4())) + key[2 + ID_SIZE :]: value}


EVERYWHERE = [deleted, flipped, flipped_at_the_front, cut_off, emptied]
STAMPED = [*(space for space in Space if Space.CURRENT <= space <= Space.TABLE_COMMIT), Space.CHECKPOINT]
LINED = [space for space in STAMPED if space is not Space.COMMIT]
FRAMED = [space for space in Space if space not in (Space.LISTING, Space.LOG, Space.CHILDREN)]

DAMAGES = [
    *((space, damage) for space in Space for damage in EVERYWHERE),
    *((space, of_another_version) for space in STAMPED),
    *((space, of_another_type) for space in FRAMED),
    *((space, with_a_longer_key) for space in Space if space is not Space.LAKE),
    *((space, copied_to_another_line) for space in LINED),
]

# What a row alone can't tell, and no other row knows either.
UNPROVABLE = {
    (Space.ALLOCATOR, deleted): lambda store, key: True,  # a table that has given out no id has no row
    (Space.BODY, deleted): lambda store, key: unpack(key)[3] == 2,  # a body of one part, which is gone as a whole
    (Space.CHECKPOINT, deleted): lambda store, key: True,  # then readers go further back
    (Space.INTENT, deleted): lambda store, key: True,
    (Space.HISTORY, deleted): lambda store, key: not is_newest(store, key) and unpack(key)[3] != Attribute.LIFE,
}


def is_newest(store, key):
    cell = key[:-VERSION_SIZE]
    return key == max(other for other, _ in rows(store, Space.HISTORY) if other.startswith(cell))


def provable(store, space, damage):
    hidden = UNPROVABLE.get((space, damage), lambda store, key: False)
    found = [(key, value) for key, value in rows(store, space) if not hidden(store, key)]
    return found[:: max(1, len(found) // examples(1, 5))] + found[-1:]


@pytest.mark.parametrize(
    ("space", "damage"), [pytest.param(*case, id=f"{case[0].name.lower()}-{case[1].__name__}") for case in DAMAGES]
)
def test_a_damaged_row_is_named(store, space, damage):
    for key, value in provable(store, space, damage):
        changes = damage(key, value)
        problems = problems_after(store, changes)
        assert problems, f"{damage.__name__} is not found: {unpack(key)}"
        ids = [str(item) for changed in changes for item in ids_of(changed)]
        assert any(one in problem for one in [*ids, "lake row"] for problem in problems), problems


def ids_of(key):
    return [item for item in unpack(key) if isinstance(item, UUID)]


def test_nothing_of_the_damage_above_is_left(store):
    assert check(store) == []


def test_a_problem_says_in_words_which_row_it_is_of(store):
    key, value = rows(store, Space.NAME)[0]
    _, line, parent, name = unpack(key)
    problems = problems_after(store, flipped(key, value))
    assert any(
        problem.startswith(f"name row ({line}, {parent}, {name}): a record's checksum does not match its bytes")
        for problem in problems
    )


# Damage that leaves every row sound by itself


def row_of(store, space, **parts):
    """The first row of a space whose key or record has these things."""
    for key, value in rows(store, space):
        stored = codec.split_current(value)[1] if space in (Space.CURRENT, Space.NAME, Space.DROPPED) else value
        record = codec.decode(stored)
        if all(getattr(record, part, None) == wanted for part, wanted in parts.items()):
            return key, record
    raise AssertionError(f"no {space.name} row has {parts}")


def both(store, key, record):
    """The current row and its newest history row with another record in them."""
    space = Space(unpack(key)[0])
    version = dict(rows(store, space))[key][:12]
    history = PREFIX[Space(space + 1)] + key[2:] + layout.version_element(Version(version))
    return {key: version + codec.encode(record), history: codec.encode_both(record)[1]}


def test_a_name_that_points_elsewhere_is_found(store):
    key, record = row_of(store, Space.NAME, name="bestellungen")
    _, other = row_of(store, Space.NAME, name="totals")
    record.object_id = other.object_id
    problems = problems_after(store, both(store, key, record))
    assert any(problem.startswith("name row") and other.object_id in problem for problem in problems)
    assert any(problem.startswith("history row") and "for its name, 'bestellungen'" in problem for problem in problems)


def test_a_second_name_for_an_object_is_found(store):
    """Both of its rows are sound, and so is the object's own: only the key is another."""
    key, _ = row_of(store, Space.NAME, name="bestellungen")
    value = dict(rows(store, Space.NAME))[key]
    stray = key[: 2 + 2 * ID_SIZE] + layout.name_element("zzz")
    history = PREFIX[Space.NAME_HISTORY] + stray[2:] + layout.version_element(Version(value[:12]))
    problems = problems_after(store, {stray: value, history: value[12:]})
    assert any(problem.startswith("name row") and "zzz" in problem for problem in problems)
    assert any(problem.startswith("name_history row") and "zzz" in problem for problem in problems)


def test_a_name_that_was_never_freed_is_found(store):
    """An object would answer to the name that it had before it was renamed."""
    freed = next(key for key, value in rows(store, Space.NAME) if value[12:] == NOTHING and unpack(key)[3] == "orders")
    history = [key for key, _ in rows(store, Space.NAME_HISTORY) if key[2:].startswith(freed[2:])]
    assert len(history) == 3
    before = dict(rows(store, Space.NAME_HISTORY))[history[1]]
    problems = problems_after(store, {history[2]: None, freed: layout.key_version(history[1]) + before})
    assert any("for the name before, 'Orders'" in problem for problem in problems)


def test_a_dropped_object_that_lost_its_row_is_found(store):
    """It could not be undropped by name."""
    key, _ = row_of(store, Space.DROPPED, name="Items")
    history = [other for other, _ in rows(store, Space.DROPPED_HISTORY) if other[2:].startswith(key[2:])]
    problems = problems_after(store, {key: None, **dict.fromkeys(history)})
    assert any("there is no row of its version for its name, 'Items'" in problem for problem in problems)


@pytest.mark.parametrize("change", [{"name": "other"}, {"create_version": b"x" * 12}, {"type": pb.VIEW}])
def test_a_dropped_name_that_says_something_else_than_the_object_is_found(store, change):
    key, record = row_of(store, Space.DROPPED, name="Items")
    for part, value in change.items():
        setattr(record, part, value)
    problems = problems_after(store, both(store, key, record))
    assert any(
        problem.startswith("dropped row") and "was not dropped under this name" in problem for problem in problems
    )


def test_a_live_name_among_the_dropped_ones_is_found(store):
    key, record = row_of(store, Space.DROPPED, name="Items")
    alive = pb.TableObjectName(name=record.name, object_id=str(unpack(key)[4]), type=record.type)
    problems = problems_after(store, both(store, key, alive))
    assert any(problem.startswith("dropped row") for problem in problems)


def test_a_current_record_that_differs_from_its_history_is_found(store):
    key, record = next(
        (key, codec.decode(value[12:]))
        for key, value in rows(store, Space.CURRENT)
        if unpack(key)[3] == Attribute.SCHEMA
    )
    record.MergeFromString(b"\xfa\x3e\x05later")
    changes = both(store, key, record)
    problems = problems_after(store, {key: changes[key]})
    assert any("it differs from its history" in problem for problem in problems)
    assert problems_after(store, changes) == [], "an unknown field in both is fine"


def test_a_table_commit_with_other_operations_is_found(store):
    key, value = rows(store, Space.TABLE_COMMIT)[0]
    record = codec.decode(value)
    record.operation[0].type = pb.PURGE
    problems = problems_after(store, {key: codec.encode(record)})
    assert any("its operations are not those of the commit" in problem for problem in problems)


def test_a_branch_under_another_parent_is_found(store):
    key, _ = rows(store, Space.CHILDREN)[0]
    moved = layout.children_prefix("p", str(uuid4())) + key[-ID_SIZE:]
    problems = problems_after(store, {key: None, moved: b""})
    assert any("it is not listed under its parent" in problem for problem in problems)
    assert any("no branch has this parent" in problem for problem in problems)


def test_a_part_of_another_body_is_found(store):
    first, _, last = [(key, value) for key, value in rows(store, Space.BODY) if unpack(key)[3] == 1]
    problems = problems_after(store, {first[0]: last[1]})
    assert any("part 1 is of another body" in problem for problem in problems)


def test_a_checkpoint_without_its_delta_is_found(store):
    """An older delta that is gone is known to nobody else."""
    key, _ = rows(store, Space.CHECKPOINT)[0]
    _, line, partition, version = unpack(key)
    data = layout.attribute_cell(str(partition), Attribute.DATA)
    problems = problems_after(store, {data.history_prefix(str(line)) + layout.version_element(version): None})
    about = f"checkpoint row ({line}, {partition}, {version}): its partition has no data of its version"
    assert about in problems


@pytest.mark.parametrize("field", ["snapshot_id", "sequence_number"])
def test_a_checkpoint_of_another_snapshot_is_found(store, field):
    key, value = rows(store, Space.CHECKPOINT)[0]
    record = codec.decode(value)
    setattr(record, field, getattr(record, field) + 1)
    [problem] = problems_after(store, {key: codec.encode(record)})
    assert problem.startswith("checkpoint row") and "but the data has snapshot 2" in problem


def test_the_checkpoints_of_a_purged_branch_do_not_matter():
    store = MemoryStore()
    metastore = RecordsMetastore(store)
    writer = Writer(metastore, trunk())
    refs, dev = Writer(metastore, Line(new_id(), writer.line.top)), writer.fork()
    register(refs, dev, "dev", writer.line.id)
    table = dev.table("t")
    dev.checkpoint(table, dev.append(table).version)
    refs.drop(dev.line.id)
    history = layout.prefix_range(PREFIX[Space.HISTORY] + layout.id_element(dev.line.id))
    store.run(lambda transaction: transaction.clear_range(history))
    assert any(problem.startswith("checkpoint row") for problem in check(store))
    refs.alter("purge", dev.line.id, drop_type=pb.PURGED)
    assert check(store) == []


def test_an_unknown_attribute_is_found_and_the_check_goes_on(store):
    key, value = rows(store, Space.CURRENT)[0]
    stray = key[: 2 + 2 * ID_SIZE] + pack((99,))
    lost, _ = rows(store, Space.COMMIT)[-1]
    problems = problems_after(store, {stray: value, lost: None})
    assert any("there is no such attribute" in problem for problem in problems)
    assert any(problem.startswith("log row") for problem in problems)


def test_a_record_of_a_newer_lakebed_is_named_and_the_check_goes_on(store):
    key, value = rows(store, Space.CURRENT)[0]
    problems = problems_after(store, {key: value[:12] + sealed(b"\x02\x05")})
    assert any("newer format" in problem and problem.startswith("current row") for problem in problems)


# What was purged


def half_erased(purged):
    """A store with a branch, purged or not, of which some spaces are gone."""
    store = MemoryStore()
    metastore = RecordsMetastore(store)
    writer = Writer(metastore, trunk())
    refs, dev = Writer(metastore, Line(new_id(), writer.line.top)), writer.fork()
    register(refs, dev, "dev", writer.line.id)
    dev.rename(dev.table("t"), "u")
    dev.drop(dev.table("v"))
    refs.drop(dev.line.id)
    if purged:
        refs.alter("purge", dev.line.id, drop_type=pb.PURGED)
    for space in (Space.HISTORY, Space.NAME, Space.DROPPED_HISTORY):
        whole = layout.prefix_range(PREFIX[space] + layout.id_element(dev.line.id))
        store.run(lambda transaction, whole=whole: transaction.clear_range(whole))
    return store, metastore, dev.line.id


def test_a_purged_branch_that_is_half_erased_is_sound():
    store, metastore, line = half_erased(purged=True)
    assert check(store) == []
    metastore.erase_line(line)
    assert check(store) == []


def test_a_dropped_branch_that_lost_its_rows_is_not():
    store, _, line = half_erased(purged=False)
    assert any(line in problem for problem in check(store))


def test_the_commits_of_a_purged_branch_still_have_to_agree():
    store, metastore, line = half_erased(purged=True)
    metastore.erase_line(line)
    key, _ = next(one for one in rows(store, Space.TABLE_COMMIT) if layout.id_element(line) in one[0])
    write(store, {key: None})
    assert any(line in problem for problem in check(store))


@pytest.mark.parametrize("rows_at_once", [2, 3, 1000])
def test_the_records_agree_after_every_step_of_an_erasure(monkeypatch, rows_at_once):
    """Whenever it is broken off, and with the data before the storage that names it."""
    monkeypatch.setattr(erasure, "ROWS", rows_at_once)
    monkeypatch.setattr(erasure, "CELLS", 3)
    store = WrappedStore(MemoryStore())
    writer = Writer(RecordsMetastore(store), trunk())
    table = writer.table("t")
    described(writer, table)
    steps = []
    run = store.run_idempotent

    def stepped(work, **options):
        answer = run(work, **options)
        steps.append({unpack(key)[3] for key, _ in rows(store, Space.HISTORY)})
        assert check(store.store) == []
        return answer

    monkeypatch.setattr(store, "run_idempotent", stepped)
    writer.metastore.erase(writer.line.id, [table, root_partition(table)], bodies_of=[table])
    assert steps[-1] == {Attribute.LIFE}
    assert all(Attribute.STORAGE in left for left in steps if Attribute.DATA in left)
    assert all(Attribute.DATA in left for left in steps if Attribute.SCHEMA in left)
