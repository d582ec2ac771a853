"""Keys of stored JSON that this version of Lakebed does not know: kept, and written again.

Some have to be understood, and whoever does not know one refuses the whole object: those that begin with `lakebed.`,
and Iceberg's `source-ids`, without which rows would be written to the wrong partitions.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from lakebed.errors import Invalid

_MUST_BE_KNOWN = ("lakebed.", "source-ids")


def unknown_keys(body: Mapping[str, Any], known: Collection[str], what: str) -> str:
    """The other keys of an object as the text of an object, empty if there are none."""
    unknown = sorted(body.keys() - known)
    for key in unknown:
        if key.startswith(_MUST_BE_KNOWN):
            raise Invalid(f"{what} has an unknown key", found=key, advice="Upgrade Lakebed.")
    kept = {key: body[key] for key in unknown}
    return json.dumps(kept, ensure_ascii=False, sort_keys=True, separators=(",", ":")) if kept else ""


def with_unknown_keys(body: dict[str, Any], text: str) -> dict[str, Any]:
    """The object with the keys that `unknown_keys` found when it was read."""
    return {**json.loads(text), **body} if text else body
