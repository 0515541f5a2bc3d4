"""``tileiras-build completion SHELL``: a script that completes commands, options and their values, generated from the parser.

The script is self-contained: completion starts no program of this package.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from .commands import COMMANDS
from .parser import PROGRAM, build_parser, parser_of

SHELLS = ("bash", "zsh", "fish")
FILES, FOLDERS, NOTHING = "files", "folders", "nothing"


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
PATHS = {"DIR": FOLDERS, "FILE": FILES, "PATH": FILES, "OUT": FILES, "PAGE": FILES, "OTHER": FILES, "K": FILES}


@dataclass(frozen=True)
class Value:
    """The completions of a value: ``words``, or files or folders (``paths``). ``many``: a comma-separated list."""

    words: tuple[str, ...] = ()
    paths: str = NOTHING
    many: bool = False


@dataclass(frozen=True)
class Option:
    """An option: its spellings, its help, and its value, None without one."""

    names: tuple[str, ...]
    help: str
    value: Value | None
    repeats: bool


@dataclass(frozen=True)
class Completions:
    """The completions of one command: its options, and its argument."""

    name: str
    help: str
    options: tuple[Option, ...]
    argument: Value


def read_commands() -> list[Completions]:
    """The completions of each command, from its parser."""
    parser = build_parser()
    found = {row.name: _completions(row.name, row.help, parser_of(parser, row)) for row in COMMANDS}
    return list((found | {"as": _of_tileiras(found["as"].help)}).values())


def _of_tileiras(about: str) -> Completions:
    """The completions of ``as``, which parses the options of NVIDIA's program."""
    from ..config.nvidia_tileiras_options import FLAG, OPTIONS

    options = []
    for row in OPTIONS:
        names = tuple(f"--{name}" for name in (row.name, *row.aliases) if len(name) > 1)
        value = None if row.sort == FLAG else Value(tuple(row.choices), NOTHING if row.choices else FILES)
        options += [Option(names, row.help, value, repeats=True)] if names else []
    return Completions("as", about, tuple(options), Value(paths=FILES))


def _completions(name: str, about: str, parser: argparse.ArgumentParser) -> Completions:
    actions = [action for action in parser._actions if action.help is not argparse.SUPPRESS]
    options = tuple(_option(action) for action in actions if action.option_strings)
    arguments = [_value(action) for action in actions if not action.option_strings]
    return Completions(name, about, options, arguments[0] if arguments else Value())


def _option(action: argparse.Action) -> Option:
    repeats = isinstance(action, argparse._AppendAction)
    value = None if action.nargs == 0 else _value(action)
    return Option(tuple(action.option_strings), (action.help or "").replace("%(prog)s", PROGRAM), value, repeats)


def _value(action: argparse.Action) -> Value:
    if action.choices is not None:
        return Value(tuple(map(str, action.choices)))
    metavar = str(action.metavar or "")
    if metavar in WORDS:
        return Value(tuple(WORDS[metavar]()), many=metavar in LISTS)
    return Value(paths=PATHS.get(metavar.partition(".")[0], NOTHING))


# ---- bash
_BASH = """\
# Completes the commands of {program}; made by `{program} completion bash`.
_{function}_words() {{
    COMPREPLY=($(compgen -W "$1" -- "$cur"))
}}
_{function}_list() {{
    local before=""
    [[ $cur == *,* ]] && before="${{cur%,*}},"
    COMPREPLY=($(compgen -P "$before" -W "$1" -- "${{cur##*,}}"))
}}
_{function}_files() {{
    compopt -o filenames 2> /dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
}}
_{function}_folders() {{
    compopt -o filenames 2> /dev/null
    COMPREPLY=($(compgen -d -- "$cur"))
}}
_{function}() {{
    local IFS=$' \\t\\n' cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD - 1]}}" command="" word
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" ]]; then
        prev="${{COMP_WORDS[COMP_CWORD - 2]}}"
    fi
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        [[ $word == -* ]] || {{ command="$word"; break; }}
    done
    case "$command $prev" in
{values}
    esac
    case "$command" in
{commands}
    esac
}}
complete -F _{function} {program}
"""
_FUNCTION = PROGRAM.replace("-", "_")


