"""The attack by input: names, values, filters, SQL, schemas, properties, moments and files that programs get wrong.

Each call is refused by an error of `lakebed.errors`, or what it acknowledged can be read. Whatever came of them, the
lake passes its own check afterwards, and shows all that it showed before.
"""

import random
import traceback
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import lakebed
from lakebed.errors import LakebedError
from lakebed.lake.lake import Lake
from torture.attack import Finding, Plan, Result
from torture.children import in_child
from torture.configuration import CONFIGURATIONS, Configuration
from torture.corpus import NAMES, VALUES, conditions, expressions, moments, properties, queries, schemas
from torture.histories.deeds import SCHEMA
from torture.texts import imported_text
from torture.warm import warm_up

BATCH = 60
Call = tuple[str, Callable[[], Any]]
"""What is called, in words, and the call."""
Generator = Callable[[Lake, random.Random], Call]


def inputs(plan: Plan) -> Result:
    """Batches of calls, each in a child with a lake of its own; configurations by turns."""
    warm_up()
    result, turn = Result(), 0
    while turn == 0 or plan.left > 0:
        folder = plan.folder / f"batch{turn}"
        folder.mkdir(parents=True)
        how = CONFIGURATIONS[(plan.seed + turn) % len(CONFIGURATIONS)]
        seed = f"{plan.seed} {turn}"
        ended = in_child(partial(batch, folder, how, seed), 120)
        turn += 1
        if ended.trouble:
            last = (folder / "last").read_text() if (folder / "last").exists() else "connect"
            result.found(f"batch {seed}, {last}", ended.trouble)
        else:
            result.counts += ended.answer.counts
            result.findings += [one for one in ended.answer.findings if _is_new(one, result.findings)]
    return result


def _is_new(finding: Finding, known: Sequence[Finding]) -> bool:
    """Whether no other call found the same: an error is the same if it comes from the same line."""
    return finding.seen.partition(": ")[0] not in {one.seen.partition(": ")[0] for one in known}


def batch(folder: Path, how: Configuration, seed: str) -> Result:
    """Some calls, one after another; what is called next is noted first, for the case that it ends the process."""
    result, chance = Result(), random.Random(seed)
    generators: list[Generator] = [*GENERATORS, partial(imported_text, folder)]
    with lakebed.connect(folder / "lake", author="inputs") as lake:
        main = lake.catalog()
        main.create_namespace("n")
        main.create_table("t", SCHEMA, primary_key=["id"], partition_by=how.partition_by, properties=how.properties)
        main.table("t").append([{"id": id, "v": id} for id in range(5)])
        main.create_table(
            "wide", WIDE, properties={"write.inline-bytes": how.properties.get("write.inline-bytes", "64000")}
        )
        for _ in range(BATCH):
            name, call = chance.choice(generators)(lake, chance)
            (folder / "last").write_text(name[:1000])
            result.counts["calls"] += 1
            _judge(name, call, lake, result)
            if any("was accepted" in one.seen for one in result.findings):
                break  # all later calls would find the same
        for problem in _wrong_lake(lake):
            result.found("after all", problem)
    for place, finding in enumerate(result.findings):
        result.findings[place] = Finding(f"batch {seed} ({how.name}), {finding.case}", finding.seen)
    return result


def _judge(name: str, call: Callable[[], Any], lake: Lake, result: Result) -> None:
    try:
        call()
    except LakebedError as error:
        result.counts[f"refused by {type(error).__name__}"] += 1
        if type(error).__name__ == "Corrupt":
            result.found(name, f"Corrupt: {error}"[:600])
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        where = next((one for one in reversed(frames) if "/lakebed/" in one.filename), frames[-1])
        place = f"{Path(where.filename).name}:{where.lineno}"
        result.found(name, f"{type(error).__name__} from {place}: {str(error)[:300]}")
    else:
        result.counts["accepted"] += 1
        for problem in _wrong_tables(lake):
            result.found(name, f"was accepted, and then {problem}")


