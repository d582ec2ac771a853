"""Views that the lake keeps: the text of a query, in which the names of tables are whole."""

from collections.abc import Mapping

from lakebed.errors import Invalid
from lakebed.pipelines.declarative.analysis import Analysed
from lakebed.pipelines.declarative.definitions import Kind
from lakebed.pipelines.declarative.queries import RenamedQuery, SqlQuery
from lakebed.pipelines.declarative.wanted import Parts, Wanted


def kept_text(found: Analysed, known: Mapping[str, Analysed]) -> str:
    """The query of a view as the lake has it; `Invalid` if a reader without the project could not evaluate it."""
    dataset, [bound] = found.dataset, found.flows
    subject = f"view {dataset.name}, {dataset.place}"
    for name in (source.name for source in found.inputs.values()):
        if name in known and known[name].dataset.kind is Kind.TEMPORARY_VIEW:
            raise Invalid(
                "a view that is kept can't read a temporary one",
                subject=subject,
                found=name,
                advice="CREATE TEMPORARY VIEW, or make the other one a view, too.",
            )
    left = {wanted.parts: parameter for wanted, parameter in bound.asked.items() if parameter is not None}

    def whole(wanted: Wanted) -> Parts | None:
        parameter = bound.asked.get(wanted)
        left.pop(wanted.parts, None)
        return None if parameter is None else tuple(found.inputs[parameter].name.split("."))

    query = bound.flow.query
    assert isinstance(query, SqlQuery | RenamedQuery), "views are defined in SQL"
    text = query.kept(whole, bound.flow.scope.database)
    unseen = [parts for parts, parameter in left.items() if ".".join(parts) != found.inputs[parameter].name]
    if unseen:
        raise Invalid(
            "a view that is kept has whole names, and this one could not be completed",
            subject=subject,
            found=".".join(unseen[0]),
            advice=f"Write {found.inputs[left[unseen[0]]].name}.",
        )
    return text
