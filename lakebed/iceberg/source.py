"""An Iceberg table as a source of imports: its snapshots, as its metadata document lists them."""

import gzip
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from lakebed.catalog.data.foreign import ForeignVersion
from lakebed.errors import Corrupt, Expired, Invalid, NotFound
from lakebed.iceberg.reading import Places, has_older_files, read_snapshot
from lakebed.iceberg.schemas import NAME_MAPPING
from lakebed.table.partition.json import spec_from_json
from lakebed.table.partition.spec import UNPARTITIONED, PartitionSpec, spec_texts
from lakebed.table.schema.evolution import widens
from lakebed.table.schema.json import schema_from_json
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Fields, Type, children_of, walk, with_children

EMPTY_TABLE: Final = 0
"""The number of the version of a table without a snapshot."""

_METADATA: Final = re.compile(r"(?:v([0-9]+)|([0-9]+)-.*)(?:\.gz)?\.metadata\.json(?:\.gz)?")


@dataclass(frozen=True, slots=True)
class _Form:
    """What columns and partitions a version has: ids of a schema and a spec. Without a spec its files say it."""

    schema: int
    spec: int | None

    def __str__(self) -> str:
        return f"{self.schema} {'' if self.spec is None else self.spec}".strip()


class IcebergSource:
    """An Iceberg table in a folder of this machine. Nothing is written there."""

    kind: Final = "iceberg"

    def __init__(self, place: str) -> None:
        """A folder, whose newest metadata document is read, or a document."""
        document = place if os.path.isfile(place) else _newest_document(place)
        self._body = _read_document(document)
        folder = os.path.dirname(os.path.dirname(document))
        self.place = folder if os.path.basename(os.path.dirname(document)) == "metadata" else document
        self._places = Places(str(self._body["location"]).rstrip("/"), folder)
        self._snapshots = {each["snapshot-id"]: each for each in self._body.get("snapshots") or ()}

    @property
    def id(self) -> str:
        return str(self._body.get("table-uuid") or self._body["location"])

    @property
    def newest(self) -> int:
        current = self._body.get("current-snapshot-id")
        return EMPTY_TABLE if current in (None, -1) else int(current)

    def numbers(self, after: int | None, since: int | None = None) -> Sequence[int]:
        if after == self.newest:
            return []
        self._check_there(after)
        end = None if after == EMPTY_TABLE else after
        chain = list[int]()
        for number in self._ancestors():
            if number == end:
                return chain[::-1]
            if number not in self._snapshots:
                if end is not None:
                    break
                raise self._expired(f"snapshot {number}", chain)
            chain.append(number)
            if number == since:
                return chain[::-1]
        if since is not None:
            problem, found = "the table was never at this snapshot, or went back behind it", f"{since}"
            raise Invalid(problem, subject=self.place, found=found, advice="Pass one of its history.")
        if end is not None:  # the table went back to a state before it, or to a branch beside
            return [self.newest]
        if chain and has_older_files(self._snapshots[chain[-1]], self._places):
            raise self._expired(f"the snapshots before {chain[-1]}", chain)
        return chain[::-1] or [EMPTY_TABLE]

    def _ancestors(self) -> Iterator[int]:
        """The snapshots from the newest to the first, as far as they are there, and the first that is not."""
        number: int | None = None if self.newest == EMPTY_TABLE else self.newest
        while number not in (None, -1):
            yield number
            number = self._snapshots.get(number, {}).get("parent-snapshot-id")

    def form(self, number: int) -> str:
        return str(self._form(number))

    def version(self, number: int, form: str | None = None) -> ForeignVersion:
        own = self._form(number) if form is None else _parsed_form(form)
        schema = self._schema(own.schema)
        if number == EMPTY_TABLE:
            return self._version(number, own, schema, "without a snapshot", "", {})
        self._check_there(number)
        snapshot = self._snapshots[number]
        read = read_snapshot(snapshot, self._places, self._specs, own.spec)
        spec = max(read.specs, default=0) if own.spec is None else own.spec
        version = self._version(
            number, replace(own, spec=spec), schema, f"snapshot {number}", _message(snapshot), read.files
        )
        return replace(version, form=str(own))

    def _version(
        self, number: int, form: _Form, schema: Schema, called: str, message: str, files: Mapping[str, Any]
    ) -> ForeignVersion:
        own = self._specs.get(form.spec or 0, UNPARTITIONED)
        spec = replace(own, fields=tuple(field for field in own.fields if field.transform.name != "void"))
        by_id = {str(way[-1].id): way[-1].name for way in walk(schema.fields) if len(way) == 1}
        named = {
            place: replace(file, values={by_id[id]: value for id, value in file.values.items() if id in by_id})
            for place, file in files.items()
        }
        return ForeignVersion(
            number,
            called,
            message,
            None,
            schema.fields,
            int(self._body["last-column-id"]),
            tuple(spec_texts(spec, schema)) if spec.source_ids <= schema.ways.keys() else (),
            named,
            tuple(self._notes()),
            self._names,
            str(form),
        )

    def _form(self, number: int) -> _Form:
        """The newest version has the table's columns and spec as they are, an older one those of its snapshot."""
        newest = int(self._body.get("current-schema-id") or 0)
        if number == self.newest:
            return _Form(newest, int(self._body.get("default-spec-id") or 0))
        return _Form(int(self._snapshots.get(number, {}).get("schema-id", newest)), None)

    def _schema(self, id: int) -> Schema:
        found = self._schemas.get(id)
        if found is None:
            raise Expired("the source no longer has these columns", subject=self.place, expected=f"schema {id}")
        if isinstance(found, Invalid):
            raise found
        return found

    @cached_property
    def _schemas(self) -> Mapping[int, Schema | Invalid]:
        """The schemas by their ids, or why one can't be a table's; an old one need not matter.

        What is in the oldest files is known of columns that were widened.
        """
        bodies = self._body.get("schemas") or [{**self._body["schema"], "schema-id": 0}]
        found, first = dict[int, Schema | Invalid](), dict[int, Type]()
        for body in sorted(bodies, key=lambda body: int(body["schema-id"])):
            try:
                schema = _schema_of(self.place, body)
            except Invalid as error:
                found[int(body["schema-id"])] = error
                continue
            for way in walk(schema.fields):
                first.setdefault(way[-1].id, way[-1].type)
            found[schema.id] = Schema(_widened(schema.fields, first), schema.id)
        return found

    @cached_property
    def _specs(self) -> Mapping[int, PartitionSpec]:
        bodies = self._body.get("partition-specs") or [{"spec-id": 0, "fields": self._body.get("partition-spec", [])}]
        found = [spec_from_json(json.dumps(_numbered_spec(body)).encode()) for body in bodies]
        return {spec.id: spec for spec in found}

    @cached_property
    def _names(self) -> Mapping[int, Sequence[str]]:
        """(field id) -> the names that the table's mapping gives it, for files without ids."""
        text = (self._body.get("properties") or {}).get(NAME_MAPPING)
        return dict(_mapped_names(json.loads(text))) if text else {}

    def _notes(self) -> Iterator[str]:
        for name, ref in sorted((self._body.get("refs") or {}).items()):
            if name != "main":
                yield f"not imported: the {ref['type']} {name} of the source, at snapshot {ref['snapshot-id']}"

    def _check_there(self, number: int | None) -> None:
        if number is None or number == EMPTY_TABLE or number in self._snapshots:
            return
        raise self._expired(f"snapshot {number}", ())

    def _expired(self, expected: str, chain: Sequence[int]) -> Expired:
        begin = f" Or begin a new table with the oldest that is there: since={chain[-1]}." if chain else ""
        return Expired(
            "snapshots of the Iceberg table have expired",
            subject=self.place,
            expected=expected,
            found=f"{len(self._snapshots):,} others",
            advice=f"Import the newest one alone, into a new table (history=False).{begin}",
        )


