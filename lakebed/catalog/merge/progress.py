"""A merge whose conflicts are kept: it is finished later, perhaps by somebody else.

    (line, catalog's properties) "lakebed.merge" -> JSON: the source line and its version, and the decisions so far
    (catalog, "merge_decisions", id)             -> JSON: decisions that have no room there; the property has the ids

It is a property of the line, so that it commits, and is gone with the commit that finishes the merge. Conflicts are not
stored: they are found again from the two states. A branch that forks meanwhile sees the property of another line, which
means nothing to it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from lakebed.catalog.merge.rows import Choice
from lakebed.catalog.merge.settling import IN_PROGRESS, AnyConflict
from lakebed.catalog.objects.properties import is_text, properties_of, put_properties
from lakebed.catalog.transaction.conflicts import RowConflict
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt, Invalid, TooLarge

LARGEST: Final = 60_000
"""The most bytes of decisions in one value; a value of the store has at most 100,000."""

LARGEST_CALL: Final = 8_000_000
"""The most bytes of decisions in one commit, which has at most 10 million."""

BODY_KIND: Final = "merge_decisions"
"""The kind of the catalog's bodies that have decisions. They stay when the merge is finished, and nobody reads them."""

_UNREADABLE: Final = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What a text that is not JSON raises, one whose values are none of their types, and one that is nested too deeply."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A merge in progress into a line: its source, and the decisions by the conflict's id.

    `stored` are those of them that the bodies with these ids have.
    """

    line: str
    source: str
    source_name: str
    version: int
    decisions: Mapping[str, Choice] = field(default_factory=dict)
    stored: Mapping[str, Choice] = field(default_factory=dict)
    stored_ids: tuple[int, ...] = ()


def conflict_id(conflict: AnyConflict) -> str:
    """What names a conflict in the decisions about it, however often it is found."""
    if not isinstance(conflict, RowConflict):
        return f"{conflict.object_id} {conflict.what}"
    key = conflict.key or conflict.row_id
    return f"{conflict.object_id} {conflict.what} {to_json(dict(key) if isinstance(key, Mapping) else key)}"


def kept_merge(work: Work) -> Kept | None:
    """The merge in progress into the line of a work, if there is one; counts as read."""
    text = properties_of(work, work.top).get(IN_PROGRESS)
    if text is None:
        return None
    try:
        kept = _kept(work, json.loads(text))
    except _UNREADABLE as error:
        advice = f"catalog.unset_properties([{IN_PROGRESS!r}]) gives it up."
        raise Corrupt(
            "the merge in progress can't be read", subject=IN_PROGRESS, found=text[:80], advice=advice
        ) from error
    return kept if kept.line == work.ref.line.id else None


def _kept(work: Work, found: Any) -> Kept:
    ids = tuple(int(number) for number in found.get("stored", ()))
    stored = {name: choice for body in _bodies(work, ids) for name, choice in _choices(json.loads(body)).items()}
    line, source, name = (f"{found[part]}" for part in ("line", "source", "name"))
    decisions = {**stored, **_choices(found["decisions"])}
    return Kept(line, source, name, int(found["version"]), decisions, stored, ids)


def _choices(found: Mapping[str, Any]) -> dict[str, Choice]:
    return {f"{name}": _decoded(choice) for name, choice in found.items()}


def _bodies(work: Work, ids: Sequence[int]) -> list[bytes]:
    new = work.bodies(work.top, BODY_KIND)
    known = work.context.metastore.bodies([(work.top, BODY_KIND, number) for number in ids]) if ids else []
    return [new.get(number) or body or b"" for number, body in zip(ids, known, strict=True)]


def keep_merge(work: Work, kept: Kept | None) -> None:
    """Store the merge in progress, or that there is none."""
    others = {name: text for name, text in properties_of(work, work.top).items() if name != IN_PROGRESS}
    if kept is None:
        put_properties(work, work.top, others)
        return
    new = {name: choice for name, choice in kept.decisions.items() if kept.stored.get(name) != choice}
    text = _document(kept, new, kept.stored_ids)
    if len(text.encode()) > LARGEST:
        text = _document(kept, {}, (*kept.stored_ids, *_put_bodies(work, new)))
    put_properties(work, work.top, {**others, IN_PROGRESS: text})


def _document(kept: Kept, decisions: Mapping[str, Choice], stored: Sequence[int]) -> str:
    document = {
        "line": kept.line,
        "source": kept.source,
        "name": kept.source_name,
        "version": kept.version,
        "decisions": {name: _encoded(choice) for name, choice in decisions.items()},
        **({"stored": list(stored)} if stored else {}),
    }
    return _checked(json.dumps(document, ensure_ascii=False, sort_keys=True))


def _checked(text: str) -> str:
    if not is_text(text):
        raise Invalid("a decision has text that can't be stored", expected="UTF-8", found=f"{text!r:.80}")
    return text


def _put_bodies(work: Work, decisions: Mapping[str, Choice]) -> range:
    """Store decisions in bodies of the catalog, each as large as one may be."""
    bodies = list(_chunks(decisions))
    size = sum(map(len, bodies))
    if size > LARGEST_CALL:
        raise TooLarge(
            "one call stores only so many decisions",
            expected=f"at most {LARGEST_CALL:,} bytes",
            found=f"{size:,}",
            advice="Decide in several calls, or settle the rest with merge(…, resolve=) or a strategy.",
        )
    first = work.context.metastore.allocate(work.top, BODY_KIND, len(bodies))
    ids = range(first, first + len(bodies))
    for number, body in zip(ids, bodies, strict=True):
        work.put_body(work.top, BODY_KIND, number, body)
    return ids


def _chunks(decisions: Mapping[str, Choice]) -> Iterator[bytes]:
    """Decisions as JSON objects of at most `LARGEST` bytes."""
    parts: list[str] = []
    size = 0
    for name, choice in decisions.items():
        part = _checked(f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(_encoded(choice), ensure_ascii=False)}")
        length = len(part.encode()) + 2
        if length > LARGEST:
            raise TooLarge(
                "a row that was decided for is too large",
                subject=name,
                expected=f"at most {LARGEST:,} bytes",
                found=f"{length:,}",
                advice='Decide "ours" or "theirs", and change the row after the merge.',
            )
        if size + length > LARGEST:
            yield f"{{{', '.join(parts)}}}".encode()
            parts, size = [], 0
        parts.append(part)
        size += length
    yield f"{{{', '.join(parts)}}}".encode()


def to_json(value: object) -> str:
    """A value of a row as JSON; what JSON has no type for is an object with the type as its key."""
    return json.dumps(_encoded(value), ensure_ascii=False, sort_keys=True)


def from_json(text: str) -> Any:
    try:
        return _decoded(json.loads(text))
    except _UNREADABLE as error:
        raise Invalid(
            "this is not a decision", expected='"ours", "theirs", or a row as JSON', found=text[:80]
        ) from error


_TEXTS: Final[dict[type, str]] = {datetime: "datetime", date: "date", time: "time", Decimal: "decimal", UUID: "uuid"}
_PARSED: Final[dict[str, Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "decimal": Decimal,
    "uuid": UUID,
    "bytes": bytes.fromhex,
}


def _encoded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {"row": {str(name): _encoded(inner) for name, inner in value.items()}}
    if isinstance(value, list | tuple):
        return [_encoded(inner) for inner in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    kind = _TEXTS.get(type(value))
    if kind is not None:
        return {kind: value.isoformat() if hasattr(value, "isoformat") else str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise Invalid("a value of this type can't be kept", subject=repr(value), found=type(value).__name__)


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        [(kind, inner)] = value.items()
        if kind == "row" and isinstance(inner, dict):
            return {name: _decoded(one) for name, one in inner.items()}
        if kind in _PARSED and isinstance(inner, str):
            return _PARSED[kind](inner)
    return {name: _decoded(inner) for name, inner in value.items()}
