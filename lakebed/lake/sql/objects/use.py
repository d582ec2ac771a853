"""USE: where the session's later statements start from."""

from pyspark.sql import DataFrame

from lakebed.errors import NotFound
from lakebed.lake.sql.current import Current, choose, current
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.names import Line
from lakebed.lake.sql.objects.frames import TEXT, frame
from lakebed.lake.sql.objects.places import catalog_line, check_outside, is_catalog, moment_of, pointing, ref_line
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.objects.refs import UseCatalog, UseNamespace, UseReference
from lakebed.spark.sql.tokens import Word


def use_reference(execution: Execution, statement: UseReference) -> DataFrame:
    """Stand on a branch, a tag or a share, perhaps at a moment."""
    line, ref = catalog_line(execution, statement.catalog), statement.ref
    pin = ""
    if statement.moment is not None:
        then = moment_of(execution, statement.moment)
        pin = f"#{then.time if then.version is None else then.version}".replace(" ", "T")
    return _stand(execution, f"{line.name}@{ref.text}{pin}", ref.word)


def use_catalog(execution: Execution, statement: UseCatalog) -> DataFrame:
    """Stand on the trunk of a catalog, in no namespace."""
    where = f"{statement.catalog.text}@main"
    line = ref_line(execution, execution.places.line, where, statement.catalog.word)
    return _stood(execution, line, where, ())


def use_namespace(execution: Execution, statement: UseNamespace) -> DataFrame:
    """Stand in a namespace; or, if there is none of that name, on a catalog or a ref."""
    name = statement.name
    with pointing(execution, name.word):
        container = execution.places.read(name, None)
        if container.namespace_exists(name.parts):
            return _stand_in(execution, name)
        if not statement.is_namespace:
            return _use_other(execution, name)
        container.namespace(name.parts)
    raise AssertionError("a namespace that is missing is not found")


def show_current(execution: Execution) -> DataFrame:
    """The catalog, the namespace and the reference that names without any belong to."""
    execution.check_unattributed()
    return _where(execution, execution.places.line, execution.places.namespace)


def _use_other(execution: Execution, name: LakeName) -> DataFrame:
    """Stand on a catalog and perhaps in a namespace of it, or on a ref of this catalog."""
    line, (first, *rest) = execution.places.line, name.parts
    if name.place is None and is_catalog(execution, first):
        other = line._beside(f"{first}@main")
        if rest:
            other.namespace(tuple(rest))
        return _stood(execution, other, f"{first}@main", tuple(rest))
    if name.place is not None and not rest and name.place.startswith("@") and is_catalog(execution, first):
        return _stand(execution, f"{first}{name.place}", name.word)
    if name.place is None and not rest and (line.branch_exists(first) or line.tag_exists(first)):
        return _stand(execution, f"{line.name}@{first}", name.word)
    raise NotFound(
        "there is no namespace, catalog, branch or tag of this name",
        subject=name.spelled,
        advice="SHOW NAMESPACES, SHOW CATALOGS and SHOW BRANCHES list what is there.",
    )


def _stand(execution: Execution, where: str, word: Word) -> DataFrame:
    """Stand on a ref; the namespace stays if the catalog does."""
    before = execution.places.line
    line = ref_line(execution, before, where, word)
    is_same = line._line.ref.catalog == before._line.ref.catalog
    return _stood(execution, line, where, execution.places.namespace if is_same else ())


def _stand_in(execution: Execution, name: LakeName) -> DataFrame:
    """Stand in a namespace, on the ref that stands behind it, or where the session is."""
    line, place = execution.places.line, name.place
    if place is None:
        return _stood(execution, line, current(execution.spark, line._line.context).ref, name.parts)
    return _stood(execution, line._beside(place), f"{line.name}{place}" if place[0] == "@" else place, name.parts)


def _stood(execution: Execution, line: Line, ref: str | None, namespace: tuple[str, ...]) -> DataFrame:
    execution.check_unattributed()
    context = line._line.context
    if ref != current(execution.spark, context).ref:
        check_outside(execution, "use another ref")
    choose(execution.spark, context, Current(ref, namespace))
    return _where(execution, line, namespace)


def _where(execution: Execution, line: Line, namespace: tuple[str, ...]) -> DataFrame:
    columns = {"catalog": TEXT, "namespace": TEXT, "reference": TEXT}
    return frame(execution.spark, columns, [(line.name, ".".join(namespace), line.ref)])
