"""What a release writes, and what it refuses; the conda recipe beside pyproject.toml."""

import re
import shutil
import tomllib
from importlib.util import module_from_spec, spec_from_file_location

import pytest
import yaml
from places import ROOT

CONDA = {
    "matplotlib": "matplotlib-base",
    "seaborn": "seaborn-base",
    "snakemake": "snakemake-minimal",
}
SPEC = spec_from_file_location("version", ROOT / "release" / "version.py")
version = module_from_spec(SPEC)
SPEC.loader.exec_module(version)
FILES = [*version.PLACES, "CHANGELOG.md", "pyproject.toml"]


@pytest.fixture
def tree(tmp_path):
    """A copy of the files that name a version."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changes = (tmp_path / "CHANGELOG.md").read_text()
    fresh = changes.replace("## [Unreleased]\n", "## [Unreleased]\n\n### Added\n\n- It.\n", 1)
    (tmp_path / "CHANGELOG.md").write_text(fresh)
    return tmp_path


def test_a_version_is_written_wherever_it_stands(tree):
    before = {name: (tree / name).read_text() for name in FILES}
    version.write(tree, "99.0.1", "2030-01-02")
    after = {name: (tree / name).read_text() for name in FILES}
    assert '__version__ = "99.0.1"' in after["src/odl/__init__.py"]
    citation = yaml.safe_load(after["CITATION.cff"])
    assert citation["version"] == "99.0.1" and str(citation["date-released"]) == "2030-01-02"
    assert yaml.safe_load(after["release/recipe.yaml"])["context"] == {"version": "99.0.1"}
    assert (
        "## [Unreleased]\n\n## [99.0.1] - 2030-01-02\n\n### Added\n\n- It.\n"
        in after["CHANGELOG.md"]
    )
    for name in version.PLACES:
        lines = zip(before[name].splitlines(), after[name].splitlines(), strict=True)
        assert sum(old != new for old, new in lines) == 1 + (name == "CITATION.cff")


@pytest.mark.parametrize(
    ("number", "said"),
    [("0.0.1", "expected a higher one"), ("next", "expected three numbers"), ("", "three numbers")],
)
def test_what_is_no_next_version_is_refused(tree, number, said):
    with pytest.raises(SystemExit, match=said):
        version.write(tree, number, "2030-01-02")


def test_a_changelog_without_news_is_refused(tree):
    version.write(tree, "99.0.1", "2030-01-02")
    with pytest.raises(SystemExit, match="nothing under Unreleased"):
        version.write(tree, "99.0.2", "2030-01-03")


def test_address_and_doi_are_filled_in_once(tree):
    for address in ("https://forge.example/old", "https://forge.example/odl"):
        version.locate(tree, address, "10.5281/zenodo.1")
    citation = yaml.safe_load((tree / "CITATION.cff").read_text())
    assert citation["repository-code"] == address and citation["doi"] == "10.5281/zenodo.1"
    project = tomllib.loads((tree / "pyproject.toml").read_text())["project"]
    assert project["urls"] == {"Repository": address} and project["scripts"] == {
        "odl": "odl.__main__:main"
    }
    assert (
        yaml.safe_load((tree / "release/recipe.yaml").read_text())["about"]["repository"] == address
    )
    assert "old" not in "".join(
        (tree / name).read_text() for name in ("CITATION.cff", "release/recipe.yaml")
    )


def test_authors_are_those_of_the_citation():
    (author,) = yaml.safe_load((ROOT / "CITATION.cff").read_text())["authors"]
    assert f"- name: {author['name']}\n" in (ROOT / "paper" / "paper.md").read_text()
    assert author["name"].lower() in (ROOT / "LICENSE").read_text().lower()


def test_the_recipe_asks_for_what_the_package_does():
    recipe = yaml.safe_load((ROOT / "release" / "recipe.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [f"python{project['requires-python']}", *project["dependencies"]]
    names = [re.fullmatch(r"([\w-]+)(.*)", one).groups() for one in wanted]
    expected = {f"{CONDA.get(name, name)} {bounds}" for name, bounds in names}
    assert {*recipe["requirements"]["run"]} == expected
    assert (
        recipe["package"]["name"] == project["name"]
        and recipe["about"]["license"] == project["license"]
    )
