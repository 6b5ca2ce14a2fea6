"""Commands about the command line itself: ``aggro algorithms``, ``completion`` and ``demo``."""

from __future__ import annotations

import argparse
import json

from aggro.cli import COMMANDS, parser_of
from aggro.cli.options import new_parser
from aggro.variants import LINEAR, catalogue

COMPLETION_EXAMPLES = """
aggro completion bash > ~/.local/share/bash-completion/completions/aggro
aggro completion zsh > "${fpath[1]}/_aggro"
aggro completion fish > ~/.config/fish/completions/aggro.fish
"""


def algorithms_parser() -> argparse.ArgumentParser:
    """Return the parser of ``aggro algorithms``."""
    examples = "aggro algorithms\naggro algorithms --json"
    parser = new_parser("algorithms", "List the published variants.", examples)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run_algorithms(args: argparse.Namespace) -> int:
    """Print one line for each variant."""
    rows = catalogue()
    if args.json:
        fields = ("name", "estimator", "params", "paper", "rule")
        print(json.dumps([{name: getattr(row, name) for name in fields} for row in rows], indent=2))
        return 0
    wide, long = (max(len(getattr(row, name)) for row in rows) for name in ("name", "paper"))
    for row in rows:
        where = "" if row.estimator in LINEAR else "  (Python only)"
        print(f"{row.name:<{wide}}  {row.paper:<{long}}  {row.rule}{where}")
    return 0


def demo_parser() -> argparse.ArgumentParser:
    """Return the parser of ``aggro demo``."""
    return new_parser("demo", "Show online learning on built-in data.", "aggro demo")


def run_demo(args: argparse.Namespace) -> int:
    """Run the demonstration."""
    from aggro.demo import main

    main()
    return 0


# -- completion ----------------------------------------------------------------------------------


def completion_parser() -> argparse.ArgumentParser:
    """Return the parser of ``aggro completion``."""
    parser = new_parser("completion", "Print a shell completion script.", COMPLETION_EXAMPLES)
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    return parser


def run_completion(args: argparse.Namespace) -> int:
    """Print the script."""
    print({"bash": bash, "zsh": zsh, "fish": fish}[args.shell]())
    return 0


def options() -> dict[str, dict[str, list[str]]]:
    """Return the options of every command, each with the values that it completes."""
    names = [row.name for row in catalogue()]
    found: dict[str, dict[str, list[str]]] = {}
    for command in COMMANDS:
        found[command] = {}
        for action in parser_of(command)._actions:
            values = names if action.dest.startswith("algorithm") else list(action.choices or ())
            found[command] |= dict.fromkeys(action.option_strings, values)
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
    """Return the script for zsh, which reads bash's."""
    return f"#compdef aggro\nautoload -U +X bashcompinit && bashcompinit\n{bash()}"


def fish() -> str:
    """Return the script for fish."""
    lines = ["complete -c aggro -n __fish_use_subcommand -l version -l help -f"]
    for name, (_, summary) in COMMANDS.items():
        lines.append(f"complete -c aggro -n __fish_use_subcommand -f -a {name} -d '{summary}'")
        for option, words in options()[name].items():
            kind = "-l" if option.startswith("--") else "-s"
            line = f"complete -c aggro -n '__fish_seen_subcommand_from {name}' {kind} "
            values = f" -x -a '{' '.join(words)}'" if words else ""
            lines.append(line + option.lstrip("-") + values)
    return "\n".join(lines)
