"""What a text that the lake keeps may do: a view or a check runs with the rights of whoever reads or writes later.

Such a text may call Spark's functions that only compute (`functions.py`), and has no `${…}`, which Spark replaces by
settings and variables of the environment. This looks at tokens alone, so that no engine is needed: a word before a
parenthesis is called, unless it is a keyword, or gives a table its alias. Where Spark's own parser is at hand, it is
asked too (`spark/sql/judged.py`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from lakebed.errors import Forbidden, Invalid
from lakebed.table.sql.functions import FUNCTIONS, REFUSED
from lakebed.table.sql.tree import short
from lakebed.table.types.limits import EXPRESSION_CHARACTERS

SUBSTITUTED = re.compile(r"\$\{[^}$ ]+\}")
"""What Spark replaces in a text before it reads it: org.apache.spark.sql.internal.VariableSubstitution."""

FORMATS = frozenset(
    (
        *("parquet", "csv", "json", "orc", "text", "avro", "xml", "binaryfile", "image", "libsvm"),
        *("jdbc", "delta", "iceberg", "hudi", "kafka", "lakebed"),
    )
)
"""Before a path in backticks they make a table of files."""

_RESERVED = """
AGGREGATE ALL AND ANTI ANY AS BETWEEN BY CASE CHAR CHARACTER CLUSTER CROSS CUBE DEC DECIMAL DISTINCT DISTRIBUTE DIV
ELSE ESCAPE EXCEPT EXCLUDE EXISTS EXTEND FILTER FOR FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN
LATERAL LEFT LIKE LIMIT MINUS NATURAL NOT NUMERIC OF OFFSET ON OR ORDER OUTER OVER PIVOT QUALIFY RECURSIVE REGEXP
REPEATABLE RIGHT RLIKE ROLLUP SELECT SEMI SET SETS SOME SORT SYSTEM TABLE TABLESAMPLE THEN UNION UNPIVOT USING VALUES
VARCHAR VIEW WHEN WHERE WINDOW WITH XOR
"""
_KEYWORDS = frozenset(_RESERVED.split())
"""Words that are not functions before a parenthesis, and not names before an alias."""

_LEADING = """
SELECT DISTINCT FROM WHERE AND OR NOT ON BY JOIN UNION INTERSECT EXCEPT MINUS HAVING AS IN LIKE RLIKE
BETWEEN CASE WHEN THEN ELSE USING VALUES WITH QUALIFY
"""
_UNFINISHED = frozenset(_LEADING.split())
"""Words that a query goes on after. Spark's parser would take some of them for the name of a column or a table."""

_CLOSED = (")", "]", "*", "?", "}")
"""Signs that a query may end with; the last ends what `check_kept_query` refuses."""

