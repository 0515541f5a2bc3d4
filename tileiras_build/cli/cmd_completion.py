"""``tileiras-build completion SHELL``: a script of shtab that completes commands, options and their values.

The script is self-contained: completion starts no program of this package.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from .commands import COMMANDS
from .parser import PROGRAM, build_parser, parser_of

SHELLS = ("bash", "zsh", "fish")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``completion``."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")


def _targets() -> list[str]:
    from ..target.targets import ALL_TARGETS

    return [*ALL_TARGETS, "native", "all"]


def _stages() -> list[str]:
    from ..pipeline.stages import STAGES

    return [*(stage.name for stage in STAGES[1:]), "sass"]


def _passes() -> list[str]:
    from ..pipeline.opt import registry

    return sorted(registry())


def _levels() -> list[str]:
    from ..target.isa.serializer_options import LEVEL_NAMES

    return list(LEVEL_NAMES)


def _strategies() -> list[str]:
    from ..pipeline.pipelining_strategies import NAMES

    return list(NAMES)


def _tuning(name: str) -> list[str]:
    from ..pipeline.tuning_parameters import BY_NAME

    return [str(value) for value in BY_NAME[name].values]


def _findings() -> list[str]:
    from ..simulate.emulator.sanitizers.finding_severities import FINDINGS

    return list(FINDINGS)


def _versions() -> list[str]:
    from ..ir.bytecode.opcodes import VERSIONS

    return [".".join(map(str, version)) for version in VERSIONS]


# Metavariables of --help -> the possible words.
WORDS: dict[str, Callable[[], list[str]]] = {
    "SM": _targets,
    "STAGE": _stages,
    "PASS": _passes,
    "LEVEL": _levels,
    "STRATEGY": _strategies,
    "FP8_PROMOTION_INTERVAL": partial(_tuning, "fp8_promotion_interval"),
    "GRID_SWIZZLE": partial(_tuning, "grid_swizzle"),
    "PERSISTENT": partial(_tuning, "persistent"),
    "EXP2_POLYNOMIAL": partial(_tuning, "exp2_polynomial"),
    "FINDING": _findings,
    "VERSION": _versions,
}
LISTS = ("SM",)  # metavariables of comma-separated lists
FOLDERS, FILES = ("DIR",), ("FILE", "PATH", "OUT", "PAGE", "OTHER", "K")  # metavariables, up to a full stop
_FUNCTION = f"_{PROGRAM.replace('-', '_')}"

# Bash gives the script `--sm=sm_90` as three words; shtab expects two.
_BASH = f"""\
{_FUNCTION}() {{
    local i current=0
    local -a words=()
    for i in "${{!COMP_WORDS[@]}}"; do
        if [[ $i -gt 0 && ${{COMP_WORDS[i]}} == "=" && ${{COMP_WORDS[i - 1]}} == --* ]]; then
            [[ $i -eq $COMP_CWORD ]] && words+=("")
        else
            words+=("${{COMP_WORDS[i]}}")
        fi
        [[ $i -eq $COMP_CWORD ]] && current=$((${{#words[@]}} - 1))
    done
    local -a COMP_WORDS=("${{words[@]}}")
    local COMP_CWORD=$current
    _shtab{_FUNCTION}
}}
complete -F {_FUNCTION} {PROGRAM}
"""


def completion_parser() -> argparse.ArgumentParser:
    """The parser of the command line, whose actions name the words that complete their values."""
    parser = build_parser()
    _add_nvidia_options(parser_of(parser, next(row for row in COMMANDS if row.name == "as")))
    for row in COMMANDS:
        for action in parser_of(parser, row)._actions:
            _set_words(action)
    return parser


def _add_nvidia_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``as``, whose own parser is that of NVIDIA's program."""
    from ..config.nvidia_tileiras_options import FLAG, OPTIONS

    parser.add_argument("file", metavar="FILE")
    for row in OPTIONS:
        names = [name for alias in (row.name, *row.aliases) if len(alias) > 1 and (name := f"--{alias}") != "--help"]
        if names and row.sort == FLAG:
            parser.add_argument(*names, help=row.help, action="store_true")
        elif names:
            parser.add_argument(*names, help=row.help, choices=row.choices or None, metavar="FILE")


def _set_words(action: argparse.Action) -> None:
    import shtab

    metavar = str(action.metavar or "").partition(".")[0]
    if action.choices is not None or action.nargs == 0:
        return
    if metavar in LISTS:
        action.complete = _comma_separated(WORDS[metavar]())  # type: ignore[attr-defined]
    elif metavar in WORDS:
        action.choices = WORDS[metavar]()
    elif metavar in FOLDERS + FILES:
        action.complete = shtab.DIRECTORY if metavar in FOLDERS else shtab.FILE  # type: ignore[attr-defined]


def _comma_separated(values: list[str]) -> dict:
    """How each shell completes the last word of a comma-separated list."""
    words = " ".join(values)
    bash = f'{_FUNCTION}_list() {{ compgen -P "${{1%"${{1##*,}}"}}" -W "{words}" -- "${{1##*,}}"; }}'
    return {
        "bash": f"{_FUNCTION}_list",
        "zsh": f"{{_values -s , value {words}}}",
        "fish": f"(__fish_append , {words})",
        "preamble": {"bash": bash},
    }


def script(shell: str) -> str:
    """The completion script of a shell."""
    import shtab

    return shtab.complete(completion_parser(), shell) + ("\n" + _BASH if shell == "bash" else "\n")


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    print(script(options.shell), end="")
