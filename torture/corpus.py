"""Input that programs get wrong: names, values, texts, schemas, properties, moments."""

import datetime
import decimal
import math
import random
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy
import pyarrow

NAMES: tuple[Any, ...] = (
    *("", " ", ".", "..", "a.", ".a", "a..b", "a b", "a/b", "/", "//etc", "../up", "~", "*", "?", "%", "a%2Fb", "a\\b"),
    *(
        "a\x00b",
        "a\nb",
        "\t",
        "\x7f",
        "\ud800",
        "é",
        "e\u0301",
        "İ",
        "ß",
        "SS",
        "ﬀ",
        "\u202eabc",
        "\u200b",
        "🙂",
        "ﷺ" * 20,
    ),
    *(
        "${user.name}",
        "${env:HOME}",
        "{a}",
        "`a`",
        '"a"',
        "'a'",
        "a;b",
        "a--b",
        "/*a*/",
        "select",
        "null",
        "true",
        "main",
    ),
    *(
        "catalog.db",
        "__tables",
        "_row_id",
        "_file",
        "__x",
        "con",
        "nul",
        "a" * 255,
        "a" * 256,
        "a" * 10_000,
        "a." * 200,
    ),
    *("n", "n.t", "t", "T", "default", "default@dev", "a@b", "a#1", "HEAD", "0", "-1", "1e9", "NaN"),
    *(None, 0, 1.5, True, b"a", (), ("",), ("a", ""), ("a", None), ("a", 1), ("a",) * 40, ["a"], {"a": 1}, object()),
)


def _hostile_decimal() -> pyarrow.Table:
    """A decimal beyond its precision: Arrow does not look at it unless it is asked to."""
    buffer = pyarrow.py_buffer((10**30).to_bytes(16, "little"))
    return pyarrow.table({"m": pyarrow.Array.from_buffers(pyarrow.decimal128(9, 2), 1, [None, buffer])})


def _hostile_text() -> pyarrow.Table:
    """Bytes that are not UTF-8, as a string."""
    parts = [None, pyarrow.py_buffer(struct.pack("<ii", 0, 2)), pyarrow.py_buffer(b"\xff\xfe")]
    return pyarrow.table({"s": pyarrow.Array.from_buffers(pyarrow.string(), 1, parts)})


def _dictionary() -> pyarrow.Table:
    """A dictionary whose index is out of range."""
    indices = pyarrow.array([0, 7], pyarrow.int8())
    array = pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array(["a"]), safe=False)
    return pyarrow.table({"s": array})


def _date64() -> pyarrow.Table:
    """A day that is not whole."""
    return pyarrow.table({"day": pyarrow.array([1], pyarrow.int64()).view(pyarrow.date64())})


def _twice() -> pyarrow.Table:
    return pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["i", "i"])


VALUES: tuple[Callable[[], Any], ...] = (
    *(lambda value=value: value for value in (None, True, 0, -1, 2**31, -(2**63), 2**63, 2**64, 2**200, 1.5)),
    *(lambda value=value: value for value in (math.nan, math.inf, -math.inf, -0.0, 1e308, 5e-324)),
    *(
        lambda value=value: value
        for value in ("", "a", "\x00", "\ud800", "🙂" * 1000, "1", "NaN", "2026-02-30", "x" * 100_000)
    ),
    *(
        lambda value=value: value
        for value in (b"", b"\xff", b"\x00" * 100_000, [], [None], [[1]], [1, "a"], {}, {"a": 1})
    ),
    *(
        lambda value=value: value
        for value in ({"a": 1, "b": "x", "c": 2}, {1: 2}, {"a": None}, (1, 2), {1, 2}, object(), print)
    ),
    *(
        lambda text=text: decimal.Decimal(text)
        for text in ("0", "NaN", "Infinity", "1e40", "-9999999.99", "9999999.995", "1e-40")
    ),
    *(lambda: datetime.date(1, 1, 1), lambda: datetime.date(9999, 12, 31), lambda: datetime.datetime(1, 1, 1)),
    *(
        lambda: datetime.datetime.max,
        lambda: datetime.datetime.now(datetime.UTC),
        lambda: datetime.timedelta(days=10**8),
    ),
    *(
        lambda: datetime.time(1, 2),
        lambda: numpy.float16(1),
        lambda: numpy.datetime64("NaT"),
        lambda: numpy.array([1, 2]),
    ),
    *(lambda: numpy.datetime64("294247-01-10T04:00:54.775807", "us"), lambda: numpy.datetime64("-290308-12-21", "us")),
    *(lambda: pyarrow.array([1]), lambda: pyarrow.table({}), lambda: pyarrow.table({"i": [None]}), lambda: "not rows"),
    *(_hostile_decimal, _hostile_text, _dictionary, _date64, _twice),
    lambda: pyarrow.table({"i": pyarrow.nulls(3)}),
    lambda: pyarrow.table({"at": pyarrow.array([2**62], pyarrow.timestamp("ns"))}),
    lambda: pyarrow.table({"at": pyarrow.array([2**62], pyarrow.timestamp("s"))}),
    lambda: pyarrow.table({"tz": pyarrow.array([0], pyarrow.timestamp("us", "Nowhere/Else"))}),
    lambda: pyarrow.table({"l": pyarrow.array([2**64 - 1], pyarrow.uint64())}),
    lambda: pyarrow.table({"struct": [{"a": 1, "b": "x", "zzz": 1}]}),
    lambda: pyarrow.table({"i": pyarrow.chunked_array([], pyarrow.int32())}),
    lambda: pyarrow.table({"f": pyarrow.array([1], pyarrow.float16())}),
    lambda: pyarrow.table({"day": pyarrow.array([2**31 - 1], pyarrow.int32()).view(pyarrow.date32())}),
)