def _wrong_tables(lake: Lake) -> list[str]:
    """Tables that can't be read."""
    found = []
    for table in lake.catalog().tables(recursive=True):
        try:
            table.scan().to_arrow().validate(full=True)
            table.schema, table.properties, table.spec  # noqa: B018
        except Exception as error:
            found.append(f"{table.name!r} can't be read: {type(error).__name__} {error}"[:400])
    return found


def _wrong_lake(lake: Lake) -> list[str]:
    rows = lake.catalog().table("t").scan("v < 5 and id < 5").count() if lake.catalog().table_exists("t") else 5
    lost = [] if rows <= 5 else [f"t has {rows} rows with v below 5"]
    return [*lost, *_wrong_tables(lake), *(f"check: {found}" for found in lake.check(deep=True))]


WIDE = {
    "b": "boolean",
    "i": "int",
    "l": "long",
    "f": "float",
    "d": "double",
    "m": "decimal(9, 2)",
    "s": "string",
    "x": "binary",
    "day": "date",
    "at": "timestamp",
    "tz": "timestamptz",
    "list": "list<int>",
    "map": "map<string, int>",
    "struct": "struct<a: int, b: string>",
}


def _shown(value: Any) -> str:
    return repr(value)[:120]


def name_of_something(lake: Lake, chance: random.Random) -> Call:
    """A name wherever a name is taken."""
    main, name, other = lake.catalog(), chance.choice(NAMES), chance.choice(NAMES)
    words: dict[str, Callable[[], Any]] = {
        "create_table": lambda: main.create_table(name, SCHEMA),
        "create_namespace": lambda: main.create_namespace(name),
        "create_view": lambda: main.create_view(name, "select 1"),
        "create_branch": lambda: main.create_branch(name),
        "create_tag": lambda: main.create_tag(name),
        "create_catalog": lambda: lake.create_catalog(name),
        "rename_table": lambda: main.rename_table(name, other),
        "table": lambda: main.table(name),
        "branch": lambda: main.branch(name),
        "catalog": lambda: lake.catalog(name),
        "drop_table": lambda: main.drop_table(name, if_exists=True) if name != "t" else None,
        "undrop_table": lambda: main.undrop_table(name, as_name=other),
        "tables": lambda: main.tables(name, prefix=other),
        "inspect": lambda: main.inspect(name),
        "log": lambda: main.log(table=name),
        "column": lambda: main.create_table("made", {name: "int"} if isinstance(name, Hashable) else name),
        "add_column": lambda: _add_column(main, name),
        "location": lambda: main.create_table("placed", SCHEMA, location=name),
        "event_id": lambda: main.create_namespace("fresh", event_id=name),
        "message": lambda: main.table("t").set_properties({"a": "b"}, message=name, author=other),
    }
    word = chance.choice(sorted(words))
    return f"{word}({_shown(name)}, {_shown(other)})", words[word]


def _add_column(main: Any, name: Any) -> None:
    with main.table("t").evolve() as change:
        change.add_column(name, "int")


def rows_of_something(lake: Lake, chance: random.Random) -> Call:
    """Values of any kind for columns of any type, as Python's or Arrow's."""
    table, column, value = lake.catalog().table("wide"), chance.choice(sorted(WIDE)), chance.choice(VALUES)
    ways: dict[str, Callable[[], Any]] = {
        "append of dicts": lambda: table.append([{column: value()}]),
        "append of lists": lambda: table.append({column: [value(), None]}),
        "append with cast": lambda: table.append([{column: value()}], cast=True),
        "append as it is": lambda: table.append(value()),
        "append with evolve": lambda: table.append([{column: value(), "new": value()}], evolve="add"),
        "update": lambda: table.update({column: lakebed.lit(value())}),
        "lit in a filter": lambda: table.scan(lakebed.col(column) == value()).to_arrow(),
        "upsert": lambda: table.upsert([{column: value(), "l": 1}], on="l"),
        "get": lambda: lake.catalog().table("t").get(value()),
        "create from rows": lambda: lake.catalog().create_or_replace_table("made", [{"a": value()}]),
    }
    way = chance.choice(sorted(ways))
    return f"{way}: {column} = {_made(value)}", ways[way]


