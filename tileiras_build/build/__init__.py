"""The SCons tool: one builder per row of STAGES, ``env.KernelLibrary`` for whole libraries, ``env.KernelPackage``.

    from tileiras_build import scons_tool

    env = Environment(variables=scons_tool.variables(ARGUMENTS), tools=["tileiras"])  # sm=, opt=, build_dir=, ...
    Default(env.KernelLibrary("kernels", Glob("kernels/*.py")))

The import registers the name ``tileiras`` with SCons; ``tools=[scons_tool.generate]`` is equivalent. A project can add its own
options to ``variables``; an environment without ``variables`` has the tool's. ``scons -h`` documents all options. An option
that is neither the tool's nor named in a build script is an error.
"""

from .incremental.sconscript_trace import TRACE  # isort: skip  (first: it traces build scripts from its import on)
from ..workers.lazy_class_creation import OWN, enable

if TRACE.has_started:
    # In a process that was started for a build.
    enable(*OWN)

from pathlib import Path

import SCons.Tool

from .scons_entry import exists, generate
from .scons_variables import variables

__all__ = ["TRACE", "exists", "generate", "variables"]

# Last: a tool of that name in the project's own site_scons takes precedence.
SCons.Tool.DefaultToolpath.append(str(Path(__file__).parent / "toolpath"))
