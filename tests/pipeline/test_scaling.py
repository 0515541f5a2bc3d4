"""Twice the program takes twice the work, not four times: calls are counted at n and 2 n, after a first run."""

import pytest

from tests.counted import calls_of
from tileiras_build import driver
from tileiras_build.ir.bytecode import disassemble
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.stages import STAGES, between
from tileiras_build.target.targets import find_target

VIEW = "partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>"
TILE = "tile<128xf32>"
HEAD = f"""entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {{
%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%yes = constant <i1: true> : tile<i1>
%f = constant <f32: 1.0> : {TILE}
%v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
%w = make_partition_view %v : {VIEW}
%t = make_token : token
"""


def entry(lines) -> str:
    return HEAD + "\n".join(lines) + "\nreturn\n}\n"


def store(value: str, name: str = "s") -> str:
    return f"%{name} = store_view_tko weak {value}, %w[%zero] : {TILE}, {VIEW}, tile<i32> -> token"


def straight(n: int) -> str:
    adds = (f"%x{i} = addf {f'%x{i - 1}' if i else '%f'}, %f : {TILE}" for i in range(n))
    return entry([*adds, store(f"%x{n - 1}")])


def copies(n: int) -> str:
    """Loads and stores, each after the one before."""
    lines = []
    for i in range(n):
        before = f"%c{i - 1}" if i else "%t"
        lines.append(
            f"%a{i}, %b{i} = load_view_tko weak %w[%zero] token = {before} : {VIEW}, tile<i32> -> {TILE}, token"
        )
        lines.append(f"%c{i} = store_view_tko weak %a{i}, %w[%one] token = %b{i} : {TILE}, {VIEW}, tile<i32> -> token")
    return entry(lines)


def free_copies(n: int) -> str:
    """The same without order among them."""
    lines = []
    for i in range(n):
        lines.append(f"%a{i}, %b{i} = load_view_tko weak %w[%zero] : {VIEW}, tile<i32> -> {TILE}, token")
        lines.append(store(f"%a{i}", f"c{i}"))
    return entry(lines)


def loops(n: int) -> str:
    lines = []
    for i in range(n):
        lines.append(
            f"%r{i} = for %i{i} in (%zero to %n, step %one) : tile<i32> iter_values(%q{i} = %f) -> ({TILE}) {{"
        )
        lines.append(f"%y{i} = addf %q{i}, %f : {TILE}\ncontinue %y{i} : {TILE}\n}}")
        lines.append(store(f"%r{i}", f"s{i}"))
    return entry(lines)


def branches(n: int) -> str:
    lines = []
    for i in range(n):
        lines.append(f"%r{i} = if %yes -> ({TILE}) {{\nyield %f : {TILE}\n}} else {{")
        lines.append(f"%y{i} = addf %f, %f : {TILE}\nyield %y{i} : {TILE}\n}}")
        lines.append(store(f"%r{i}", f"s{i}"))
    return entry(lines)


def reductions(n: int) -> str:
    lines = []
    for i in range(n):
        lines.append(f"%r{i} = reduce %f dim=0 identities=[0.0 : f32] : {TILE} -> tile<f32>")
        lines.append(f"(%l{i}: tile<f32>, %m{i}: tile<f32>) {{\n%y{i} = addf %l{i}, %m{i} : tile<f32>")
        lines.append(f"yield %y{i} : tile<f32>\n}}")
    return entry(lines)


def carried(n: int) -> str:
    pairs = ", ".join(f"%q{i} = %f" for i in range(n))
    types, ends = ", ".join([TILE] * n), ", ".join(f"%y{i}" for i in range(n))
    adds = "\n".join(f"%y{i} = addf %q{i}, %f : {TILE}" for i in range(n))
    head = f"for %i in (%zero to %n, step %one) : tile<i32> iter_values({pairs}) -> ({types}) {{"
    return entry([head, adds, f"continue {ends} : {types}\n}}"])


def entries(n: int) -> str:
    return "".join(entry([store("%f")]).replace("@k", f"@k{i}") for i in range(n))


def globals_(n: int) -> str:
    made = "".join(f"global @g{i} <f32: [1.0, 2.0]> : tile<2xf32>\n" for i in range(n))
    return made + entry(f"%g{i} = get_global @g{i} : tile<ptr<f32>>" for i in range(n))


def nested(n: int) -> str:
    heads = (f"for %i{i} in (%zero to %n, step %one) : tile<i32> {{" for i in range(n))
    return entry([*heads, store("%f"), *["}"] * n])


# The program, how many of its parts it has in the smaller run, and how much more work twice as many may be. To look for
# what is around an operation takes as long as it is deep: 64 levels at most.
SHAPES = {
    "straight": (straight, 40, 2.2),
    "copies": (copies, 16, 2.2),
    "free_copies": (free_copies, 16, 2.2),
    "loops": (loops, 12, 2.2),
    "branches": (branches, 12, 2.2),
    "reductions": (reductions, 16, 2.2),
    "carried": (carried, 16, 2.2),
    "entries": (entries, 4, 2.2),
    "globals": (globals_, 60, 2.2),
    "nested": (nested, 16, 6),
}
JOB = Job(find_target("90"))


def work(text: str) -> dict[str, int]:
    """Calls of each step from text to LLVM IR."""
    counts = {}

    def step(name: str, action):
        result, counts[name] = calls_of(action)
        return result

    module = step("asm", lambda: parse_text(text))
    data = step("write", lambda: write_module(module))
    step("dis", lambda: disassemble(data))
    run = driver._Compilation(data, STAGES[0], JOB, "k.tilebc")
    step("read", run.parse)
    for stage in between("tilebc", "ll"):
        step(stage.name, lambda stage=stage: run.step(stage))
        step(f"write {stage.name}", lambda stage=stage: driver.render(stage, run.value))
    return counts


@pytest.mark.parametrize("shape, parts, most", SHAPES.values(), ids=SHAPES)
def test_work_is_in_proportion_to_the_program(shape, parts, most):
    work(shape(2))  # what is made once for all programs
    small, large = work(shape(parts)), work(shape(2 * parts))
    ratios = {step: round(large[step] / small[step], 2) for step in small}
    assert all(ratio <= most for ratio in ratios.values()), ratios


@pytest.mark.parametrize("kind", ["for", "if", "loop"])
def test_the_deepest_nesting_of_bytecode_compiles(kind):
    """Within Python's stack."""
    head = {"for": "for %i{} in (%zero to %n, step %one) : tile<i32> {{", "if": "if %yes {{", "loop": "loop {{"}[kind]
    tail = "break\n}" if kind == "loop" else "}"
    text = entry([*(head.format(i) for i in range(64)), store("%f"), *[tail] * 64])
    data, source = write_module(parse_text(text)), "tilebc"
    for stage in between("tilebc", "ll"):
        data, source = driver.lower(data, source, stage.name, JOB)[stage.suffix], stage.name
    assert b"ptx_kernel" in data