_TEXTS = (
    "''",
    "'a'",
    "'''",
    "'\\'",
    '"a"',
    "x'ff'",
    "N'a'",
    "0",
    "-1",
    "1.5",
    "1e400",
    "0x1",
    "99999999999999999999",
    "null",
    "true",
)
_WORDS = (
    *(
        "and",
        "or",
        "not",
        "is null",
        "is not null",
        "in (1, 2)",
        "in ()",
        "between 1 and 2",
        "like 'a%'",
        "like 'a' escape 'b'",
    ),
    *(
        "=",
        "<>",
        "!=",
        "<=>",
        "<",
        ">=",
        "||",
        "+",
        "-",
        "*",
        "/",
        "%",
        "(",
        ")",
        ",",
        ";",
        "--",
        "/*",
        "is nan",
        "case when",
        "end",
    ),
    *(
        "cast(1 as int)",
        "date '2026-01-01'",
        "date 'x'",
        "timestamp '2026-01-01 25:00'",
        "interval 1 day",
        "current_date",
        "?",
        ":a",
    ),
    *(
        "select 1",
        "exists (select 1)",
        "(select max(i) from wide)",
        "count(*)",
        "rand()",
        "abs(i)",
        "upper(s)",
        "struct.a",
        "list[0]",
    ),
    *(
        "map['a']",
        "java_method('java.lang.System', 'exit', 0)",
        "reflect('a', 'b')",
        "sleep(9)",
        "😀",
        "\x00",
        "\ud800",
        "${user.name}",
    ),
)


def conditions(chance: random.Random, columns: Mapping[str, str]) -> Any:
    """Text that is sometimes a condition."""
    if chance.random() < 0.08:
        return chance.choice(
            (None, 0, True, b"a", [], "", " ", "(" * 500 + "1" + ")" * 500, "not " * 400 + "b", "i = 1 or " * 300 + "b")
        )
    column, value = chance.choice(sorted(columns)), chance.choice(_TEXTS)
    if chance.random() < 0.5:
        shape = chance.choice(
            (
                "{} = {}",
                "{} < {} or i = 1",
                "not {} >= {}",
                "{} in ({}, null)",
                "{} between {} and 7",
                "{} like {}",
                "{} <=> {}",
            )
        )
        return shape.format(column, value)
    return " ".join(chance.choice((column, value, chance.choice(_WORDS))) for _ in range(chance.randint(1, 7)))


def expressions(chance: random.Random, columns: Mapping[str, str]) -> Any:
    """Text that is sometimes an expression."""
    column = chance.choice(sorted(columns))
    shapes = (
        "{0}",
        "{0} + 1",
        "{0} / 0",
        "cast({0} as int)",
        "cast({0} as decimal(38, 37))",
        "concat({0}, {0})",
        "coalesce({0}, null)",
        "-{0}",
        "{0} || 'a'",
    )
    if chance.random() < 0.6:
        return chance.choice(shapes).format(column)
    return " ".join(chance.choice((column, *_TEXTS, *_WORDS)) for _ in range(chance.randint(1, 5)))


def queries(chance: random.Random) -> Any:
    """Text that is sometimes a query of DuckDB's SQL."""
    whole = (
        *(
            "select * from t",
            "select count(*) from wide, t",
            "select * from t@main",
            "select * from t version as of 1",
            "",
            ";",
        ),
        *(
            "select * from nothing",
            "drop table t",
            "insert into t values (1, 2)",
            "select * from read_csv('/etc/hosts')",
        ),
        *(
            "select * from '/etc/hosts'",
            "copy t to '/tmp/x'",
            "attach 'x.db'",
            "install httpfs",
            "load httpfs",
            "pragma database_list",
        ),
        *(
            "set threads = 1",
            "select getenv('HOME')",
            "select 1; select 2",
            "with t as (select 1) select * from t",
            "select $1",
            "select ?",
        ),
        *(
            "select repeat('a', 100000)",
            "select * from t timestamp as of 'x'",
            "select * from t@nowhere",
            "create table x as select 1",
        ),
        *(
            "select * from (select * from t) limit -1",
            "select 1/0",
            "select * from t where id = 'a'",
            "call x()",
            "export database 'x'",
        ),
        *(None, 1, b"select 1", "select '\ud800'", "select '\x00'", "select " + "(" * 300 + "1" + ")" * 300),
    )
    if chance.random() < 0.6:
        return chance.choice(whole)
    words = (
        "select",
        "from",
        "where",
        "t",
        "wide",
        "*",
        "1",
        ",",
        "(",
        ")",
        "join",
        "on",
        "group by",
        "order by",
        "limit",
        *_WORDS,
    )
    return "select " + " ".join(chance.choice(words) for _ in range(chance.randint(1, 8)))


