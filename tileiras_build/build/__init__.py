"""The SCons tool: one builder per row of STAGES, ``env.KernelLibrary`` for whole libraries, ``env.KernelPackage``.

    from tileiras_build import scons_tool

    env = Environment(variables=scons_tool.variables(ARGUMENTS), tools=["tileiras"])  # sm=, opt=, build_dir=, ...
    Default(env.KernelLibrary("kernels", Glob("kernels/*.py")))

The import makes the name ``tileiras`` known to SCons; ``tools=[scons_tool.generate]`` is the same. ``variables`` are what a
project adds options of its own to; without them an environment has the tool's. ``scons -h`` explains them all, and an option
that neither the tool has nor the project's build scripts name is refused.
"""

from .incremental.sconscript_trace import TRACE  # isort: skip  (first: it watches what build scripts do from here on)
from ..workers.lazy_class_creation import OWN, enable
from . import fast_glob

if TRACE.has_started:
    # In a process that has been started for a build.
    enable(*OWN)
    fast_glob.install()

from pathlib import Path

import SCons.Tool

from .kernel_library import exists, generate
from .scons_variables import variables

__all__ = ["TRACE", "exists", "generate", "variables"]

# At the end: a tool of that name in the project's own site_scons comes first.
SCons.Tool.DefaultToolpath.append(str(Path(__file__).parent / "toolpath"))