_QUERY = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE", "(")
_WORD = re.compile(r"\w+")
_STRINGS = ("STRING", "RAW_STRING", "NATIONAL_STRING")


def check_kept_query(text: str, what: str) -> None:
    """`Forbidden` if a text reaches out of the lake; one that can't be read is left to whoever reads it."""
    try:
        tokens = _tokens(text)
    except Invalid:
        tokens = []
    _check_substitution(text, tokens, what)
    for number, token in enumerate(tokens):
        if number and token.type in _STRINGS and tokens[number - 1].reads("USING"):
            raise forbidden(what, "can't run a program", text[tokens[number - 1].start : token.end])
        if _is_path(tokens, number):
            raise forbidden(what, "can't read files by their path", text[tokens[number - 2].start : token.end])
    for name in _called(tokens):
        check_function(name, what)


def check_is_query(text: str, what: str) -> None:
    """`Invalid` if a text can't be one query, whatever engine reads it.

    sqlglot does not know all of Spark's syntax. So what it can't parse is refused only if it plainly ends too early,
    has two words where an alias is one, or a WITH without a query.
    """
    tokens = _tokens(text)
    first = next((token for token in tokens if token.text != "("), None)
    if (
        first is None
        or not first.reads(*_QUERY)
        or not _is_closed(tokens)
        or any(token.text == ";" for token in tokens[:-1])
        or (first.reads("WITH") and not _has_query(tokens[tokens.index(first) :]))
        or not _is_complete(text, [token for token in tokens if token.text != ";"])
    ):
        raise Invalid(
            f"this is not the query of {what}",
            expected="one query, such as SELECT … FROM …",
            found=short(text),
            advice="Fix the text.",
        )


def _is_closed(tokens: "Sequence[_Token]") -> bool:
    """Whether each parenthesis has its other one."""
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if depth < 0:
            return False
    return not depth


def _has_query(tokens: "Sequence[_Token]") -> bool:
    """Whether a query follows upon WITH's own ones, rather than nothing, or INSERT."""
    depth, before = 0, tokens[0]
    for token in tokens[1:]:
        depth += (token.text == "(") - (token.text == ")")
        if depth < 0:
            return False
        if depth == (token.text == "(") and before.text == ")" and not token.reads(")", ",", "AS", "MAX"):
            return token.reads(*_QUERY)
        before = token
    return False


def _is_complete(text: str, tokens: "Sequence[_Token]") -> bool:
    """Whether a text can be read whole, as far as this can be said without Spark."""
    from sqlglot.dialects.spark import Spark  # here, since it takes over 100 ms to import
    from sqlglot.errors import ParseError, SqlglotError
    from sqlglot.expressions import DML, MultitableInserts

    last = tokens[-1]
    if len(tokens) == 1 or not (last.is_word or last.type in _STRINGS or last.text in _CLOSED):
        return False
    if len(text) > EXPRESSION_CHARACTERS:
        return True
    dialect = Spark()
    try:
        trees = dialect.parser(error_message_context=len(text)).parse(dialect.tokenize(text), text)
    except ParseError as error:
        if last.reads(*_UNFINISHED):
            return False
        begin = len(error.errors[0]["start_context"] or "")
        place = next((number for number, token in enumerate(tokens) if token.start == begin), 0)
        return not (place > 1 and tokens[place].is_plain and tokens[place - 1].is_plain)
    except (SqlglotError, RecursionError):
        return True
    return not isinstance(trees[0], DML | MultitableInserts)


def check_kept_condition(text: str, what: str) -> None:
    """The same for a condition, which may have no query inside it either."""
    check_kept_query(text, what)
    tokens = _tokens(text)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.reads("SELECT") or (before is not None and before.text == "(" and token.reads(*_QUERY[1:5])):
            raise forbidden(what, "can't have a query inside it", short(text))


def check_function(name: str, what: str) -> None:
    """`Forbidden` unless it is one of Spark's functions that only compute; its text may have backticks."""
    own = name.replace("`", "").casefold().removeprefix("system.").removeprefix("builtin.")
    if own in REFUSED:
        raise forbidden(what, f"can't call {own}, {REFUSED[own]}", name)
    if own not in FUNCTIONS:
        raise forbidden(what, "can only call Spark's own functions", name)


def forbidden(what: str, problem: str, found: str) -> Forbidden:
    """The error for a text that does more than its reader expects of it."""
    return Forbidden(f"{what} runs with the rights of whoever uses it, and {problem}", found=found)


def _check_substitution(text: str, tokens: "Sequence[_Token]", what: str) -> None:
    """Refuse a variable. In backticks it is a name as any other, which stands for itself (`spark/variables.py`)."""
    names = [token for token in tokens if token.type == "IDENTIFIER"]
    for found in SUBSTITUTED.finditer(text):
        if not any(name.start <= found.start() and found.end() <= name.end for name in names):
            raise forbidden(what, "can't read settings or variables of the environment", found[0])


class _Token:
    """A token of sqlglot's; of `GROUP BY` the last word counts."""

    __slots__ = ("end", "start", "text", "type")

    def __init__(self, token: Any, text: str) -> None:
        self.type: str = token.token_type.name
        self.start, self.end = token.start, token.end + 1
        self.text = text[self.start : self.end]

    def reads(self, *words: str) -> bool:
        return self.text.upper().rpartition(" ")[2] in words

    @property
    def is_word(self) -> bool:
        return self.type == "IDENTIFIER" or (self.type not in _STRINGS and _WORD.match(self.text) is not None)

    @property
    def is_plain(self) -> bool:
        """Whether it is a name, and no keyword."""
        return self.is_word and not self.reads(*_KEYWORDS)


def _tokens(text: str) -> list[_Token]:
    from sqlglot.dialects.spark import Spark  # here, since it takes over 100 ms to import
    from sqlglot.errors import SqlglotError

    try:
        return [_Token(token, text) for token in Spark().tokenize(text)]
    except SqlglotError as error:
        raise Invalid("this is not SQL", subject=short(text)) from error


def _is_path(tokens: Sequence[_Token], number: int) -> bool:
    if number < 2 or tokens[number].type != "IDENTIFIER" or tokens[number - 1].text != ".":
        return False
    return (
        tokens[number - 2].text.strip("`").casefold() in FORMATS
        and re.search(r"[/\\:]", tokens[number].text) is not None
    )


def _called(tokens: Sequence[_Token]) -> Iterator[str]:
    """The names of functions that are called, each with what is before its dots."""
    for number, token in enumerate(tokens[:-1]):
        if tokens[number + 1].text != "(" or not (token.is_word or token.text.startswith('"')):
            continue
        begin = number
        while begin > 1 and tokens[begin - 1].text == "." and tokens[begin - 2].is_word:
            begin -= 2
        if begin == number and token.type != "IDENTIFIER" and token.reads(*_KEYWORDS):
            continue
        if begin == number and _is_alias(tokens, number):
            continue
        yield "".join(each.text for each in tokens[begin : number + 1])


def _is_alias(tokens: Sequence[_Token], number: int) -> bool:
    """Whether a name before a parenthesis is a table's: `AS t (a)`, `) t (a)`, `orders t (a)`, `WITH t (a) AS (…)`."""
    before = tokens[number - 1] if number else None
    if before is not None and (before.reads("AS") or before.text == ")" or before.is_plain):
        return True
    if before is None or not (before.reads("WITH", "RECURSIVE") or before.text == ","):
        return False
    end = _closing(tokens, number + 1)
    ahead = [token.text.upper() for token in tokens[end + 1 : end + 5]]
    return len(ahead) == 4 and ahead[:2] == ["AS", "("] and ahead[2] in _QUERY and ahead[3] not in (",", ")")


def _closing(tokens: Sequence[_Token], opening: int) -> int:
    depth = 0
    for position in range(opening, len(tokens)):
        depth += (tokens[position].text == "(") - (tokens[position].text == ")")
        if not depth:
            return position
    return len(tokens)
