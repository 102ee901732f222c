"""`make dist` builds the archives; this tries them, as somebody would who has nothing else.

    python tests/release/check.py dist

What is in them, that they can be built again from themselves, that tests run from the source archive, that the wheel is
enough in an empty environment, and that its types reach a user's type checker. It needs git, a package index (for
`hush-ldp[demo]`) and the environment of development.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
# Nobody's settings and sources but those of what is tried.
CLEAN = {
    name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MYPY", "PYTEST", "VIRTUAL"))
}
TRIED = (  # quick tests that read what is beside the package: vectors, documents, pages, the Makefile
    "tests/core/test_codec.py",
    "tests/test_imports.py",
    "tests/release/test_release.py",
    "tests/test_vectors.py",
    "tests/docs/test_docs.py::test_links_lead_somewhere",
    "tests/docs/test_docs.py::test_files_named_in_the_documents_exist",
    "tests/docs/test_docs.py::test_commands_of_the_readme_exist",
)
PEOPLE = 20_000


def run(*command: str | Path, folder: Path, fails: int = 0, path: str | None = None) -> str:
    """Run a command, which must end with this status; return all that it printed."""
    words = [str(word) for word in command]
    own = {} if path is None else {"PYTHONPATH": path}
    done = subprocess.run(  # noqa: S603
        words, cwd=folder, env=CLEAN | own, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode != fails:
        raise SystemExit(f"{' '.join(words)}\nended with {done.returncode}, not {fails}:\n{done.stdout}")
    return done.stdout


def require(true: object, rule: str) -> None:
    """Stop if this is not so."""
    if not true:
        raise SystemExit(f"dist: {rule}")


def say(what: str) -> None:
    """Tell that something was tried and is so."""
    print(f"  {what}", flush=True)


def one(folder: Path, pattern: str) -> Path:
    """Return the one archive of a kind."""
    found = sorted(folder.glob(pattern))
    require(len(found) == 1, f"one {pattern} is expected in {folder}, there are {len(found)}")
    return found[0]


def tracked() -> set[str]:
    """Return the files that git has: what a source archive is made of."""
    return set(run("git", "ls-files", "-z", folder=ROOT).strip("\0").split("\0"))


def check_wheel(wheel: Path, version: str) -> None:
    """The package and nothing else, with what it says about itself."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        about = f"hush_ldp-{version}.dist-info"
        metadata = message_from_bytes(archive.read(f"{about}/METADATA"))
    package = {name.removeprefix("src/") for name in tracked() if name.startswith("src/")}
    missing, more = package - names, {name for name in names if not name.startswith(f"{about}/")} - package
    require(not missing, f"the wheel lacks {sorted(missing)}")
    require(not more, f"the wheel has also {sorted(more)}")
    require("hush/py.typed" in names, "the wheel lacks the marker of types")
    require("hush/collector/static/notices.txt" in names, "the wheel lacks the licences of what it serves")
    require({f"{about}/licenses/{name}" for name in ("LICENSE", "THIRD_PARTY.md")} <= names, "licences are missing")
    require(metadata["Name"] == "hush-ldp", f"the metadata have the name {metadata['Name']}")
    require(metadata["Version"] == version, f"the metadata have version {metadata['Version']}")
    require(metadata["License-Expression"] == "Apache-2.0", "the metadata have no licence")
    require(metadata["Requires-Python"] == ">=3.11", "the metadata do not say which Python")
    require(metadata["Description-Content-Type"] == "text/markdown", "an index would not render the description")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    described = metadata.get_payload(decode=True)
    require(
        isinstance(described, bytes) and described.decode().strip() == readme.strip(),
        "the description is not the README",
    )
    bare = [need for need in metadata.get_all("Requires-Dist", []) if "extra ==" not in need]
    require(not bare, f"without extras nothing may be needed, but {bare} is")
    say(f"{wheel.name}: {len(package)} files of the package, its types, pages and licences, and nothing else")


