"""The code that a compile server preloads: everything that a worker needs, the commands, and the caches of a first compilation.

A first kernel takes four times as long as the second one, 95 and 21 ms of CPU: LLVM starts, tables are created, operations are
defined at their first use. So a server compiles a kernel before it serves.
"""

from __future__ import annotations

from contextlib import suppress

from .. import driver  # noqa: F401
from ..workers.executor import forked_executor, in_process_executor, traced_fork_call, worker  # noqa: F401
from ..workers.executor.allow_crash import allow_crash
from ..workers.executor.import_stages import import_stages
from . import dispatch

_KERNEL = """
entry @warm(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume bounded<0, ?>, %n : tile<i32>
  %v = make_tensor_view %a, shape = [%b], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %w = make_partition_view %v : partition_view<tile=(256), tensor_view<?xf32, strides=[1]>>
  %c, %u = load_view_tko weak %w[%x] token = %t : partition_view<tile=(256), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<256xf32>, token
  %d = addf %c, %c : tile<256xf32>
  %e = store_view_tko weak %d, %w[%x] token = %t : tile<256xf32>, partition_view<tile=(256), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}
"""


def run_command() -> int:
    """The command of ``sys.argv``, in a fork that may crash: the client then runs the command itself."""
    allow_crash()
    return dispatch.main()


def warm_up() -> None:
    """Compile a kernel; an error is ignored, and will be reported by the first command that compiles."""
    with suppress(Exception):
        _compile(".cubin")


def rehearse() -> None:
    """The same in a fork that waits for a command. Without ptxas, whose process leaves no memory to the fork."""
    with suppress(Exception):
        _compile(".ptx")


def _compile(suffix: str) -> None:
    from ..ir.bytecode.text_parser import parse_text
    from ..ir.bytecode.writer import write_module
    from ..pipeline.job import Job
    from ..target.targets import find_target

    data = write_module(parse_text(_KERNEL, "warm.mlir"))
    with in_process_executor.InProcessExecutor() as executor:
        executor.run("tileiras_build.driver:lower", data, ".tilebc", suffix, Job(find_target("90")))


import_stages()