def _parsed_form(text: str) -> _Form:
    schema, *spec = map(int, text.split())
    return _Form(schema, spec[0] if spec else None)


def _newest_document(folder: str) -> str:
    """The newest metadata document of a table's folder: by its hint, else by the number of its name."""
    metadata = os.path.join(folder, "metadata")
    if not os.path.isdir(metadata):
        expected = "a folder with metadata/, or a metadata document"
        raise NotFound("there is no Iceberg table", subject=folder, expected=expected)
    found = {name: _METADATA.fullmatch(name) for name in os.listdir(metadata)}
    numbered = [(int(match[1] or match[2]), name) for name, match in found.items() if match is not None]
    if not numbered:
        raise NotFound("there is no Iceberg table", subject=folder, expected="a file metadata/….metadata.json")
    newest = max(number for number, _ in numbered)
    names = [name for number, name in numbered if number == newest]
    if len(names) > 1:
        raise Invalid(
            "two metadata documents have the highest number: only the table's catalog knows which is the newest",
            subject=folder,
            found=" and ".join(sorted(names)[:2]),
            advice="Pass the path of the document.",
        )
    return os.path.join(metadata, names[0])


def _read_document(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            data = file.read()
        body = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        int(body["format-version"]), str(body["location"]), int(body["last-column-id"])
    except FileNotFoundError:
        raise NotFound("there is no such metadata document", subject=path) from None
    except (ValueError, KeyError, TypeError, EOFError, OSError) as error:
        raise Invalid(
            "this is not the metadata document of an Iceberg table", subject=path, found=str(error)
        ) from error
    if body["format-version"] > 3:
        raise Invalid("a newer format of Iceberg", subject=path, expected="1, 2 or 3", found=body["format-version"])
    return dict(body)


def _schema_of(place: str, body: Mapping[str, Any]) -> Schema:
    try:
        return schema_from_json(json.dumps(_with_physical({**body, "type": "struct"})).encode())
    except (Corrupt, KeyError) as error:
        found = error.found if isinstance(error, Corrupt) else str(error)
        problem = "the Iceberg table has columns that no table here can have"
        raise Invalid(problem, subject=place, found=found) from error


def _with_physical(body: Any) -> Any:
    """A schema's JSON with names in files, which are those of the fields; files are read by ids."""
    if isinstance(body, list):
        return [_with_physical(each) for each in body]
    if not isinstance(body, dict):
        return body
    inner = {key: _with_physical(value) for key, value in body.items()}
    return {**inner, "physical-name": body["name"]} if "name" in body and "required" in body else inner


def _widened(fields: Fields, first: Mapping[int, Type]) -> Fields:
    return tuple(
        replace(
            field,
            widened_from=oldest if oldest != field.type and widens(oldest, field.type) else None,
            type=with_children(field.type, _widened(children_of(field.type), first)),
        )
        for field in fields
        for oldest in (first[field.id],)
    )


def _numbered_spec(body: Mapping[str, Any]) -> dict[str, Any]:
    """A spec with ids of its fields, which the first version of the format may leave out."""
    fields = [{"field-id": 1000 + place, **field} for place, field in enumerate(body["fields"])]
    return {"spec-id": body["spec-id"], "fields": fields}


def _mapped_names(body: Any) -> Iterator[tuple[int, Sequence[str]]]:
    for each in body:
        if "field-id" in each:
            yield each["field-id"], tuple(each["names"])
        yield from _mapped_names(each.get("fields") or ())


def _message(snapshot: Mapping[str, Any]) -> str:
    summary = snapshot.get("summary") or {}
    at = datetime.fromtimestamp(snapshot["timestamp-ms"] / 1000, UTC)
    counts = ", ".join(f"{key} {summary[key]}" for key in sorted(summary) if key.startswith(("added-", "deleted-")))
    what = f"{summary.get('operation', 'not described')}, {at:%Y-%m-%d %H:%M:%S} UTC"
    return f"Iceberg snapshot {snapshot['snapshot-id']}: {what}{f' ({counts})' if counts else ''}"
