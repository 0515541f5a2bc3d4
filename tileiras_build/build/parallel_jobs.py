"""How many steps run at once: as many as there are cores, like ninja, unless -j, SCONSFLAGS or the build script sets it."""

from __future__ import annotations

import os

import SCons.Script
import SCons.Script.Main

from ..core.cpu_count import cpu_count

_OPTION = "num_jobs"


def use_all_cores() -> None:
    """Run as many steps as there are cores, unless the number is set."""
    if not _set_in_script():
        # The command line and SCONSFLAGS take precedence.
        SCons.Script.SetOption(_OPTION, cpu_count())


def _set_in_script() -> bool:
    return _OPTION in SCons.Script.Main.OptionsParser.values.__SConscript_settings__


def describe_jobs() -> str:
    """The number and its origin, for ``scons -h``."""
    jobs = SCons.Script.GetOption(_OPTION)
    if _OPTION in vars(SCons.Script.Main.OptionsParser.values):
        flags = os.environ.get("SCONSFLAGS", "")
        return f"{jobs}  [{'command line or SCONSFLAGS' if '-j' in flags or '--jobs' in flags else 'command line'}]"
    return f"{jobs}  [{'default: all cores' if jobs == cpu_count() else 'SConstruct'}]"
