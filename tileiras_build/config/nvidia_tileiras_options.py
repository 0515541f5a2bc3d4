"""The options of NVIDIA's ``tileiras``: one row each, parsed like by LLVM's command-line library.

Long options have one or two dashes, and their value after ``=`` or as the next argument; the value of ``-O`` is attached; the
last one wins. Error messages are those of NVIDIA's program (release 13.5), because callers match them.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..target.targets import TARGETS

PROGRAM = "tileiras"
OPT_LEVEL = "opt-level"
FLAG, VALUE, INTEGER, ATTACHED, LIST = "flag", "value", "integer", "attached integer", "list"
CATEGORIES = {"none": "Disable {} remarks", "all": "Show all {} remarks"} | {
    "memory": "Show memory-related {} remarks",
    "tensorcore": "Show tensor-core {} remarks",
}
REMARK_KINDS = ("passed", "missed", "failed", "analysis")
_BOOLEANS = {"": True, "true": True, "TRUE": True, "True": True, "1": True} | dict.fromkeys(
    ("false", "FALSE", "False", "0"), False
)


class UsageError(Exception):
    """A command line that NVIDIA's program refuses; the text is the whole error output."""


@dataclass(frozen=True)
class Option:
    """One option: ``name`` is the key of its value, ``aliases`` are further spellings, ``choices`` its values."""

    name: str
    sort: str
    help: str
    aliases: tuple[str, ...] = ()
    shown: str = ""
    choices: dict[str, str] = field(default_factory=dict)
    default: str = ""


def _remark_choices(kind: str) -> dict[str, str]:
    return {name: text.format(kind).replace("  ", " ") for name, text in CATEGORIES.items()}


OPTIONS: tuple[Option, ...] = (
    Option("device-debug", FLAG, "Generate debug information (if present in the input bytecode)", ("g",)),
    Option(
        "gpu-name", VALUE, "Specify name of NVIDIA GPU to generate code for.", ("arch",), "=<value>",
        {name: name.replace("sm_", "SM ") for name in TARGETS},
    ),
    Option("help", FLAG, "Display available options", ("help-hidden", "help-list", "help-list-hidden", "h")),
    Option(
        "host-arch", VALUE, "Accepted and without effect: the output holds device code only.", (), "=<value>",
        {"x86_64": "x86_64", "aarch64": "aarch64"},
    ),
    Option(
        "host-os", VALUE, "Accepted and without effect: the output holds device code only.", (), "=<value>",
        {"linux": "linux", "windows": "windows"},
    ),
    Option("l", LIST, "Tile libraries to load: not supported.", (), " <path>"),
    Option("lineinfo", FLAG, "Generate line-number information (if present in the input bytecode)"),
    Option("list-versions", FLAG, "List all supported bytecode versions and exit"),
    Option(OPT_LEVEL, INTEGER, "Specify optimization level. Default Value: 3.", (), "=<N>"),
    Option("O", ATTACHED, "Alias for --opt-level", (), "<N>"),
    Option("output-file", VALUE, "Specify name of output file.", ("o",), "=<file>", default="elf.o"),
    Option("preview", LIST, "Enable preview features: there are none.", (), "=<feature[,feature...]>"),
    Option(
        "remark-format", VALUE, "Specify the format for remark output", (), "=<value>",
        {"command-line": "Print remarks to command-line", "yaml": "Write remarks to YAML file"}, "command-line",
    ),
    Option(
        "remarks", VALUE, f"Enable all remark types ({', '.join(REMARK_KINDS)}) for the specified category", (),
        "=<value>", _remark_choices(""), "none",
    ),
    *(
        Option(f"remarks-{kind}", VALUE, f"Category for {kind} optimization remarks", (), "=<value>",
               _remark_choices(kind))
        for kind in REMARK_KINDS
    ),
    Option(
        "remarks-output-file", VALUE, "Output file for YAML remark format. Default is tileir_remarks.yaml", (),
        "=<string>", default="tileir_remarks.yaml",
    ),
    Option(
        "sanitize", VALUE, "Enable compiler instrumentation for the sanitizer tool specified by the option.", (),
        "=<value>", {"memcheck": "Sanitize memory accesses"},
    ),
    Option("version", FLAG, "Display the version of this program"),
)  # fmt: skip

_BY_SPELLING = {spelling: option for option in OPTIONS for spelling in (option.name, *option.aliases)}


