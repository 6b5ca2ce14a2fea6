"""``aggro completion``: print a completion script, made from the parsers themselves."""

from __future__ import annotations

import argparse

from aggro.cli import COMMANDS, command
from aggro.cli.options import new_parser
from aggro.variants import catalogue

EXAMPLES = """
aggro completion bash > ~/.local/share/bash-completion/completions/aggro
aggro completion zsh > "${fpath[1]}/_aggro"
aggro completion fish > ~/.config/fish/completions/aggro.fish
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser("completion", "Print a completion script for your shell.", EXAMPLES)
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    return parser


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    print({"bash": bash, "zsh": zsh, "fish": fish}[args.shell]())
    return 0


def options() -> dict[str, dict[str, list[str]]]:
    """Return the options of every command, each with the words that may follow it."""
    names = [row.name for row in catalogue()]
    found: dict[str, dict[str, list[str]]] = {}
    for name in COMMANDS:
        found[name] = {}
        for action in command(name).parser()._actions:
            words = names if action.dest.startswith("algorithm") else list(action.choices or ())
            for option in action.option_strings:
                found[name][option] = words
    return found


def bash() -> str:
    """Return the script for bash."""
    cases = "\n".join(
        f'    {name}) words="{" ".join(known)}" ;;' for name, known in options().items()
    )
    values = {option: words for known in options().values() for option, words in known.items()}
    choices = "\n".join(
        f'    {option}) COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word")); return ;;'
        for option, words in values.items()
        if words
    )
    return f"""_aggro() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(COMMANDS)} --help --version" -- "$word")); return
  fi
  case ${{COMP_WORDS[COMP_CWORD-1]}} in
{choices}
  esac
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  [[ $word == -* ]] && COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _aggro aggro"""


def zsh() -> str:
    """Return the script for zsh, which understands bash's."""
    return f"#compdef aggro\nautoload -U +X bashcompinit && bashcompinit\n{bash()}"


def fish() -> str:
    """Return the script for fish."""
    lines = ["complete -c aggro -n __fish_use_subcommand -l version -l help -f"]
    for name, what in COMMANDS.items():
        lines.append(f"complete -c aggro -n __fish_use_subcommand -f -a {name} -d '{what}'")
        for option, words in options()[name].items():
            kind = "-l" if option.startswith("--") else "-s"
            line = f"complete -c aggro -n '__fish_seen_subcommand_from {name}' {kind} "
            lines.append(
                line + option.lstrip("-") + (f" -x -a '{' '.join(words)}'" if words else "")
            )
    return "\n".join(lines)
