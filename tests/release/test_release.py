"""What a release says about itself agrees, wherever it says it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import hush
from tests.release import check, lowest, versions

ROOT = Path(__file__).parent.parent.parent
RELEASE = re.compile(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)$", re.M)
NOTICES = ROOT / "src" / "hush" / "collector" / "static" / "notices.txt"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def released() -> tuple[str, str]:
    """Return the newest version of the changelog, and its date."""
    found = RELEASE.search(read("CHANGELOG.md"))
    assert found is not None
    return found[1], found[2]


def test_the_version_is_said_once_to_packagers() -> None:
    settings = tomllib.loads(read("pyproject.toml"))
    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["hatch"]["version"] == {"path": "src/hush/__init__.py"}


def test_the_version_is_the_same_everywhere() -> None:
    version, _ = released()
    assert version == hush.__version__
    assert json.loads(read("web/package.json"))["version"] == version
    lock = json.loads(read("web/package-lock.json"))
    assert lock["version"] == lock["packages"][""]["version"] == version


def test_versions_of_the_changelog_descend() -> None:
    found = [(tuple(map(int, version.split("."))), date) for version, date in RELEASE.findall(read("CHANGELOG.md"))]
    assert found == sorted(found, reverse=True)
    assert len({version for version, _ in found}) == len(found)


def test_supported_pythons_are_those_that_are_tried() -> None:
    settings = tomllib.loads(read("pyproject.toml"))["project"]
    *supported, _ = versions.versions()
    assert settings["requires-python"] == f">={supported[0]}"
    assert supported == [f"3.{minor}" for minor in range(11, 11 + len(supported))]
    assert f"Python {supported[0]} to {supported[-1]}" in read("CHANGELOG.md")
    for name in (*versions.FAST, *versions.WHOLE, *check.TRIED):
        assert (ROOT / name.partition("::")[0]).exists(), name


def test_the_oldest_versions_are_those_of_the_bounds() -> None:
    extras = {"a": ["one>=1.2", "two[more]>=2,<3; os_name == 'posix'"], "b": ["hush-ldp[a]", "one>=1.10"]}
    assert lowest.constraints(extras, "hush-ldp") == ["one==1.10", "two==2"]
    for bad in ("three", "three==3", "three<3"):
        with pytest.raises(SystemExit, match="must have one lower bound"):
            lowest.constraints({"a": [bad]}, "hush-ldp")


def test_every_requirement_of_this_project_has_a_lower_bound() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert len(lowest.constraints(project["optional-dependencies"], project["name"])) > 30


def test_the_security_policy_supports_this_version() -> None:
    policy = read("SECURITY.md")
    assert f"| {hush.__version__.rpartition('.')[0]} | yes |" in policy
    for word in ("private vulnerability reporting", "e^epsilon", "randomness", "ledger"):
        assert word in policy


def test_the_citation_names_this_version_and_the_paper() -> None:
    yaml: Any = pytest.importorskip("yaml")
    cited = yaml.safe_load(read("CITATION.cff"))
    assert cited["cff-version"] == "1.2.0"
    assert (cited["version"], str(cited["date-released"])) == released()
    assert {"message", "title", "authors"} <= cited.keys()  # what the format demands
    assert cited["license"] == tomllib.loads(read("pyproject.toml"))["project"]["license"]
    (paper,) = cited["references"]
    assert {"type", "title", "authors"} <= paper.keys()
    assert [author["family-names"] for author in paper["authors"]][:2] == ["Wang", "Xiao"]
    assert paper["year"] == 2019
    assert paper["title"] in " ".join(read("README.md").split())


def test_the_charts_have_their_licences() -> None:
    """The notices name every package that vl-convert carries; `make notices` writes them anew for another one."""
    vl_convert = pytest.importorskip("vl_convert")
    notices = NOTICES.read_text(encoding="utf-8")
    listed = re.search(r"^vl-convert ([\d.]+)\.$", notices, re.M)
    assert listed is not None
    if vl_convert.__version__ != listed[1]:
        pytest.skip(f"the notices are of vl-convert {listed[1]}, here is {vl_convert.__version__}: make notices")
    (library,) = Path(vl_convert.__path__[0]).glob("vl_convert*.so")
    carried = set(re.findall(rb"/npm/([a-z0-9.-]+)@(\d+\.\d+\.\d+)/", library.read_bytes()))
    names = {name.decode() for name, _ in carried}
    names -= {"clone", "fast-deep-equal", "fast-json-stable-stringify", "lodash.debounce"}  # for older charts alone
    assert len(names) > 50
    for name in names:
        version = re.search(rf"^    {name} ([\d.]+) +\S", notices, re.M)
        assert version is not None, name
        assert (name.encode(), version[1].encode()) in carried
        assert len(re.findall(rf"^{name} {re.escape(version[1])}$", notices, re.M)) == 1, name  # above its licence


def test_pages_contain_no_code_of_others() -> None:
    """THIRD_PARTY.md says so: whatever the pages import is beside them."""
    for path in [*(ROOT / "web" / "src").rglob("*.ts"), *(ROOT / "web" / "pages").glob("*.ts")]:
        for name in re.findall(
            r"""\bfrom\s+["']([^"']+)["']|\bimport\(?\s*["']([^"']+)["']""", path.read_text("utf-8")
        ):
            assert "".join(name).startswith((".", "hush-client", "hush-seal", "hush-training")), path
    assert "dependencies" not in json.loads(read("web/package.json"))
