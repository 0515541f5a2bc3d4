"""A pipeline of tiny stages over text, for tests of what runs stages: driver, executor, SCons tool.

A kernel's "bytecode" is text, each line an instruction to the stage it names, such as ``ll: fail``.
"""

from tileiras_build.pipeline.stages import InputFile, Stage
from tileiras_build.workers.executor import fork_server_preload

EDGES = "tests.fake_edges"


def _stage(suffix, edge, *own_options, **more):
    options = ("opt_level", "lineinfo", *own_options)
    return Stage(suffix, f"fake {suffix}", f"{EDGES}:{edge}", options=options, **more)


LIBDEVICE = "libdevice", f"{EDGES}:find_file"
CUT = Stage(".libdevice.bc", "fake cut", f"{EDGES}:cut", inputs=(InputFile(*LIBDEVICE),))
TABLE = (
    Stage(".tilebc", "fake bytecode", f"{EDGES}:export"),
    _stage(".tileaa", "to_tileaa"),
    _stage(".tileas", "to_tileas", "schedule"),
    _stage(".ll", "to_ll"),
    _stage(".ptx", "to_ptx", inputs=(InputFile(*LIBDEVICE, f"{EDGES}:request_of", CUT),)),
    _stage(
        ".cubin",
        "to_cubin",
        parse="tileiras_build.pipeline.launch_manifest_json:parse_cubin",
        render="tileiras_build.pipeline.launch_manifest_json:render_cubin",
        inputs=(InputFile("ptxas", f"{EDGES}:find_file"),),
        side_outputs=(".json",),
    ),
)

PROGRAM_TABLE = (Stage(".tilebc", "fake bytecode", f"{EDGES}:export_program"), *TABLE[1:])
# Two steps a kernel, where what matters is what the first one reads.
SHORT_PROGRAM_TABLE = (PROGRAM_TABLE[0], TABLE[-1])


def use_own_preload() -> None:
    """In a build script: its workers do without the real stages, which take longer to import than such a build."""
    fork_server_preload.PRELOAD = "tests.fake_preload"
