"""The table that an import goes into: found, or created with its namespaces in the same commit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from lakebed.catalog.objects import namespaces
from lakebed.catalog.objects.properties import properties_of
from lakebed.catalog.tables import tables
from lakebed.catalog.tables.ids import reserve_fields
from lakebed.catalog.tables.known_properties import check_table_properties
from lakebed.catalog.tables.tables import Layout, TableState, table_state
from lakebed.catalog.transaction import objects
from lakebed.catalog.transaction.commits import Argument, Request
from lakebed.catalog.transaction.names import shown_name, spelled
from lakebed.catalog.transaction.retry import retried
from lakebed.catalog.transaction.scopes import Open, Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.lake.evolve import Evolve
from lakebed.lake.imports.answer import Import, ImportedColumn, Misfit, check_fits
from lakebed.metastore.kinds import NAMESPACE, TABLE
from lakebed.table.partition.sort_order import make_sort_order
from lakebed.table.schema.evolution import new_columns
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Fields

ATTEMPTS = 5
"""How often an import begins again after another commit has changed its table."""


@dataclass(frozen=True, slots=True)
class Into:
    """The name of a table, and what it is created with if there is none. `evolve`: it gets columns that it lacks."""

    parts: tuple[str, ...]
    primary_key: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    evolve: bool = False

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What is asked for, as a request has it."""
        return self.parts, self.primary_key, self.sort_by, dict(self.properties), self.evolve

    def find(self, work: Work) -> str | None:
        """The id of the table; None if there is none."""
        return tables.find_table(work, shown_name(self.parts)) if objects.exists(work, self.parts, TABLE) else None

    def create(
        self,
        scope: Open,
        columns: Schema,
        partition_by: tuple[str, ...] = (),
        *,
        keeps_ids: bool,
        last_id: int = 0,
    ) -> str:
        """Create it, with the namespaces around it; ids up to `last_id` are kept for columns of its source."""
        layout = Layout(partition_by, self.sort_by, self.primary_key)
        made = list[str]()

        def make(work: Work) -> None:
            _create_namespaces(work, self.parts[:-1])
            check_table_properties(self.properties, columns)
            name, properties = shown_name(self.parts), dict(self.properties)
            made.append(tables.create_table(work, name, columns, properties, None, layout, keeps_ids=keeps_ids))
            if last_id:
                reserve_fields(work, made[-1], last_id)

        scope.change(make, Request("create_table"))
        return made[-1]

    def check_same(self, work: Work, table: str) -> None:
        """Refuse another layout than that of the table, which is there already; the same is fine, call after call."""
        state, properties = table_state(work, table), properties_of(work, table)
        order = make_sort_order(state.schema, self.sort_by, order_id=1) if self.sort_by else state.sort_order
        same = (
            self.primary_key in ((), state.schema.key)
            and order.fields == state.sort_order.fields
            and self.properties.items() <= properties.items()
        )
        if not same:
            raise Invalid(
                "the table is there already, with another layout",
                subject=spelled(self.parts),
                advice="Leave primary_key, sort_by and properties out; table.evolve() changes its layout.",
            )


def in_one_commit(scope: Scope, request: Request, dry_run: bool, make: Callable[[Open], Import]) -> Import:
    """What `make` imports in a transaction, committed unless it is a dry run; begun again if others were faster.

    An import that finds nothing new makes no commit. One with misfits is refused.
    """

    def attempt() -> Import:
        own = Open(scope.context, scope.ref, request)
        own.begin()
        try:
            found = make(own)
            if dry_run:
                return replace(found, dry_run=True)
            check_fits(found)
            if not found.is_new:
                return found
            return replace(found, commit=own.commit())
        finally:
            own.close()

    return retried(ATTEMPTS, attempt)


def added_columns(scope: Open, table: str, given: Fields, evolve: bool) -> list[Misfit]:
    """Give the table the columns that it does not have, or say which these are."""
    state = table_state(scope.read(), table)
    new = new_columns(state.schema, Schema(given))
    if not evolve:
        advice = 'the table has no such column: pass evolve="add", or leave it out with leave_out=[…]'
        return [Misfit(".".join(path), advice) for path, _ in new]
    if new:
        with Evolve(table, scope, None, None, None) as change:
            for path, type in new:
                change.add_column(path, type)
    return []


def imported_columns(source: Mapping[str, str], state: TableState) -> tuple[ImportedColumn, ...]:
    """The columns of a source, by name and type there, and what they are in the table."""
    by_name = {field.name.casefold(): field for field in state.schema.fields}
    found = []
    for name, type in source.items():
        own = by_name.get(name.casefold())
        kept = (None, None) if own is None else (own.name, str(own.type))
        found.append(ImportedColumn(name, type, *kept))
    return tuple(found)


def _create_namespaces(work: Work, parts: tuple[str, ...]) -> None:
    for depth in range(1, len(parts) + 1):
        if not objects.exists(work, parts[:depth], NAMESPACE):
            namespaces.create_namespace(work, shown_name(parts[:depth]), {}, None, None, None)
