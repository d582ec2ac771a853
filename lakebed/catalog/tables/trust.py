"""Whether a catalog's views may do all that their reader may: read files and the session's tables, call any function.

By default they read the lake's tables and views and compute, and nothing else. The catalog's property `views.trusted`
allows more; whoever opened the lake decides first (`connect(trust_views=…)`), since a writer can set the property.
"""

from lakebed.catalog.objects.properties import TRUSTED_VIEWS, properties_of
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Forbidden
from lakebed.table.sql.kept import check_is_query, check_kept_query

A_VIEW = "a view"
ADVICE = (
    "Leave it out of the view. If you trust all who can write to this catalog: "
    f"catalog.set_properties({{'{TRUSTED_VIEWS}': 'true'}})."
)


def trusts_views(context: Context, ref: Ref) -> bool:
    """Whether the views of a line are trusted now, those of its past too."""
    return _trusts(Work(context, ref))


def check_view_text(work: Work, text: str) -> None:
    """`Forbidden` if a view's text in Spark's dialect reaches out of the lake, and its catalog does not allow it.

    `Invalid` if it can't be a query.
    """
    check_is_query(text, A_VIEW)
    try:
        check_kept_query(text, A_VIEW)
    except Forbidden as error:
        if not _trusts(work):
            error.advice = ADVICE
            raise


def _trusts(work: Work) -> bool:
    chosen = work.context.trust_views
    return properties_of(work, work.top).get(TRUSTED_VIEWS) == "true" if chosen is None else chosen
