"""How many steps run at once: on all cores, as ninja does, unless -j, SCONSFLAGS or the build script says otherwise."""

from __future__ import annotations

import os

import SCons.Script
import SCons.Script.Main

from ..core.cpu_count import cpu_count

_OPTION = "num_jobs"


def use_all_cores() -> None:
    """Let as many steps run as there are cores, where nobody has said how many."""
    if not _set_in_script():
        # What the command line and SCONSFLAGS say goes before it.
        SCons.Script.SetOption(_OPTION, cpu_count())


def _set_in_script() -> bool:
    return _OPTION in SCons.Script.Main.OptionsParser.values.__SConscript_settings__


def describe_jobs() -> str:
    """How many, and who says so, as ``scons -h`` has it."""
    jobs = SCons.Script.GetOption(_OPTION)
    if _OPTION in vars(SCons.Script.Main.OptionsParser.values):
        flags = os.environ.get("SCONSFLAGS", "")
        return f"{jobs}  [{'command line or SCONSFLAGS' if '-j' in flags or '--jobs' in flags else 'command line'}]"
    return f"{jobs}  [{'default: all cores' if jobs == cpu_count() else 'SConstruct'}]"
