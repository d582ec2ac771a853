"""What a caller says of a snapshot: free texts by key, in field 10 of its manifest beside the figures of Lakebed."""

from collections.abc import Iterable, Mapping
from typing import Final

from lakebed.errors import Invalid, TooLarge

KEY_BYTES: Final = 255
SUMMARY_BYTES: Final = 8_192
"""Of all keys and values together: a manifest in the store has 64,000 bytes, an operation of the log 50,000."""

_PREFIXES: Final = ("added-", "deleted-", "removed-", "total-", "manifests-", "partitions.", "lakebed.")
_WORDS: Final = frozenset(
    {
        "operation",
        "changed-partition-count",
        "partition-summaries-included",
        "entries-processed",
        "replace-partitions",
        "source-snapshot-id",
        "published-wap-id",
        "wap.id",
    }
)
"""Keys that Iceberg's writers give a snapshot, with meanings for its readers."""


def given_summary(summary: object) -> dict[str, str]:
    """A summary as the caller gave it, none for None; `Invalid` if it is not texts by keys that are free."""
    if summary is None:
        return {}
    if not isinstance(summary, Mapping):
        raise Invalid("a summary is texts by key", expected='such as {"batch": "17"}', found=f"{summary!r:.80}")
    return checked({_text("key", key): _text(f"value of {key}", value) for key, value in summary.items()})


def joined(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Both as one snapshot has them: of a key in both, the second's value."""
    return _fitting({**first, **second}) if first and second else {**first, **second}


def newest(summaries: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Summaries, oldest first, as one: of a key the last value. If they are too large, the oldest are left out."""
    kept: dict[str, str] = {}
    for summary in reversed([*summaries]):
        more = {**summary, **kept}
        if _size(more) > SUMMARY_BYTES:
            break
        kept = more
    return kept


def free_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Of a manifest's properties, those that a caller gave."""
    return {key: value for key, value in sorted(properties.items()) if not _is_reserved(key)}


def checked(summary: dict[str, str]) -> dict[str, str]:
    """The summary; `Invalid` for a key that is not free, `TooLarge` if it has too many bytes."""
    for key in summary:
        if not 0 < len(key.encode()) <= KEY_BYTES:
            raise Invalid("this can't be a key of a summary", expected=f"1 to {KEY_BYTES} bytes", found=f"{key!r:.80}")
        if _is_reserved(key):
            raise Invalid(
                "Iceberg or Lakebed write this key of a summary themselves",
                subject=key,
                advice="Choose another key, such as one that begins with the name of your team.",
            )
    return _fitting(summary)


def _fitting(summary: dict[str, str]) -> dict[str, str]:
    if _size(summary) > SUMMARY_BYTES:
        raise TooLarge(
            "the summary of a snapshot is too large",
            expected=f"at most {SUMMARY_BYTES} bytes of keys and values",
            found=_size(summary),
            advice="Keep the rest in a table of its own.",
        )
    return summary


def _size(summary: Mapping[str, str]) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in summary.items())


def _is_reserved(key: str) -> bool:
    return key.lower() in _WORDS or key.lower().startswith(_PREFIXES)


def _text(what: str, text: object) -> str:
    if not isinstance(text, str):
        advice = f"Write it as text: {str(text)!r:.80}." if isinstance(text, int | float) else ""
        raise Invalid("a summary has texts only", subject=what, found=f"{text!r:.80}", advice=advice)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Invalid("a summary's text is not Unicode", subject=f"{what!r:.80}", found=f"{text!r:.80}") from error
    return text
