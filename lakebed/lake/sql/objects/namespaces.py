"""CREATE, DROP and ALTER NAMESPACE, by the calls of handles."""

from collections.abc import Iterator
from contextlib import contextmanager

from lakebed.catalog.transaction.commits import Commit
from lakebed.errors import Invalid
from lakebed.lake.namespace import Namespace
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.objects.places import pointing
from lakebed.spark.sql.objects.alter import RenameTo, SetProperties, UnsetProperties
from lakebed.spark.sql.objects.namespaces import AlterNamespace, CreateNamespace, DropNamespace
from lakebed.spark.sql.objects.storage import SetLocation, SetOwner


def create_namespace(execution: Execution, statement: CreateNamespace) -> Namespace:
    """Create a namespace."""
    name = statement.namespace
    with pointing(execution, name.word):
        return execution.container(name).create_namespace(
            name.parts,
            properties=dict(statement.properties),
            comment=statement.comment,
            location=statement.location,
            if_not_exists=statement.if_not_exists,
            **execution.by.keywords,
        )


def drop_namespace(execution: Execution, statement: DropNamespace) -> Commit | None:
    """Drop a namespace."""
    name, container = statement.namespace, execution.container(statement.namespace)
    with pointing(execution, name.word), _cascade_advice():
        return container.drop_namespace(
            name.parts, statement.cascade, if_exists=statement.if_exists, **execution.by.keywords
        )


@contextmanager
def _cascade_advice() -> Iterator[None]:
    """An error about a namespace that is not empty advises SQL's word."""
    try:
        yield
    except Invalid as error:
        error.advice = error.advice.replace("pass cascade=True", "write CASCADE")
        raise


def alter_namespace(execution: Execution, statement: AlterNamespace) -> Commit | None:
    """Change a namespace's properties, location, owner or name."""
    name, by = statement.namespace, execution.by.keywords
    with pointing(execution, name.word):
        container = execution.container(name)
        if isinstance(statement.change, RenameTo):
            return container.rename_namespace(name.parts, statement.change.name.parts, **by)
        namespace = container.namespace(name.parts)
        match statement.change:
            case SetProperties(properties):
                return namespace.set_properties(dict(properties), **by)
            case UnsetProperties(names):
                return namespace.unset_properties(names, **by)
            case SetLocation(location):
                return namespace.set_location(location, **by)
            case SetOwner(owner):
                return namespace.set_owner(owner, **by)
