"""The spec of a project is read by the rules of Spark's own runner, and says which field is wrong."""

from pathlib import Path

import pytest

from lakebed.errors import Invalid, NotFound
from lakebed.pipelines.declarative.spec import read_spec, spec_path
from tests.pipelines.declarative.conftest import SPEC


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "transformations" / "deep" / "__pycache__").mkdir(parents=True)
    for name in ("b.py", "a.sql", "deep/c.py", "deep/__pycache__/c.pyc"):
        (tmp_path / "transformations" / name).write_text("")
    return tmp_path


def write(folder: Path, text: str, name: str = "spark-pipeline.yml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_spec_is_found_in_its_folder_and_names_its_sources(folder: Path) -> None:
    write(folder, SPEC + "configuration:\n  spark.sql.shuffle.partitions: '3'\n")
    spec = read_spec(spec_path(folder))
    assert (spec.name, spec.database, spec.catalog) == ("shop", "sales", None)
    assert spec.configuration == {"spark.sql.shuffle.partitions": "3"}
    assert [str(file.relative_to(folder / "transformations")) for file in spec.files()] == [
        "a.sql",
        "b.py",
        "deep/c.py",
    ]


def test_schema_is_another_word_for_database(folder: Path) -> None:
    path = write(folder, "name: shop\nschema: marts\nlibraries: []\n", "other.yaml")
    assert read_spec(spec_path(path)).database == "marts"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: [", "not YAML"),
        ("- name", "has fields"),
        ("storage: file:///x", "has a name"),
        ("name: shop\nlibrary: []", "no such field"),
        ("name: shop\ncatalog: 3", "catalog is text"),
        ("name: shop\nconfiguration: [a]", "names and values"),
        ("name: shop\nconfiguration: {a: 3}", "texts"),
        ("name: shop\nlibraries: [x]", "is a glob"),
        ("name: shop\nlibraries: [{glob: {include: 'a/**/*.py'}}]", "/\\*\\* behind it"),
    ],
)
def test_a_field_that_is_wrong_is_named(folder: Path, text: str, problem: str) -> None:
    with pytest.raises(Invalid, match=problem) as caught:
        read_spec(write(folder, text))
    assert "spark-pipeline.yml" in caught.value.subject


def test_a_library_that_matches_nothing_and_a_file_that_is_no_source_are_refused(folder: Path) -> None:
    with pytest.raises(NotFound, match="no file matches"):
        list(read_spec(write(folder, "name: a\nlibraries: [{glob: {include: nothing/**}}]")).files())
    (folder / "transformations" / "notes.md").write_text("")
    with pytest.raises(Invalid, match="Python or SQL"):
        list(read_spec(write(folder, SPEC)).files())


def test_a_folder_has_one_spec(folder: Path) -> None:
    with pytest.raises(NotFound, match="no spec"):
        spec_path(folder)
    with pytest.raises(NotFound, match="no such file"):
        spec_path(folder / "missing.yml")
    write(folder, SPEC)
    write(folder, SPEC, "spark-pipeline.yaml")
    with pytest.raises(Invalid, match="two specs"):
        spec_path(folder)
