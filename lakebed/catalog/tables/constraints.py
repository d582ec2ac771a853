"""What a table's properties say of its rows: conditions that none may break, and whether appends look at keys."""

from dataclasses import dataclass
from typing import Final

from lakebed.catalog.tables.settings import text, texts
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid

PREFIX: Final = "check."
CHECK_KEYS: Final = "write.check-keys"
_FLAGS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Check:
    """A condition by its name. A row for which it is false breaks it; one for which it is null does not."""

    name: str
    condition: str

    @property
    def key(self) -> str:
        """The property that it is."""
        return f"{PREFIX}{self.name}"

    def broken(self, rows: str, example: str) -> Invalid:
        """The error for rows that break it; `rows` says how many, `example` is one of them."""
        return Invalid(
            "rows break a check of the table",
            subject=self.key,
            expected=self.condition,
            found=f"{rows}, such as {example}",
            advice="Mend or leave out these rows, or unset the property. Nothing was written.",
        )

    def unreadable(self, reason: object) -> Invalid:
        """The error for a condition that no row could be looked at by."""
        return Invalid(
            "a check of the table can't be looked at",
            subject=self.key,
            expected="a condition over the table's columns",
            found=f"{self.condition}: {reason}",
            advice="Mend the property, or unset it.",
        )


def checks_of(work: Work, table: str) -> tuple[Check, ...]:
    """A table's checks, by name."""
    found = texts(work, table)
    return tuple(Check(key.removeprefix(PREFIX), found[key]) for key in sorted(found) if key.startswith(PREFIX))


def looks_at_keys(work: Work, table: str) -> bool:
    """Whether an append has to see that its keys are new; `Invalid` if the property says neither."""
    found = text(work, table, CHECK_KEYS)
    if found is None:
        return False
    if found.lower() not in _FLAGS:
        raise Invalid(
            "a property of the table is neither true nor false",
            subject=CHECK_KEYS,
            expected="true or false",
            found=repr(found),
        )
    return _FLAGS[found.lower()]
