"""Break the source in small ways and look whether a test notices: `python -m tests.mutants [MODULE ...]`.

`copies` tries modules of Python, `scripts` those of the browser client. The test that noticed a change is remembered in
.mutants; a run that is ended too soon can go on with `--survivors`. With `--keep` the changes that live are kept in
docs/measured/mutants.json; why each may live is written in survivors.toml, by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tests.mutants import changes, copies, scripts
from tests.mutants.modules import CACHE, MODULES, ROOT, Module

KEPT = ROOT / "docs" / "measured" / "mutants.json"
REASONS = Path(__file__).with_name("survivors.toml")


def digest(module: Module) -> str:
    """Return a name for what the source of a module does."""
    source = module.path.read_text(encoding="utf-8")
    return scripts.digest(source) if module.script else changes.digest(source)


def stale() -> dict[str, str]:
    """Return the modules whose kept result is not of the present source, and why."""
    before = kept()
    return {
        module.name: "never tried" if module.name not in before else "older than the source"
        for module in MODULES
        if before.get(module.name, {}).get("source") != digest(module)
    }


def explained(module: Module) -> dict[str, str]:
    """Return why each change that no test of a module notices may live."""
    reasons: dict[str, dict[str, str]] = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    return reasons.get(module.name, {})


def kept() -> dict[str, Any]:
    """Return the results that are kept for the documents, by module."""
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    return found


def test(module: Module, options: argparse.Namespace) -> None:
    """Try all changes of a module, remember what noticed each, and print those that live."""
    start = time.monotonic()
    old = _last(module)
    killers: dict[str, str] = old.get("killers", {})
    known = killers if options.survivors and old["source"] == digest(module) else {}
    skipped = {*known, *(explained(module) if options.unexplained else ())}

    def save(more: dict[str, str], found: Collection[str] | None = None) -> None:
        """Keep what was noticed; all changes are named when all were tried."""
        values = {"source": digest(module), "found": found, "killers": known | more}
        draft = _cache(module).with_suffix(".draft")
        draft.write_text(json.dumps(values), encoding="utf-8")
        draft.replace(_cache(module))

    if module.script:
        result = scripts.tried(module, skipped, killers, options.workers, save)
    else:
        found = _changes(module)
        todo = [change for change in found if change.key not in skipped]
        result = copies.tried(module, todo, killers, options.workers, options.limit, save)
        result.found = [change.key for change in found]
    result.killers |= {key: known[key] for key in result.found if key in known}
    save(result.killers, result.found)
    alive = [key for key in result.found if key not in result.killers]
    share = f"{len(result.killers)} of {len(result.found)} noticed"
    print(f"{module.name}: {share}, {time.monotonic() - start:.0f} s", flush=True)
    for key in alive:
        print(f"    {'NOT REACHED ' if key in result.missed else ''}{key}", flush=True)


def compare(module: Module, options: argparse.Namespace) -> None:
    """Try some changes the long way, before anything is imported, and print those that come out otherwise."""
    killers = _last(module)["killers"]
    some = [change for change in _changes(module) if change.function][:: options.whole]
    noticed = copies.whole(module, some, module.tests, options.workers, options.limit)
    differ = sorted(change.key for change in some if (change.key in noticed) != (change.key in killers))
    print(f"{module.name}: {len(some)} tried as a whole; {len(differ)} differ", *differ, sep="\n  ")


def _changes(module: Module) -> list[changes.Change]:
    return changes.changes(module.path.read_text(encoding="utf-8"), str(module.path))


def _cache(module: Module) -> Path:
    return CACHE / f"{module.name.replace('/', '-')}.json"


def _last(module: Module) -> dict[str, Any]:
    """Return what the last run found, of whatever source."""
    cache = _cache(module)
    found: dict[str, Any] = json.loads(cache.read_text(encoding="utf-8")) if cache.exists() else {"source": ""}
    return found


def main() -> None:
    """Read the arguments, and try the modules."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="as in channels/window or web/plan; all if none is named")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--survivors", action="store_true", help="only what survived the last time")
    parser.add_argument(
        "--unexplained", action="store_true", help="not what survivors.toml explains: it counts as alive, as before"
    )
    parser.add_argument(
        "--keep", action="store_true", help="try nothing; keep what the last runs found, for the documents"
    )
    parser.add_argument(
        "--stale",
        action="store_true",
        help="try nothing; list what changed since it was tried, and fail if anything did",
    )
    parser.add_argument("--whole", type=int, help="of Python: change every so-many-th before the import, and compare")
    parser.add_argument("--limit", type=float, default=30, help="processor seconds for a change on import")
    options = parser.parse_args()
    known = {module.name for module in MODULES}
    if not set(options.modules) <= known:
        parser.error(f"modules are: {', '.join(sorted(known))}")
    if options.stale:
        old = stale()
        for name, state in old.items():
            print(f"{name}: {state}")
        sys.exit(1 if old else 0)  # a release waits for these
    if options.keep:
        keep(options.modules or known)
        return
    os.environ["CI"] = "1"  # the same examples every time
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        tempfile.tempdir = folder  # everything temporary goes in there, and away at the end
        for module in MODULES:
            if options.modules and module.name not in options.modules:
                continue
            if not options.whole:
                test(module, options)
            elif not module.script:
                compare(module, options)


def keep(names: Collection[str]) -> None:
    """Keep what the last runs found of these modules, for the documents; each survivor with the reason why it may live.

    Of the other modules, and of those that were not tried here since they changed, what was kept before stays.
    """
    before = kept()
    results = {}
    for module in MODULES:
        last = _last(module)
        if module.name in names and last["source"] == digest(module) and last["found"] is not None:
            alive = [key for key in last["found"] if key not in last["killers"]]
            reasons = explained(module)
            survivors = [{"change": key, "why": reasons.get(key, "")} for key in alive]
            results[module.name] = {"source": last["source"], "mutants": len(last["found"]), "survivors": survivors}
        elif module.name in before:
            results[module.name] = before[module.name]
        if results.get(module.name, {}).get("source") != digest(module):
            print(f"not kept, as it changed or was not tried: {module.name}", file=sys.stderr)
    KEPT.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