def schemas(chance: random.Random) -> tuple[Any, ...]:
    """Things that are sometimes a schema; some nest as deep as chance says."""
    depth = chance.choice((3, 20, 40, 60, 120, 400))
    deep_list: pyarrow.DataType = pyarrow.int32()
    deep_struct: pyarrow.DataType = pyarrow.int32()
    for _ in range(depth):
        deep_list, deep_struct = pyarrow.list_(deep_list), pyarrow.struct([("a", deep_struct)])
    return (
        *(
            {},
            {"a": "int"},
            {"a": "nothing"},
            {"a": ""},
            {"a": None},
            {1: "int"},
            {"a": "int", "A": "long"},
            {"": "int"},
            None,
            1,
            "a",
        ),
        *(
            {"a": "decimal(39, 2)"},
            {"a": "decimal(2, 3)"},
            {"a": "decimal(-1, 0)"},
            {"a": "list<"},
            {"a": "struct<>"},
            {"a": "map<int>"},
        ),
        *(
            {"a": "list<" * depth + "int" + ">" * depth},
            {"a": "struct<a: " * depth + "int" + ">" * depth},
            {"_row_id": "long"},
        ),
        *(
            pyarrow.schema([("a", deep_list)]),
            pyarrow.schema([("a", deep_struct)]),
            pyarrow.schema([("a", pyarrow.null())]),
        ),
        *(
            pyarrow.schema([("a", pyarrow.int8()), ("a", pyarrow.int8())]),
            pyarrow.schema([("a", pyarrow.month_day_nano_interval())]),
        ),
        *(
            pyarrow.schema([("a", pyarrow.dictionary(pyarrow.int8(), pyarrow.string()))]),
            pyarrow.schema([("a", pyarrow.duration("us"))]),
        ),
        *(
            pyarrow.schema([("id", pyarrow.float64())]),
            {f"c{number}": "int" for number in range(chance.choice((10, 2000)))},
        ),
        *(
            {"a": "map<list<int>, int>"},
            {"a": "fixed(0)"},
            {"a": "fixed(99999999999)"},
            {"a": "time"},
            {"a": "uuid"},
            {"a": "variant"},
        ),
    )


def properties(chance: random.Random) -> tuple[Any, Any]:
    """A key and a value."""
    keys = (
        *(
            "write.inline-bytes",
            "write.target-file-bytes",
            "write.row-group-rows",
            "write.bloom.columns",
            "write.bloom.fpp",
            "write.row-changes",
        ),
        *(
            "write.check-keys",
            "write.distribution",
            "check.a",
            "checkpoint.deltas",
            "checkpoint.bytes",
            "write.nothing",
            "check.",
            "a",
            "",
            " ",
        ),
        *("a" * 5000, "\x00", "\ud800", 1, None, "comment", "write.", "check.${user.name}"),
    )
    values = (
        *(
            "0",
            "-1",
            "1",
            "3",
            "1e3",
            "99999999999999999999",
            "1.5",
            "NaN",
            "",
            " ",
            "128MB",
            "128XB",
            "-1MB",
            "1 GiB",
            "true",
            "maybe",
            "none",
        ),
        *(
            "copy-on-write",
            "i",
            "i, l",
            "nothing",
            "i,i",
            "i > 0",
            "i >",
            "s like",
            "0.5",
            "2",
            "x" * 200_000,
            "\x00",
            "\ud800",
            5,
            None,
            True,
            b"1",
        ),
    )
    return chance.choice(keys), chance.choice(values)


def moments(chance: random.Random) -> Any:
    """Something that is sometimes a version or a time."""
    return chance.choice(
        (
            *(
                0,
                1,
                -1,
                -(2**70),
                2**70,
                2**63,
                1.5,
                math.nan,
                True,
                None,
                "",
                "0",
                "-1",
                "abc",
                "2026-11-01",
                "9999-12-31",
                "0000-00-00",
            ),
            *(
                "yesterday",
                "1 hour ago",
                "-5 hours ago",
                "99999999999999 days ago",
                "2026-11-01T25:00",
                "now",
                "1e5",
                "٣",
                b"1",
                [],
                (),
            ),
            *(
                datetime.datetime.max,
                datetime.datetime.min,
                datetime.date(1, 1, 1),
                datetime.datetime.now(datetime.UTC),
                datetime.timedelta(1),
            ),
            *("9" * 5000, "2026-11-18T00:00:00+99:99", " 3 ", decimal.Decimal(3), numpy.int64(3)),
        )
    )
