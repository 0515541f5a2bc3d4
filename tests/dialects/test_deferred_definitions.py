"""In a process that defers, operations have the text that they always have, and formats nobody uses are not read."""

import subprocess
import sys

_TEXT = "builtin.module {\\n  %0 = arith.constant 1 : i32\\n  %1 = arith.addi %0, %0 : i32\\n}"
_CODE = f"""
from tileiras_build.deferral import defer
defer()
import tileiras_build.dialects
from xdsl.context import Context
from xdsl.dialects import arith, builtin
from xdsl.irdl.declarative_assembly_format_parser import FormatParser
from xdsl.parser import Parser

read, parse_format = [], FormatParser.parse_format
FormatParser.parse_format = lambda parser: read.append(parser.op_def.name) or parse_format(parser)
context = Context()
context.load_dialect(builtin.Builtin)
context.load_dialect(arith.Arith)
module = Parser(context, "{_TEXT}").parse_module()
module.verify()
assert str(module) == "{_TEXT}", str(module)
print(sorted(read))
"""


def test_formats_are_read_when_they_are_used():
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['arith.addi', 'arith.constant']\n", "")