def check_source(source: Path, folder: Path) -> Path:
    """Everything that git has, unpacked into a folder."""
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    inside = folder / source.name.removesuffix(".tar.gz")
    names = {str(path.relative_to(inside)) for path in inside.rglob("*") if path.is_file()} - {"PKG-INFO"}
    require(names == tracked(), f"the source archive is not what git has: {sorted(names ^ tracked())}")
    say(f"{source.name}: {len(names)} files, those of git")
    return inside


def check_again(inside: Path, archives: Sequence[Path]) -> None:
    """Built again from the source archive, somewhere else, they are the same bytes."""
    again = inside.parent / "again"
    run(sys.executable, "-m", "build", "--outdir", again, folder=inside)
    for archive in archives:
        hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (archive, again / archive.name)]
        require(hashes[0] == hashes[1], f"{archive.name} is not the same when it is built again")
        say(f"{archive.name}: the same bytes when built from the source archive, sha256 {hashes[0][:16]}...")


def check_tests(inside: Path) -> None:
    """Tests run from the source archive; that it has all of them is known, as it has all that git has."""
    own = f"{inside / 'src'}{os.pathsep}{inside}"
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *TRIED]
    say(run(*tests, folder=inside, path=own).splitlines()[-1] + " from the source archive")


def check_bare(python: Path, wheel: Path, empty: Path, version: str) -> None:
    """Without any other package: the library works, and the commands say what they need."""
    run(python, "-m", "pip", "install", "--quiet", "--no-index", wheel, folder=empty)
    require(run(python, "-c", "import hush; print(hush.__version__)", folder=empty).strip() == version, "wrong version")
    run(python, "-W", "error", HERE / "downstream.py", folder=empty)
    say("the wheel alone, in an empty environment: plan, randomise, count and estimate work")
    for command, extra in [
        (["hush"], "hush-ldp[cli]"),
        (["hush", "demo"], "hush-ldp[cli]"),
        (["hush.demo"], "hush-ldp[demo]"),
    ]:
        told = run(python, "-m", *command, folder=empty, fails=2)
        require(extra in told and "Traceback" not in told, f"{command} does not say that it needs {extra}: {told}")
    say("commands say which extra they need")


def check_types(python: Path, empty: Path) -> None:
    """A user's strict type checker sees the types of the wheel, and so finds what is wrong."""
    mypy: list[str | Path] = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--no-incremental",
        "--python-executable",
        python,
    ]
    run(*mypy, HERE / "downstream.py", folder=empty)
    text = (HERE / "downstream.py").read_text(encoding="utf-8")
    wrong = empty / "wrong.py"
    wrong.write_text(text.replace("epsilon=1.0", 'epsilon="1.0"').replace("row.point", "row.points"), encoding="utf-8")
    told = run(*mypy, wrong, folder=empty, fails=1)
    require("[arg-type]" in told and "[attr-defined]" in told, f"mypy must refuse a wrong program: {told}")
    wrong.unlink()
    say("mypy --strict accepts a program that uses the wheel, and finds the mistakes of a wrong one")


def check_demo(python: Path, wheel: Path, empty: Path, version: str) -> None:
    """With its extra, the demo runs from an empty folder."""
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    run(*pip, f"{wheel}[demo]", folder=empty)
    hush = python.with_name("hush")
    require(run(hush, "--version", folder=empty).split()[-1] == version, "hush --version says something else")
    told = run(hush, "demo", "--once", "--people", str(PEOPLE), folder=empty)
    result = [line for line in told.splitlines() if "intervals contain the truth" in line]
    require(result, f"the demo says: {told}")
    require((empty / "demo" / "estimates.svg").stat().st_size > 1000, "the demo drew no picture")
    say(f"hush demo --once, with {PEOPLE} people: {result[0]}")


def main(folder: Path) -> None:
    """Try the archives of a folder."""
    wheel, source = one(folder, "*.whl"), one(folder, "*.tar.gz")
    version = wheel.name.split("-")[1]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        check_wheel(wheel, version)
        inside = check_source(source, place)
        check_again(inside, [wheel, source])
        check_tests(inside)
        empty = place / "empty"
        empty.mkdir()
        venv.create(place / "environment", with_pip=True)
        python = place / "environment" / "bin" / "python"
        check_bare(python, wheel, empty, version)
        check_types(python, empty)
        check_demo(python, wheel, empty, version)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