@dataclass
class CommandLine:
    """The parsed command line: ``file`` is the bytecode's path or None; the values by option name are, by type, in ``flags``,
    ``texts`` (empty if missing) and ``lists``, and the only integer is ``level``.

    ``given`` are the names of the options on the command line.
    """

    file: str | None = None
    level: int = 3
    flags: dict[str, bool] = field(default_factory=lambda: {row.name: False for row in OPTIONS if row.sort == FLAG})
    texts: dict[str, str] = field(
        default_factory=lambda: {row.name: row.default for row in OPTIONS if row.sort == VALUE}
    )
    lists: dict[str, tuple[str, ...]] = field(
        default_factory=lambda: {row.name: () for row in OPTIONS if row.sort == LIST}
    )
    specified: set[str] = field(default_factory=set)


def parse(arguments: Sequence[str], program: str = PROGRAM) -> CommandLine:
    """Parse a command line; ``program`` is the path in error messages. Raises UsageError."""
    line = CommandLine()
    rest = list(arguments)
    files = []
    while rest:
        argument = rest.pop(0)
        if argument.startswith("-") and argument != "-":
            _read_option(line, argument, rest, program)
        else:
            files.append(argument)
    if len(files) > 1:
        raise UsageError(
            f"{PROGRAM}: Too many positional arguments specified!\n"
            f"Can specify at most 1 positional arguments: See: {program} --help"
        )
    line.file = files[0] if files else None
    return line


def _read_option(line: CommandLine, argument: str, rest: list[str], program: str) -> None:
    spelling, given, value = argument.lstrip("-").partition("=")
    option = _BY_SPELLING.get(spelling)
    if option is None and spelling.startswith("O"):
        option, spelling, given, value = _BY_SPELLING["O"], "O", "=", spelling[1:]
    if option is None:
        raise _unknown(argument, spelling, program)
    dashed = _dashed(spelling)
    if not given and option.sort in (VALUE, INTEGER, LIST):
        if not rest:
            raise _bad(dashed, "requires a value!")
        value = rest.pop(0)
    _store(line, option, dashed, value)


def _store(line: CommandLine, option: Option, dashed: str, value: str) -> None:
    line.specified.add(OPT_LEVEL if option.sort == ATTACHED else option.name)
    if option.sort == LIST:
        line.lists[option.name] += tuple(value.split(","))
    elif option.sort == FLAG:
        if value not in _BOOLEANS:
            raise _bad(dashed, f"'{value}' is invalid value for boolean argument! Try 0 or 1")
        line.flags[option.name] = _BOOLEANS[value]
    elif option.sort == VALUE:
        if option.choices and value not in option.choices:
            raise _bad(dashed, f"Cannot find option named '{value}'!")
        line.texts[option.name] = value
    else:
        line.level = _integer(dashed, value)


def _integer(dashed: str, value: str) -> int:
    if not value:
        raise _bad(dashed, "requires a value!")
    try:
        return int(value, 0)
    except ValueError:
        raise _bad(dashed, f"'{value}' value invalid for integer argument!") from None


def _bad(dashed: str, problem: str) -> UsageError:
    return UsageError(f"{PROGRAM}: for the {dashed} option: {problem}")


def _unknown(argument: str, spelling: str, program: str) -> UsageError:
    text = f"{PROGRAM}: Unknown command line argument '{argument}'.  Try: '{program} --help'"
    close = difflib.get_close_matches(spelling, _BY_SPELLING, 1)
    return UsageError(text + (f"\n{PROGRAM}: Did you mean '{_dashed(close[0])}'?" if close else ""))


def _dashed(spelling: str) -> str:
    return f"-{spelling}" if len(spelling) == 1 else f"--{spelling}"


def help_text() -> str:
    """The output of ``--help``."""
    rows = []
    for option in OPTIONS:
        rows.append((f"  {_dashed(option.name)}{option.shown}", option.help))
        rows += [(f"    ={value}", f"  {text}") for value, text in option.choices.items()]
        rows += [(f"  {_dashed(alias)}", f"Alias for --{option.name}") for alias in option.aliases]
    width = max(len(left) for left, _ in rows)
    lines = [f"{left:{width}} - {right}" for left, right in rows]
    head = (
        "OVERVIEW: tileiras_build: an open CUDA Tile IR assembler\n\n"
        f"USAGE: {PROGRAM} [options] <tile bytecode file>\n\nOPTIONS:"
    )
    return "\n".join((head, *lines))
