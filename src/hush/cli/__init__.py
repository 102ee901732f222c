"""The command line: `hush plan`, `predict`, `audit`, `law`, `randomise`, `tally`, `estimate`, `serve`, `demo` ...

It needs `pip install 'hush-ldp[cli]'`; commands that need more libraries name them.

Files in, a table or JSON out. Help must come at once, so modules of hush, Rich and Altair are imported by the command
that needs them.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or name the extra to install."""
    try:
        from hush.cli.commands import program
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        hint = "pip install 'hush-ldp[cli]' (in a clone: '.[cli]')"
        print(f"hush: the command line needs more libraries: {hint}", file=sys.stderr)
        sys.exit(2)
    program(prog_name="hush")
