"""KNOBS: every environment variable that the project reads, in one frozen table.

``affects_output``: whether an artifact's bytes may depend on the knob; such knobs are part of build signatures. The
The table of knobs in docs/command-line.md is generated from these rows (``markdown``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from .errors import InvalidInput

Value = TypeVar("Value", int, str)


@dataclass(frozen=True)
class Knob(Generic[Value]):
    """One environment variable; the type of ``default`` (int or str) determines how its value is parsed."""

    name: str
    default: Value
    help: str
    affects_output: bool = False
    values: tuple[int, ...] = ()

    def __post_init__(self):
        assert self.name.startswith("TILEIRAS_"), self.name
        assert not self.values or self.default in self.values, self.name

    def read(self, environment: Mapping[str, str] = os.environ) -> Value:
        """The value in ``environment``; raises InvalidInput for an invalid value."""
        text = environment.get(self.name, "")
        if not text:
            return self.default
        if not self.values or text.isdecimal() and int(text) in self.values:
            return type(self.default)(text)
        raise InvalidInput(
            "knob-value",
            f"{self.name}={text} is not a valid value",
            remedy=f"use one of {', '.join(map(str, self.values))}",
        )


DEBUG = Knob(
    "TILEIRAS_DEBUG",
    0,
    "verbosity: 1 per-stage timing, 2 + per-pass timing, 5 + dump stage outputs, 6 + dump IR after each pass "
    "(to TILEIRAS_DUMP); stage times include loading the compiler",
    values=tuple(range(8)),
)
CHECK = Knob(
    "TILEIRAS_CHECK",
    0,
    "verification level: 0 pass contracts, 1 + IR after each stage, 2 + IR after each pass and the pass verifiers",
    values=(0, 1, 2),
)
DUMP = Knob(
    "TILEIRAS_DUMP",
    "",
    "folder for dumps of TILEIRAS_DEBUG and of internal errors (default: $TMPDIR/tileiras-<uid>/dump, private to you)",
)

CUTILE_INHERITED = Knob(
    "TILEIRAS_CUTILE_INHERITED",
    "",
    "internal: device of the kernels, as JSON; set for child processes by `tileiras-build run` and the pytest plugin",
)

CUTILE_CACHE = Knob(
    "TILEIRAS_CUTILE_CACHE",
    "",
    "cache of kernels compiled by `tileiras_build.cutile`: a folder, a server URL, or off "
    "(default: tileiras-build/cutile under `XDG_CACHE_HOME` or ~/.cache)",
)

SERVER = Knob(
    "TILEIRAS_SERVER",
    "",
    "use a background compile server: 1 or 0 (default: 1; 0 if `CI` is set); `server=0` disables it for one build",
)

KNOBS: tuple[Knob[int] | Knob[str], ...] = (DEBUG, CHECK, DUMP, CUTILE_CACHE, CUTILE_INHERITED, SERVER)


def is_on_cpu() -> bool:
    """Whether the parent process runs kernels in the emulator."""
    settings = CUTILE_INHERITED.read()
    return bool(settings) and json.loads(settings).get("device") == "cpu"


def dump_folder() -> Path:
    """The folder of dumps, created if absent. Raises InvalidInput[dump-folder]."""
    given = DUMP.read()
    try:
        if not given:
            from .user_tmp import dump_root

            return dump_root()
        Path(given).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot create the dump folder: {error.strerror or error}"
        raise InvalidInput("dump-folder", message, remedy=f"set {DUMP.name} to a writable folder") from None
    return Path(given)


def cutile_cache() -> str | None:
    """The cache of compiled cuTile Python kernels: a folder or a URL; None if it is disabled."""
    given = CUTILE_CACHE.read()
    if given == "off":
        return None
    return given or _folder_of_user()


def _folder_of_user() -> str | None:
    """The folder of caches of this user; None of one without a home."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return None if home.startswith("~") else os.path.join(home, "tileiras-build", "cutile")


def user_cache_folder() -> str | None:
    """The folder of cached records of this user's processes (``persistent_cache.py``): next to compiled kernels if those are
    in a folder; None if caching is disabled.
    """
    kept = cutile_cache()
    if kept is None:
        return None
    folder = _folder_of_user() if "://" in kept else os.path.expanduser(kept)
    return folder and os.path.join(os.path.abspath(folder), f"local-{os.geteuid()}")


def markdown() -> str:
    """The table of knobs for docs/command-line.md."""
    rows = [f"| `{knob.name}` | `{knob.default}` | {knob.help} |" for knob in KNOBS]
    return "\n".join(["| variable | default | meaning |", "|---|---|---|", *rows])