def _made(value: Callable[[], Any]) -> str:
    try:
        return _shown(value())
    except Exception as error:
        return f"{type(error).__name__}"


def condition_of_something(lake: Lake, chance: random.Random) -> Call:
    """Filters and expressions."""
    table, text, change = lake.catalog().table("wide"), conditions(chance, WIDE), expressions(chance, WIDE)
    column = chance.choice(sorted(WIDE))
    ways: dict[str, Callable[[], Any]] = {
        "scan": lambda: table.scan(text).to_arrow(),
        "count": lambda: table.scan(text).count(),
        "delete": lambda: table.delete(text),
        "update": lambda: table.update({column: change}, text),
        "overwrite": lambda: table.overwrite([{"i": 1}], text),
        "explain": lambda: table.scan(text).explain(),
        "check": lambda: table.set_properties({"check.it": text}),
        "inspect": lambda: lake.catalog().inspect("__tables", text),
    }
    way = chance.choice(sorted(ways))
    return f"{way}({_shown(text)}) {_shown(change) if way == 'update' else ''}", ways[way]


def query_of_something(lake: Lake, chance: random.Random) -> Call:
    text = queries(chance)
    return f"query({_shown(text)})", lambda: lake.query(text).to_arrow()


def schema_of_something(lake: Lake, chance: random.Random) -> Call:
    schema = chance.choice(schemas(chance))
    key: Any = chance.choice(((), ("id",), ("nothing",), ("a",), "a", (1,)))
    terms: Any = chance.choice(
        ((), ("id",), ("bucket(0, a)",), ("day(a)",), ("bucket(99999999999, a)",), ("a", "a"), (None,), "x")
    )

    def call() -> None:
        made = lake.catalog().create_or_replace_table("made", schema, primary_key=key, partition_by=terms)
        made.scan().to_arrow()

    return f"create_table({_shown(schema)}, {key!r}, {terms!r})", call


def property_of_something(lake: Lake, chance: random.Random) -> Call:
    key, value = properties(chance)
    table = lake.catalog().table("wide")

    def call() -> None:
        table.set_properties({key: value})
        table.append([{"i": 3}])
        table.unset_properties([key])

    return f"set_properties({{{_shown(key)}: {_shown(value)}}})", call


def moment_of_something(lake: Lake, chance: random.Random) -> Call:
    moment, main = moments(chance), lake.catalog()
    ways: dict[str, Callable[[], Any]] = {
        "at": lambda: main.at(moment).tables(),
        "at version": lambda: main.at(version=moment).tables(),
        "at time": lambda: main.at(time=moment).tables(),
        "table.at": lambda: main.table("t").at(moment).scan().count(),
        "at snapshot": lambda: main.table("t").at(snapshot=moment).scan().count(),
        "create_branch": lambda: main.create_branch(f"b{chance.random()}", moment),
        "restore": lambda: main.table("wide").restore(moment),
        "log": lambda: main.log(limit=moment, since=moment),
        "limit": lambda: main.table("t").scan(limit=moment).to_arrow(),
        "reset": lambda: main.create_branch(f"b{chance.random()}").reset(moment),
    }
    way = chance.choice(sorted(ways))
    return f"{way}({_shown(moment)})", ways[way]


GENERATORS: tuple[Generator, ...] = (
    name_of_something,
    rows_of_something,
    rows_of_something,
    condition_of_something,
    condition_of_something,
    query_of_something,
    schema_of_something,
    property_of_something,
    moment_of_something,
)
