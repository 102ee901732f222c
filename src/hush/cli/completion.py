"""The command `hush completion`: a script for completion in a shell."""

from __future__ import annotations

import click

from hush.cli.program import program

SHELLS = ("bash", "zsh", "fish")


@program.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script with which a shell completes commands, options, and names of files, mechanisms and attributes.

    \b
    Example:
      eval "$(hush completion bash)"                             # in ~/.bashrc
      eval "$(hush completion zsh)"                              # in ~/.zshrc, behind compinit
      hush completion fish > ~/.config/fish/completions/hush.fish
    """
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    # Click's own method starts the shell first, to see whether it is new enough; it need not be on this machine.
    click.echo(ShellComplete.source(kind(program, {}, "hush", "_HUSH_COMPLETE")))
