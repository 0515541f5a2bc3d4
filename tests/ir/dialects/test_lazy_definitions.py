"""In a process that defers, operations and attributes are what they always are, and those nobody uses stay undefined."""

import subprocess
import sys

_TEXT = "builtin.module {\\n  %0 = arith.constant 1 : i32\\n  %1 = arith.addi %0, %0 : i32\\n}"
_USED = f"""
from tileiras_build.workers.lazy_class_creation import enable
enable()
from xdsl.context import Context
from xdsl.dialects import arith, builtin
from xdsl.parser import Parser
from tileiras_build.ir.dialects import lazy_definitions

before = {{kind.name for kind in lazy_definitions._pending}}
context = Context()
context.load_dialect(builtin.Builtin)
context.load_dialect(arith.Arith)
module = Parser(context, "{_TEXT}").parse_module()
module.verify()
assert str(module) == "{_TEXT}", str(module)
print(sorted(before - {{kind.name for kind in lazy_definitions._pending}}))
"""

_FORMATS = """
from tileiras_build.workers.lazy_class_creation import enable
enable()
from xdsl.context import Context
from xdsl.dialects import arith, builtin
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.parser import Parser

class Twice(arith.AddiOp):
    name = "arith.addi"

    def print(self, printer):
        printer.print_string("twice")
        super().print(printer)

parsed, usual = [], FormatProgram.from_str
FormatProgram.from_str = lambda text, definition: parsed.append(definition.name) or usual(text, definition)
one = arith.ConstantOp.from_int_and_width(1, 32)
done = Twice(one, one)
done.verify()
assert not parsed
str(done), str(done)
print(parsed, str(done).count("twice"))
"""

# Every class of some dialects: what it is called, what its definition says, and what it has.
_ALL = """
if DEFER:
    from tileiras_build.workers.lazy_class_creation import enable
    enable()
from xdsl.dialects import arith, builtin, cf, gpu, llvm, memref, scf, vector
from tileiras_build.ir.dialects import cuda_tile, nvvm
from tileiras_build.ir.dialects.nvgpu.dialect import NVGPU

def described(part):
    return [(name, type(row).__name__) for name, row in part]

for dialect in (
    arith.Arith, builtin.Builtin, cf.Cf, gpu.GPU, llvm.LLVM, memref.MemRef, scf.Scf, vector.Vector,
    cuda_tile.CudaTile, NVGPU, nvvm.NVVM,
):
    for kind in dialect.operations:
        if not hasattr(kind, "get_irdl_definition"):
            continue
        print(kind.name, kind.traits.__class__.__name__, kind.verify_.__qualname__, kind.print.__qualname__)
        row = kind.get_irdl_definition()
        print(described(row.operands), described(row.results), described(row.regions), described(row.successors), row.accessor_names)
        print(row.assembly_format, sorted(row.properties), sorted(row.attributes), row.options)
        print({name: type(value).__name__ for name, value in sorted(vars(kind).items())})
        print(sorted(type(trait).__name__ for trait in kind.traits))
    for kind in dialect.attributes:
        print(kind.name, sorted(vars(kind)))
        if definition := getattr(kind, "get_irdl_definition", lambda: None)():
            print([(name, repr(row.constr)) for name, row in definition.parameters])
"""


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_operations_are_defined_when_they_are_used():
    assert _run(_USED) == "['arith.addi', 'arith.constant', 'builtin.module']\n"


def test_definitions_are_the_same():
    plain, deferred = _run(f"DEFER = False\n{_ALL}"), _run(f"DEFER = True\n{_ALL}")
    assert len(plain) > 100_000
    assert deferred.splitlines() == plain.splitlines()


def test_formats_are_parsed_once_and_when_they_are_used():
    assert _run(_FORMATS) == "['arith.addi'] 1\n"
