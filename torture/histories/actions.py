"""What a worker may do, each with a weight: how often, compared with the others."""

from collections.abc import Callable, Mapping, Sequence
from time import monotonic, monotonic_ns, sleep
from typing import Any

import lakebed
from lakebed.errors import Forbidden, LakebedError
from lakebed.lake.catalog import Catalog
from lakebed.lake.transaction import Transaction
from torture.histories.deeds import Deed, Engine, LocalEngine, do
from torture.histories.journal import Read, Step
from torture.histories.worker import (
    GENTLE_KINDS,
    MOST_BRANCHES,
    NAMES,
    NAMESPACES,
    PAIR,
    PAIR_ROWS,
    ROW_KINDS,
    Share,
    Worker,
    line_id,
)
from torture.shim import move_clock

JUMPS = (0.0, -1.0, 0.5, -60.0, 30.0, -3600.0)
"""Seconds by which a clock is wrong in a history: what a bad time service does, not what a lake refuses."""


def work(share: Share, engine: Engine | None = None) -> None:
    """Do a share, in this process, until its time is over."""
    with lakebed.connect(share.lake, author=share.journal.stem, create=False, read_only=share.reads_only) as lake:
        worker = Worker(lake, share, engine or LocalEngine())
        end = monotonic() + share.seconds
        while monotonic() < end:
            act_once(worker)
            sleep(worker.chance.uniform(0.0, 2 * share.pause))


def act_once(worker: Worker) -> None:
    """One action, of those that the share allows."""
    share, chance = worker.share, worker.chance
    if share.clock and chance.random() < 0.1:
        move_clock(chance.choice(JUMPS))
    names = READS if share.reads_only else share.actions or tuple(ACTIONS)
    [name] = chance.choices(names, [ACTIONS[name][1] for name in names])
    try:
        ACTIONS[name][0](worker, worker.line())
    except LakebedError as error:  # of looking for something to do it to; calls have their own answers
        worker.note(f"looking for a {name}", error)


def prepare(share: Share) -> None:
    """Make what all workers share."""
    with lakebed.connect(share.lake, author=share.journal.stem) as lake:
        worker = Worker(lake, share, LocalEngine())
        worker.transaction(worker.main, lambda tx: _first_steps(worker, tx))


def _first_steps(worker: Worker, tx: Transaction) -> list[Step]:
    made = [Deed("create namespace", name) for name in (*NAMESPACES, "pair")]
    made += [Deed("create", name) for name in ("t0", "t1", "n.t0", "m.t0", *PAIR)]
    for deed in made:
        do(tx, deed, worker.engine, worker.share.how)
    zeros = tuple((id, 0) for id in range(PAIR_ROWS))
    filled = [Deed("append", tx.table(name).id, (zeros,)) for name in PAIR]
    for deed in filled:
        do(tx, deed, worker.engine, worker.share.how)
    return [*made, *filled]


# Changes.


def change(worker: Worker, line: Catalog) -> None:
    deed = worker.row_deed(worker.table(line), ROW_KINDS if line.ref == "main" else GENTLE_KINDS)
    worker.do(line, Deed("truncate", deed.subject) if worker.chance.random() < 0.02 else deed)


def compact(worker: Worker, line: Catalog) -> None:
    worker.do(line, Deed("compact", worker.table(line)))


def create(worker: Worker, line: Catalog) -> None:
    worker.do(line, Deed("create", worker.chance.choice(NAMES)))


def rename(worker: Worker, line: Catalog) -> None:
    worker.do(line, Deed("rename", worker.table(line), (worker.chance.choice(NAMES),)))


def drop(worker: Worker, line: Catalog) -> None:
    tables = worker.tables(line)
    if tables:
        worker.do(line, Deed("drop", worker.chance.choice(tables)[1]))


def undrop(worker: Worker, line: Catalog) -> None:
    gone = [one for one in line.dropped() if one.type in ("table", "namespace")]
    if gone:
        found = worker.chance.choice(gone)
        kind = "undrop" if found.type == "table" else "undrop namespace"
        worker.do(line, Deed(kind, str(found.name), (found.id,)))


def change_namespace(worker: Worker, line: Catalog) -> None:
    first, second = worker.chance.sample(NAMESPACES, 2)
    kind = worker.chance.choice(("create namespace", "rename namespace", "drop namespace"))
    worker.do(line, Deed(kind, first, (second,) if kind == "rename namespace" else ()))


def set_property(worker: Worker, line: Catalog) -> None:
    worker.do(line, Deed("set", worker.table(line), (f"key{worker.chance.randrange(3)}", str(worker.value()))))


def evolve(worker: Worker, line: Catalog) -> None:
    tables = worker.tables(line)
    if not tables:
        return
    id, name = worker.chance.choice(tables)
    columns = line.table(name).schema.names[2:]
    new = f"c{worker.chance.randrange(4)}"
    kind = worker.chance.choice(("add column", "rename column", "drop column")) if columns else "add column"
    old = worker.chance.choice(columns) if columns else ""
    rest: dict[str, tuple[Any, ...]] = {
        "add column": (new, worker.chance.choice((None, 7))),
        "rename column": (old, new),
        "drop column": (old,),
    }
    worker.do(line, Deed(kind, id, rest[kind]))


def transact(worker: Worker, line: Catalog) -> None:
    """Reads and changes of several tables: what was read must still hold at the commit."""

    def steps(tx: Transaction) -> Sequence[Step]:
        done: list[Step] = []
        for _ in range(worker.chance.randint(2, 4)):
            table = worker.table(tx)
            if worker.chance.random() < 0.5:
                done.append(worker.read(tx, table))
                continue
            deed = worker.row_deed(table)
            do(tx, deed, worker.engine, worker.share.how)
            done.append(deed)
        return done

    worker.transaction(line, steps)


