"""The SCons tool: one builder per row of STAGES, ``env.KernelLibrary`` for whole libraries, ``env.KernelPackage``.

    from tileiras_build import scons_tool

    variables = scons_tool.variables(ARGUMENTS)                     # sm=, opt=, lineinfo=, build_dir=, ...
    env = Environment(variables=variables, tools=["tileiras"])
    Default(env.KernelLibrary("kernels", Glob("kernels/*.py")))

The import makes the name ``tileiras`` known to SCons; ``tools=[scons_tool.generate]`` is the same.
"""

from .reading import READING  # isort: skip  (first: it watches what build scripts do from here on)
from pathlib import Path

import SCons.Tool

from .library import exists, generate
from .settings import refuse_unknown, variables

__all__ = ["READING", "exists", "generate", "refuse_unknown", "variables"]

# At the end: a tool of that name in the project's own site_scons comes first.
SCons.Tool.DefaultToolpath.append(str(Path(__file__).parent / "toolpath"))
