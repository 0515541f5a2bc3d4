"""The SCons tool: one builder per row of STAGES, and ``env.KernelLibrary`` for whole libraries.

    from tileiras_build import scons_tool

    variables = scons_tool.variables(ARGUMENTS)                     # sm=, opt=, lineinfo=, build_dir=, ...
    env = Environment(variables=variables, tools=[scons_tool.generate])
    Default(env.KernelLibrary("kernels", Glob("kernels/*.py")))

``Environment(tools=["tileiras"])`` works too where ``site_scons/site_tools/tileiras.py`` is this package's shim.
"""

from .reading import READING  # isort: skip  (first: it watches what build scripts do from here on)
from .library import exists, generate
from .settings import refuse_unknown, variables

__all__ = ["READING", "exists", "generate", "refuse_unknown", "variables"]
