"""Where statements about objects find what they name: namespaces, catalogs, lines, and objects to look at."""

from collections.abc import Iterator
from contextlib import contextmanager

from lakebed.catalog.refs.catalogs import catalog_life, catalogs
from lakebed.errors import Invalid, LakebedError, NotFound
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.names import Line, Moment, Objects, pointed
from lakebed.lake.sql.read import is_temporary
from lakebed.lake.table import Table
from lakebed.lake.view import View
from lakebed.spark.sql.names import LakeName, time_of
from lakebed.spark.sql.names import Moment as WrittenMoment
from lakebed.spark.sql.objects.names import RefName, is_single
from lakebed.spark.sql.tokens import Word, place


@contextmanager
def pointing(execution: Execution, word: Word) -> Iterator[None]:
    """Errors inside get the place of a word in the statement, unless they have one."""
    try:
        yield
    except LakebedError as error:
        if not error.subject.startswith("line "):
            pointed(error, place(execution.text, word.start))
        raise


def check_outside(execution: Execution, what: str) -> None:
    """Refuse in a transaction what is not part of one."""
    if execution.places.transaction is not None:
        raise Invalid(f"a transaction can't {what}", advice="End it first, and run the statement by lake.sql(…).")


def catalog_line(execution: Execution, catalog: RefName | None) -> Line:
    """The line that statements without a name are about, or the trunk of the catalog with a name."""
    line = execution.places.line
    return line if catalog is None else ref_line(execution, line, f"{catalog.text}@main", catalog.word)


def ref_line(execution: Execution, line: Line, where: str, word: Word) -> Line:
    """Another ref of a line's catalog, `@dev`, or one of another catalog, `other@dev`."""
    with pointing(execution, word):
        return line._beside(where)


def catalog_names(execution: Execution) -> list[str]:
    """The names of the project's catalogs."""
    line = execution.places.line._line
    line.check_unshared("sql")
    return [catalog_life(line.context, ref.catalog).name for ref in catalogs(line.context)]


def is_catalog(execution: Execution, name: str) -> bool:
    """Whether a catalog has this name."""
    return name.casefold() in map(str.casefold, catalog_names(execution))


def moment_of(execution: Execution, given: WrittenMoment) -> Moment:
    """The version or time that is written behind a name; an expression is evaluated by Spark."""
    if given.expression is not None:
        return Moment(time=time_of(execution.spark, given.expression))
    return Moment(given.version, given.time)


def line_then(execution: Execution, line: Line, given: WrittenMoment | None) -> Line:
    """A line as it was at a moment, or as it is."""
    if given is None:
        return line
    then = moment_of(execution, given)
    return line._then(then.version, then.time)


def read_container(execution: Execution) -> Objects:
    """What is read of the line, or of the transaction, that the statement is about."""
    places = execution.places
    return places.line._pinned(places.version) if places.transaction is None else places.transaction


def namespace_place(execution: Execution, name: LakeName) -> tuple[Objects, tuple[str, ...]]:
    """What holds a namespace, and its parts; a catalog's name stands for all of it, without parts."""
    with pointing(execution, name.word):
        container = execution.places.read(name, None)
        if container.namespace_exists(name.parts):
            return container, name.parts
        if name.place is None and is_catalog(execution, name.parts[0]):
            other = execution.places.line._beside(f"{name.parts[0]}@main")
            if len(name.parts) == 1 or other.namespace_exists(name.parts[1:]):
                return other._pinned(execution.places.version), name.parts[1:]
        container.namespace(name.parts)
    raise AssertionError("a namespace that is missing is not found")


def shown_object(execution: Execution, name: LakeName) -> Table | View | None:
    """The table or view with a name, to be looked at; None for a system table, and for one of the session's."""
    if is_single(name) and not name.is_relative:
        return None
    if name.is_relative and is_temporary(execution.spark, name.parts[-1]):
        return None
    try:
        with pointing(execution, name.word):
            container = execution.places.read(name, None)
            if container.view_exists(name.parts):
                return container.view(name.parts)
            return container.table(name.parts)
    except NotFound:
        if name.is_relative or execution.reader.has(name):
            return None
        raise