def transfer(worker: Worker, line: Catalog) -> None:
    """Move an amount from one table of the pair to the other; mostly on the trunk, or no branch could be merged."""
    if worker.chance.random() < 0.9:
        line = worker.main

    def steps(tx: Transaction) -> Sequence[Step]:
        id, amount = worker.chance.randrange(PAIR_ROWS), worker.value()
        left, right = (tx.table(name).id for name in PAIR)
        moved = [Deed("update", left, (PAIR_ROWS, id, -amount)), Deed("update", right, (PAIR_ROWS, id, amount))]
        for deed in moved:
            do(tx, deed, worker.engine, worker.share.how)
        return moved

    worker.transaction(line, steps)


# Refs.


def branch(worker: Worker, line: Catalog) -> None:
    if len(worker.main.branches()) < MOST_BRANCHES:
        worker.made += 1
        name = f"b{worker.share.number}-{worker.made}"
        worker.call("branch", line, (), lambda event: line.create_branch(name, event_id=event))


def drop_branch(worker: Worker, line: Catalog) -> None:
    if line.ref != "main":
        name = line.ref
        worker.call("drop branch", line, (), lambda event: worker.main.drop_branch(name, event_id=event))


def undrop_branch(worker: Worker, line: Catalog) -> None:
    gone = [one for one in worker.main.dropped() if one.type == "branch"]
    if gone:
        found = worker.chance.choice(gone)
        name = str(found.name)
        worker.call("undrop branch", line, (), lambda event: worker.main.undrop_branch(name, found.id, event_id=event))


def tag(worker: Worker, line: Catalog) -> None:
    worker.made += 1
    name = f"v{worker.share.number}-{worker.made}"
    worker.call("tag", line, (), lambda event: line.create_tag(name, event_id=event))


def merge(worker: Worker, line: Catalog) -> None:
    others = [one for one in worker.main.branches() if line_id(one) != line_id(line)]
    if others:
        source = worker.chance.choice(others)
        worker.call("merge", line, (), lambda event: line.merge(source, event_id=event))


def feature(worker: Worker, line: Catalog) -> None:
    """A branch of this worker's own, as people use them: some changes, then the merge, then its end."""
    worker.made += 1
    name = f"f{worker.share.number}-{worker.made}"
    worker.call("branch", line, (), lambda event: line.create_branch(name, event_id=event))
    own = worker.main.branch(name)
    for _ in range(worker.chance.randint(1, 4)):
        worker.do(own, worker.row_deed(worker.table(own), GENTLE_KINDS))
    if worker.chance.random() < 0.3:
        worker.do(own, Deed("compact", worker.table(own)))
    worker.call("merge", line, (), lambda event: line.merge(own, event_id=event))
    worker.call("drop branch", line, (), lambda event: worker.main.drop_branch(name, event_id=event))


# Reads.


def read(worker: Worker, line: Catalog) -> None:
    """One read outside of any transaction: it sees all that was over before it."""
    table, began = worker.table(line), monotonic_ns()
    found = worker.read(line, table)
    worker.saw("read", line_id(line), began, [found])


def read_names(worker: Worker, line: Catalog) -> None:
    began = monotonic_ns()
    found = worker.listing(line)
    worker.saw("read", line_id(line), began, [found])


def read_in_transaction(worker: Worker, line: Catalog) -> None:
    """Several reads as of one moment."""
    began = monotonic_ns()
    with line.transaction() as tx:
        found = worker.look(tx)
    worker.saw("look", line_id(line), began, found)


def read_version(worker: Worker, line: Catalog) -> None:
    """Several reads at the newest version, or at one of the last."""
    began = monotonic_ns()
    version = line.version
    if worker.chance.random() < 0.5:
        version = worker.chance.choice(line.log(limit=20)).version
    found = worker.look(line.at(version=version))
    worker.saw("read at", line_id(line), began, found, int(version))


def read_tag(worker: Worker, line: Catalog) -> None:
    tags = worker.main.tags()
    if tags:
        chosen = worker.chance.choice(tags)
        began = monotonic_ns()
        found: list[Read] = worker.look(chosen)
        worker.saw("read tag", chosen.ref, began, found)


def write_without_right(worker: Worker, line: Catalog) -> None:
    """A lake that was opened to be read refuses every change."""
    if not worker.share.reads_only:
        return
    try:
        do(line, worker.row_deed(worker.table(line)), worker.engine, worker.share.how)
    except Forbidden:
        return
    worker.note("a change without the right to", AssertionError("it was not refused"))


READS = ("read", "read names", "read in transaction", "read version", "read tag", "write without right")

ACTIONS: Mapping[str, tuple[Callable[[Worker, Catalog], None], int]] = {
    "change": (change, 40),
    "compact": (compact, 5),
    "create": (create, 4),
    "rename": (rename, 4),
    "drop": (drop, 3),
    "undrop": (undrop, 4),
    "namespace": (change_namespace, 2),
    "property": (set_property, 3),
    "evolve": (evolve, 4),
    "transaction": (transact, 14),
    "transfer": (transfer, 10),
    "branch": (branch, 3),
    "drop branch": (drop_branch, 1),
    "undrop branch": (undrop_branch, 1),
    "tag": (tag, 1),
    "merge": (merge, 4),
    "feature": (feature, 8),
    "read": (read, 8),
    "read names": (read_names, 3),
    "read in transaction": (read_in_transaction, 6),
    "read version": (read_version, 4),
    "read tag": (read_tag, 1),
    "write without right": (write_without_right, 1),
}
