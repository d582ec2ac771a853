"""What of a change is too large for the store, in the words of whoever made it: the store knows only keys."""

from lakebed.errors import TooLarge
from lakebed.metastore.change import Change
from lakebed.records.layout import Attribute
from lakebed.store.limits import VALUE_BYTES

ADVICE = "A commit holds about 10 MB, or 2,000 new tables, and no value above 100 kB. Split it."
SLACK_BYTES = 2_000
"""What a record may have besides the text that makes it large."""

_WORDS = {
    Attribute.PROPERTIES: "the properties and the comment",
    Attribute.VIEW: "the texts of the view",
    Attribute.SCHEMA: "the schema",
    Attribute.STORAGE: "the properties of the storage",
    Attribute.REF: "the grants of the share",
    Attribute.PARTITION: "the properties of the partition",
}


def explained(error: TooLarge, change: Change) -> TooLarge:
    """The error, naming the object and its part, or the commit's message or author, if one of these is too large."""
    error.advice = ADVICE
    most = VALUE_BYTES - SLACK_BYTES
    for what, text in (("message", change.message), ("author", change.author)):
        if len(text.encode()) > most:
            return _too_large(f"the {what} of the commit is too long", "", len(text.encode()), f"Shorten the {what}.")
    names = {operation.object_id: operation.name for operation in change.operations}
    for (object_id, attribute), record in change.attributes.items():
        if record.ByteSize() > most:
            words = _WORDS.get(attribute, f"the {attribute.name.lower()}")
            advice = "Keep long texts in a table or a file, and refer to them."
            return _too_large(
                f"{words} take too many bytes", names.get(object_id) or object_id, record.ByteSize(), advice
            )
    return error


def _too_large(problem: str, subject: str, found: int, advice: str) -> TooLarge:
    expected = f"at most {VALUE_BYTES:,} bytes"
    return TooLarge(problem, subject=subject, expected=expected, found=f"{found:,}", advice=advice)
