"""Where a clause may begin, by rules: the way to cut a statement where Spark's own parser is out of reach.

Nearly every keyword of Spark's may be the name of a column. What tells them apart is their place: a clause begins
behind a whole expression, a name where a value is due. `tests/spark/sql/test_cuts.py` holds the rules to Spark's
parser.
"""

from dataclasses import dataclass

from lakebed.spark.sql.tokens import Kind, Word

_JOINS = ("AND", "OR", "NOT", "IS", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "ESCAPE", "DIV", "COLLATE")
"""Words behind a value that need another one."""

_BRANCHES = ("WHEN", "THEN", "ELSE")
"""The same in CASE … END."""

_PREFIXES = ("NOT", "DISTINCT", "EXISTS", "ANY", "SOME", "ALL", "INTERVAL")
"""Words before a value, if one follows."""


@dataclass(slots=True)
class Operands:
    """Follows an expression, or a list of them, word by word."""

    awaits: bool = True
    """Whether a value is due, so that the next word can't begin a clause."""
    brackets: int = 0
    cases: int = 0
    last: Word | None = None

    @property
    def is_outside(self) -> bool:
        """Whether the next word is in no brackets and in no CASE … END."""
        return self.brackets == self.cases == 0

    def take(self, word: Word, ahead: Word | None) -> None:
        """Go behind a word; `ahead` is the one after it."""
        if word.reads("(", "["):
            self.brackets += 1
            self.awaits = True
        elif word.reads(")", "]"):
            self.brackets -= 1
            self.awaits = False
        elif self.awaits:
            self._take_value(word, ahead)
        else:
            self._take_operator(word)
        self.last = word

    def _take_value(self, word: Word, ahead: Word | None) -> None:
        if word.reads("CASE") and _begins_value(ahead, "END", "FROM", "WHERE"):
            self.cases += 1
        elif not self._continues(word, ahead):
            is_prefix = word.reads(*_PREFIXES) and _begins_value(ahead)
            is_sign = word.kind is Kind.SIGN and not word.reads("*", "?") and not _is_value(word)
            self.awaits = is_prefix or is_sign

    def _continues(self, word: Word, ahead: Word | None) -> bool:
        """Whether a word only continues a keyword: CASE WHEN, DISTINCT FROM, NOT LIKE."""
        if word.reads(*_JOINS) and self._follows("NOT"):
            return True
        if word.reads("WHEN"):
            return self._follows("CASE") and not (ahead is not None and ahead.reads("WHEN"))
        return word.reads("FROM") and self._follows("DISTINCT")

    def _take_operator(self, word: Word) -> None:
        if self.cases and word.reads("END"):
            self.cases -= 1
        else:
            self.awaits = word.reads(*_JOINS, *_BRANCHES) or (word.kind is Kind.SIGN and not _is_value(word))

    def _follows(self, keyword: str) -> bool:
        return self.last is not None and self.last.reads(keyword)


def begins_query(word: Word, ahead: Word | None) -> bool:
    """Whether a query begins at a word behind a parenthesis; else the word is the name of a column."""
    if word.reads("SELECT", "VALUES"):
        return _begins_value(ahead)
    return word.reads("FROM", "TABLE", "WITH") and ahead is not None and (ahead.names or ahead.reads("("))


def _is_value(word: Word) -> bool:
    """Whether a sign is a literal that sqlglot has a token of its own for, such as X'1F'."""
    return word.kind is Kind.SIGN and (word.text[:1].isalnum() or word.text.startswith("/*"))


def _begins_value(word: Word | None, *others: str) -> bool:
    """Whether a word may begin a value: it is neither behind a value, nor one of the others."""
    if word is None:
        return False
    if word.kind is Kind.SIGN:
        return _is_value(word) or word.reads("(", "-", "+", "~", "!", "*", "?", ":", "@")
    return word.reads("NOT") or not word.reads(*_JOINS, *others)
