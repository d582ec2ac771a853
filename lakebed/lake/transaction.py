"""The handle of a transaction."""

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self, TypeVar

from lakebed.catalog.transaction.commits import Commit
from lakebed.catalog.transaction.retry import retried
from lakebed.catalog.transaction.scopes import Live, Open, Scope
from lakebed.errors import Conflict, Invalid
from lakebed.lake.shown import place_text, safely
from lakebed.lake.sql.current import current
from lakebed.lake.sql.names import Attribution, Line, Objects, Places
from lakebed.lake.sql.statement import Args, run_statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.lake.sql.answers import Answer


T = TypeVar("T")

ATTEMPTS = 10
"""How often `Lake.run` runs a function before other commits are too many."""


class Transaction(Objects[None]):
    """Changes to any number of tables that commit together at the end of the `with`, or not at all.

    Reads see what the transaction did. An exception ends it without a trace. A `Conflict` at its end names what it had
    read and another commit has changed.
    """

    __slots__ = ("_committed", "_line", "_open", "_scope")

    def __init__(self, scope: Open, line: Line) -> None:
        self._scope: Scope = scope
        self._open = scope
        self._line = line
        self._committed: Commit | None = None

    @property
    def committed(self) -> Commit | None:
        """The commit, once there is one; None if the transaction changed nothing."""
        return self._committed

    def sql(self, spark: "SparkSession", text: str, *, args: Args | None = None) -> "Answer":
        """Run a statement of Spark's SQL in the transaction: names without a ref are its own."""

        def places() -> Places:
            context = self._scope.context
            namespace = current(spark, context).namespace
            return Places(self._line, context.metastore.newest(), self, namespace=namespace)

        return run_statement(spark, text, args, places, Attribution())

    def transaction(self, *arguments: object, **named: object) -> NoReturn:
        """Refused: a transaction has no parts that could commit by themselves."""
        raise Invalid("a transaction can't be in another one", advice="Make the changes in this one, or end it first.")

    @property
    def _owner(self) -> str:
        """Properties of the catalog itself belong to its line, and branches inherit them."""
        return self._scope.ref.line.top

    def __repr__(self) -> str:
        return safely("Transaction", lambda: self._text())

    def _text(self) -> str:
        message = "" if self._open.message is None else f" {self._open.message!r}"
        return f"Transaction{message} @ {place_text(self._line_scope)}"

    @property
    def _line_scope(self) -> Scope:
        """The line that it is on, without what it did."""
        return Live(self._open.context, self._open.ref)

    def __enter__(self) -> Self:
        self._open.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._committed = self._open.commit()
        else:
            self._open.close()


def run(begin: Callable[[], Transaction], function: Callable[[Transaction], T], attempts: int) -> T:
    """The function's result in a transaction that committed; run again in a new one if the commit is a `Conflict`."""
    if not isinstance(attempts, int) or isinstance(attempts, bool) or attempts < 1:
        raise Invalid("attempts are counted", expected="1 or more", found=repr(attempts))
    lost: Conflict | None = None

    def attempt() -> T:
        nonlocal lost
        done = False
        try:
            with begin() as transaction:
                value = function(transaction)
                done = True
        except Conflict as error:
            lost = error if done else None  # one of the function's own would come again
            raise
        return value

    return retried(attempts, attempt, lambda error: error is lost)