def bash(commands: list[Completions]) -> str:
    """The script for bash 4 and newer."""
    values = [
        f"        {'|'.join(_quoted(f'{one.name} {name}') for name in option.names)}) {_bash_value(option.value)}; return ;;"
        for one in commands
        for option in one.options
        if option.value is not None
    ]
    names = " ".join(one.name for one in commands)
    rows = [f'        "") _{_FUNCTION}_words "{names} --help --version" ;;']
    for one in commands:
        spellings = Value(tuple(name for option in one.options for name in option.names))
        options = f"if [[ $cur == -* ]]; then {_bash_value(spellings)}; else {_bash_value(one.argument)}; fi"
        rows.append(f"        {one.name}) {options} ;;")
    return _BASH.format(program=PROGRAM, function=_FUNCTION, values="\n".join(values), commands="\n".join(rows))


def _bash_value(value: Value) -> str:
    if value.words:
        return f"_{_FUNCTION}_{'list' if value.many else 'words'} '{' '.join(value.words)}'"
    return ":" if value.paths == NOTHING else f"_{_FUNCTION}_{value.paths}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# ---- zsh
_ZSH_PATHS = {FILES: "_files", FOLDERS: "_files -/", NOTHING: " "}


def zsh(commands: list[Completions]) -> str:
    """The script for zsh, as a file of ``fpath``."""
    names = [f"        {_quoted(f'{one.name}:{one.help}')}" for one in commands]
    rows = [line for one in commands for line in _zsh_command(one)]
    return "\n".join([
        f"#compdef {PROGRAM}",
        f"# Made by `{PROGRAM} completion zsh`.",
        "local state line",
        "local -a commands",
        "_arguments -C '--help[show help]' '--version[show the version]' '1:command:->command' '*::argument:->argument'",
        "case $state in",
        "command)",
        "    commands=(", *names, "    )",
        "    _describe command commands ;;",
        "argument)",
        "    case $line[1] in", *rows, "    esac ;;",
        "esac",
        "",
    ])  # fmt: skip


def _zsh_command(one: Completions) -> Iterator[str]:
    yield f"    {one.name})"
    specs = [spec for option in one.options for spec in _zsh_option(option)]
    specs.append(f"*:argument:{_zsh_value(one.argument)}")
    yield "        _arguments " + " ".join(map(_quoted, specs)) + " ;;"


def _zsh_option(option: Option) -> Iterator[str]:
    about = option.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    excluded = "*" if option.repeats else f"({' '.join(option.names)})"
    for name in option.names:
        value = "" if option.value is None else f":value:{_zsh_value(option.value)}"
        yield f"{excluded}{name}[{about}]{value}"


def _zsh_value(value: Value) -> str:
    if value.words:
        return f"{{_values -s , value {' '.join(value.words)}}}" if value.many else f"({' '.join(value.words)})"
    return _ZSH_PATHS[value.paths]


# ---- fish
_FISH_PATHS = {FILES: "-r -F", FOLDERS: "-x -a '(__fish_complete_directories)'", NOTHING: "-x"}


def fish(commands: list[Completions]) -> str:
    """The script for fish."""
    lines = [f"# Made by `{PROGRAM} completion fish`.", f"complete -c {PROGRAM} -f"]
    lines += [_fish("__fish_use_subcommand", f"-l {name} -d {_fish_quoted(what)}") for name, what in
              (("help", "show help"), ("version", "show the version"))]  # fmt: skip
    for one in commands:
        lines.append(_fish("__fish_use_subcommand", f"-a {one.name} -d {_fish_quoted(one.help)}"))
        seen = f"__fish_seen_subcommand_from {one.name}"
        for option in one.options:
            value = "" if option.value is None else f" {_fish_value(option.value)}"
            spelling = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
            )
            lines.append(_fish(seen, f"{spelling}{value} -d {_fish_quoted(option.help)}"))
        if one.argument != Value():
            lines.append(_fish(seen, _fish_value(one.argument).replace("-r ", "").replace("-x ", "")))
    return "\n".join([*lines, ""])


def _fish(condition: str, rest: str) -> str:
    return f"complete -c {PROGRAM} -n {_fish_quoted(condition)} {rest}"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_value(value: Value) -> str:
    words = " ".join(value.words)
    if value.many:
        return f"-x -a '(__fish_append , {words})'"
    return f"-x -a '{words}'" if words else _FISH_PATHS[value.paths]


SCRIPTS: dict[str, Callable[[list[Completions]], str]] = dict(zip(SHELLS, (bash, zsh, fish), strict=True))


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    print(SCRIPTS[options.shell](read_commands()), end="")
