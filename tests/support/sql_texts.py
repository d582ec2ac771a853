"""Statements of SQL as texts, made by a small grammar: everything that makes it hard to say where a clause begins."""

from hypothesis import strategies as st

KEYWORDS = (
    "end",
    "when",
    "where",
    "from",
    "set",
    "order",
    "limit",
    "then",
    "values",
    "table",
    "matched",
    "using",
    "on",
)
"""Names of columns that are keywords too."""

BLANKS = st.sampled_from([" ", "  ", "\n", " /* where x = 1 */ ", " -- from (\n"])
COLUMNS = st.sampled_from(["a", "b", "u.c", "u.d.e", "`a where`", *KEYWORDS, *(f"u.{word}" for word in KEYWORDS)])
LITERALS = st.sampled_from(
    [
        *("1", "-2", "1.5", "10L", "2e3", "NULL", "true", "X'1F'", "'it''s, where'", '"from ("', "'a' 'b'", "r'\\d'"),
        *("DATE '2026-01-01'", "TIMESTAMP '2026-01-01 00:00:00'", "INTERVAL 3 DAYS", "INTERVAL '1-2' YEAR TO MONTH"),
        *(
            "now()",
            "current_timestamp()",
            "current_date",
            "count(*)",
            "uuid()",
            "map()",
            "array()",
            "f(g())",
            ":p",
            "?",
        ),
    ]
)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one, two, three = st.tuples(inner), st.tuples(inner, inner), st.tuples(inner, inner, inner)

    def forms(parts: st.SearchStrategy[tuple[str, ...]], *texts: str) -> st.SearchStrategy[str]:
        return st.tuples(st.sampled_from(texts), parts).map(lambda made: made[0].format(*made[1]))

    return st.one_of(
        forms(
            one,
            *("({})", "(({}))", "NOT {}", "- {}", "{} IS NULL", "{} IS NOT NULL", "{} IS NOT TRUE", "{}::int"),
            *("{}::decimal(10, 2)", "cast({} AS decimal(10, 2))", "count(DISTINCT {})", "upper({})", "{} LIKE 'x,'"),
            *("{} IN (1, 2)", "{} NOT IN (select x from q where y = 1)", "exists (select 1 from q where {})"),
            *("(select max(x) from q where {} limit 1)", "extract(YEAR FROM {})", "trim(BOTH 'x' FROM {})"),
            *("sum({}) FILTER (WHERE a) OVER (PARTITION BY b ORDER BY c)", "transform(a, x -> {})", "array({})[1]"),
            "named_struct('a', {}).a",
        ),
        forms(
            two,
            *(
                "{} + {}",
                "{} * {}",
                "{} AND {}",
                "{} OR {}",
                "{} || {}",
                "{} <=> {}",
                "{} = {}",
                "{} < {}",
                "{} DIV {}",
            ),
            *("{} IS DISTINCT FROM {}", "{} IS NOT DISTINCT FROM {}", "coalesce({}, {})", "{} IN ({}, 1)"),
            *("CASE WHEN {} THEN {} END", "{} NOT LIKE {}", "if({}, 1, {})", "{} RLIKE {}"),
        ),
        # Rules can't tell whether the word behind a bare `case` is its value, or begins a clause behind such a column.
        forms(
            three, "CASE ({}) WHEN {} THEN 1 ELSE {} END", "{} BETWEEN {} AND {}", "CASE WHEN {} THEN {} ELSE {} END"
        ),
    )


EXPRESSIONS = st.recursive(st.one_of(COLUMNS, LITERALS), _grown, max_leaves=6)


def _joined(*pieces: st.SearchStrategy[str] | str) -> st.SearchStrategy[str]:
    """The pieces behind each other, with some kind of blank between them."""
    parts = [st.just(piece) if isinstance(piece, str) else piece for piece in pieces]
    return st.tuples(BLANKS, st.tuples(*parts)).map(lambda made: made[0].join(piece for piece in made[1] if piece))


def _list(item: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(item, min_size=1, max_size=3).map(", ".join)


ALIAS = st.sampled_from(["", "t", "AS t"])
SETS = st.lists(EXPRESSIONS, min_size=1, max_size=3).map(
    lambda values: ", ".join(f"{('a', 'where', 't.when')[number]} = {value}" for number, value in enumerate(values))
)
WHERE = st.one_of(st.just(""), _joined("WHERE", EXPRESSIONS))
UPDATES = _joined("UPDATE ns.t", ALIAS, "SET", SETS, WHERE)
DELETES = _joined("DELETE FROM ns.t", ALIAS, WHERE)
AND = st.one_of(st.just(""), _joined("AND", EXPRESSIONS))
CLAUSES = st.one_of(
    _joined("WHEN MATCHED", AND, "THEN DELETE"),
    _joined("WHEN MATCHED", AND, "THEN UPDATE SET *"),
    _joined("WHEN MATCHED", AND, "THEN UPDATE SET", SETS),
    _joined("WHEN NOT MATCHED", AND, "THEN INSERT (a, `b c`) VALUES (", EXPRESSIONS, ",", EXPRESSIONS, ")"),
    _joined("WHEN NOT MATCHED BY SOURCE", AND, "THEN UPDATE SET", SETS),
)
MERGES = _joined(
    "MERGE INTO ns.t AS t USING (select count(*) as c from q) s ON",
    EXPRESSIONS,
    st.lists(CLAUSES, min_size=1, max_size=3).map("\n".join),
)
QUERIES = st.one_of(
    _joined("SELECT", _list(EXPRESSIONS), "FROM q", WHERE),
    _joined("VALUES (", EXPRESSIONS, ")"),
    st.just("TABLE q"),
    _joined("WITH r AS (SELECT", EXPRESSIONS, ") SELECT * FROM r"),
)
INSERTS = st.one_of(
    _joined("INSERT INTO ns.t", st.sampled_from(["", "(a, b)", "BY NAME"]), QUERIES),
    _joined("INSERT INTO ns.t REPLACE WHERE", EXPRESSIONS, QUERIES),
    _joined(
        "WITH q AS (SELECT count(*), now() FROM x WHERE", EXPRESSIONS, "), r AS (TABLE q) INSERT INTO ns.t", QUERIES
    ),
)
TYPES = st.sampled_from(["INT", "decimal(10, 2)", "struct<a: int, b: map<string, array<int>>>", "TIMESTAMP", "string"])
OPTIONS = st.one_of(
    st.just(""),
    st.sampled_from(["NOT NULL", "COMMENT 'not, null'", "NOT NULL COMMENT 'x'"]),
    _joined("DEFAULT", EXPRESSIONS),
    _joined("DEFAULT", EXPRESSIONS, st.sampled_from(["NOT NULL", "COMMENT 'x'"])),
)
CREATES = st.one_of(
    _joined(
        "CREATE TABLE ns.t (a", TYPES, OPTIONS, ", `b b`", TYPES, OPTIONS, ") PARTITIONED BY (days(a), bucket(4, b))"
    ),
    _joined("CREATE OR REPLACE TABLE ns.t COMMENT 'as select' TBLPROPERTIES ('a' = 'b, c') AS", QUERIES),
)
STATEMENTS = st.one_of(UPDATES, DELETES, MERGES, INSERTS, CREATES)
