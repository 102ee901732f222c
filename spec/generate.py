"""Writes spec/vectors: words in, reports out, for every channel. `make vectors` runs it; the tests replay the result.

Other implementations are held to the same files. They are made by this one, whose samplers the tests prove exact.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hush.core import codec
from hush.core.plan import Plan
from hush.server.tally import Tally
from spec.arithmetic import coins, exponentials, printables, sealed
from spec.batches import sealed_batches
from spec.good import good
from spec.listings import listings
from spec.maps import arithmetic as maps
from spec.names import names
from spec.plans import plans
from spec.refused_channels import bad_channels
from spec.refused_phases import bad_phases
from spec.refused_plans import bad_plans, bad_views
from spec.refused_reports import bad_json, bad_records, bad_reports, two_of_one
from spec.tallies import tallies
from spec.texts import texts
from spec.trainings import arithmetic, trainings

HERE = Path(__file__).parent / "vectors"


def vectors(name: str, plan: Plan) -> dict[str, Any]:
    """The whole file of one plan."""
    cases = good(plan)
    tally = Tally(plan)
    for _, report in cases:
        tally.add(report)
    return {
        "about": f"{name}: see spec/wire.md",
        "plan": plan.to_json(),
        "id": plan.id,
        "good": [vector for vector, _ in cases],
        "tally": {"json": codec.dump(json.loads(tally.to_json())["tally"]), "binary": tally.encode().hex()},
        "bad_records": [*bad_records(plan)],
        "bad_reports": [*bad_reports(plan, cases[4][1]), *two_of_one(plan, cases[4][1])],
        "bad_json": [*bad_json(cases[4][1])],
    }


def files() -> dict[str, dict[str, Any]]:
    """Every file, by name."""
    result = {f"channel-{name}": vectors(name, plan) for name, plan in plans().items()}
    return (
        result
        | trainings()
        | {
            "bad-phases": bad_phases(),
            "rotations": arithmetic(),
            "maps": maps(),
            "names": names(),
            "bad-plans": bad_plans(),
            "bad-channels": bad_channels(),
            "bad-views": bad_views(),
            "printable": printables(),
            "coins": coins(),
            "lists": listings(),
            "texts": texts(),
            "exp": exponentials(),
            "sealed": sealed(),
            "sealed-batches": sealed_batches(),
            "tallies": tallies(),
        }
    )


def main() -> None:
    """Write the files."""
    HERE.mkdir(exist_ok=True)
    for name, content in files().items():
        (HERE / f"{name}.json").write_text(render(content), encoding="utf-8")
    sys.stdout.write(f"{len(files())} files in {HERE.name}\n")


def render(content: dict[str, Any]) -> str:
    """Return the text of a file: one vector per line, so that changes can be read."""
    lines = []
    for key, value in content.items():
        if isinstance(value, list):
            items = ",\n  ".join(json.dumps(item, ensure_ascii=False) for item in value)
            lines.append(f" {json.dumps(key)}: [\n  {items}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main()
