"""The file that names a project's sources and settings: `spark-pipeline.yml`, by the rules of Spark's own runner."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from glob import has_magic
from pathlib import Path
from typing import Any

from lakebed.errors import Invalid, NotFound

NAMES = ("spark-pipeline.yml", "spark-pipeline.yaml")
_FIELDS = ("name", "storage", "catalog", "database", "schema", "configuration", "libraries")
_SOURCES = (".py", ".sql")


@dataclass(frozen=True, slots=True)
class Spec:
    """What a spec says. `libraries` are paths of files, or of folders with `/**` behind them."""

    path: Path
    name: str
    catalog: str | None = None
    database: str | None = None
    storage: str | None = None
    configuration: Mapping[str, str] | None = None
    libraries: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The project's folder, which relative paths begin at."""
        return self.path.parent

    def files(self) -> Iterator[Path]:
        """The project's sources, sorted in each library, each once."""
        seen: set[Path] = set()
        for pattern in self.libraries:
            found = sorted(self.folder.glob(f"{pattern}/*" if pattern.endswith("/**") else pattern))
            files = [file for file in found if file.is_file() and "__pycache__" not in file.parts]
            if not files:
                raise NotFound("no file matches a library of the project", subject=str(self.path), found=pattern)
            for file in files:
                if file.suffix not in _SOURCES:
                    raise Invalid(
                        "a source is Python or SQL",
                        subject=str(file),
                        expected=" or ".join(_SOURCES),
                        advice="Move it out of the libraries' folders.",
                    )
                if file not in seen:
                    seen.add(file)
                    yield file


def spec_path(address: Path) -> Path:
    """The spec of a project: a file, or the one in a folder."""
    if address.is_dir():
        found = [address / name for name in NAMES if (address / name).is_file()]
        if len(found) == 1:
            return found[0].resolve()
        if found:
            raise Invalid("the folder has two specs", subject=str(address), found=" and ".join(NAMES))
        raise NotFound("the folder has no spec of a pipeline", subject=str(address), expected=" or ".join(NAMES))
    if not address.is_file():
        raise NotFound("there is no such file", subject=str(address), expected="such as spark-pipeline.yml")
    return address.resolve()


def read_spec(path: Path) -> Spec:
    """The spec in a file; `Invalid` names the field that Spark's runner would not take either."""
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise Invalid(
            "PyYAML is not installed", subject=str(path), advice="Run `pip install 'lakebed[spark]'`."
        ) from error
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise Invalid("this is not YAML", subject=str(path), found=str(error)) from error
    if not isinstance(document, dict):
        raise Invalid("a spec has fields", subject=str(path), expected=", ".join(_FIELDS), found=repr(document)[:80])
    _check_fields(path, document)
    name = document.get("name")
    if not isinstance(name, str) or not name.strip():
        raise Invalid("a pipeline has a name", subject=f"{path}, name", expected="text", found=repr(name))
    return Spec(
        path,
        name,
        _text(path, document, "catalog"),
        _text(path, document, "database") or _text(path, document, "schema"),
        _text(path, document, "storage"),
        _configuration(path, document.get("configuration") or {}),
        tuple(_libraries(path, document.get("libraries") or [])),
    )


def _check_fields(path: Path, document: Mapping[Any, Any]) -> None:
    for field in document:
        if field not in _FIELDS:
            near = get_close_matches(str(field), _FIELDS, n=1)
            raise Invalid(
                "a spec has no such field",
                subject=f"{path}, {field}",
                expected=", ".join(_FIELDS),
                advice=f"Did you mean {near[0]}?" if near else "",
            )


def _text(path: Path, document: Mapping[str, Any], field: str) -> str | None:
    found = document.get(field)
    if found is not None and not isinstance(found, str):
        raise Invalid(f"{field} is text", subject=str(path), found=repr(found))
    return found


def _configuration(path: Path, given: Any) -> dict[str, str]:
    if not isinstance(given, dict):
        raise Invalid("configuration has names and values", subject=str(path), found=repr(given)[:80])
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise Invalid(
                "settings of Spark are texts",
                subject=f"{path}, configuration",
                found=f"{name}: {value!r}",
                advice=f'Write it in quotes: {name}: "{value}"',
            )
    return dict(given)


def _libraries(path: Path, given: Any) -> Iterator[str]:
    for entry in given if isinstance(given, list) else [given]:
        try:
            pattern = entry["glob"]["include"]
        except (TypeError, KeyError):
            pattern = None
        if not isinstance(pattern, str):
            raise Invalid(
                "a library is a glob",
                subject=f"{path}, libraries",
                expected="glob: {include: transformations/**}",
                found=repr(entry)[:80],
            )
        if has_magic(pattern.removesuffix("/**")):
            raise Invalid(
                "a library is a file, or a folder with /** behind it",
                subject=f"{path}, libraries",
                expected="such as transformations/**",
                found=pattern,
            )
        yield pattern
