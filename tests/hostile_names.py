"""Names that have broken a compiler before, and a kernel that meets everything a name could collide with."""

from xdsl.dialects.builtin import StringAttr

from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.ir.dialects.cuda_tile.location import (
    LOC,
    CallSiteLocAttr,
    DICompileUnitAttr,
    DIFileAttr,
    DILocAttr,
    DISubprogramAttr,
)

# Every artifact carries these as they are.
WORKING = {
    "a letter": "k",
    "underscore first": "_x",
    "dollar first": "$0",
    "dollar inside": "a$b",
    "opcode": "add",
    "opcode of control": "ret",
    "directive's word": "entry",
    "type": "u32",
    "register's word": "tid",
    "C keyword": "if",
    "C macro": "NULL",
    "main": "main",
    "LLVM keyword": "define",
    "LLVM type": "ptr",
    "LLVM library function": "memcpy",
    "libm function": "sinf",
    "C function": "printf",
    "C++ mangled": "_ZN3fooILi3EEvPT_",
    "Windows device": "CON",
    "our strings": "str0",
    "our tables": "table0",
    "our shared memory": "global_smem",
    "our parameters": "k_param_0",
    "300 characters": "x" * 300,
    "5,000 characters": "y" * 5000,
}  # fmt: skip
# No artifact can, or a tool means something else by them.
REFUSED = {
    "empty": "",
    "space": "a b",
    "quote": 'a"b',
    "apostrophe": "a'b",
    "backslash": "a\\22b",
    "newline": "a\nb",
    "carriage return": "a\rb",
    "NUL": "a\0b",
    "escape sequence": "\x1b[31m",
    "path upwards": "../x",
    "absolute path": "/etc/passwd",
    "accents": "größe",
    "other script": "日本",
    "emoji": "\U0001f600",
    "no-break space": "a\u00a0b",
    "digit first": "1a",
    "minus": "a-b",
    "dot": "a.b",
    "intrinsic": "llvm.trap",
    "directive": ".entry",
    "register": "%tid",
    "register-like": "%x",
    "lone underscore": "_",
    "lone dollar": "$",
    "lone percent": "%",
    "braces": "{}",
    "assembly operand": "${:uid}",
    "comment": "a/*b*/",
    "line comment": "a//b",
    "statement": "k;ret",
    "LLVM text": "x() { ret void }\ndefine cc71 void @evil",
    "PTX text": "x() { ret; } .visible .entry evil",
    "HTML": "<script>",
    "PTX constant": "WARP_SZ",
    "driver's print": "vprintf",
    "driver's assert": "__assertfail",
    "driver's heap": "malloc",
    "libdevice": "__nv_sinf",
    "libdevice's table": "__cudart_i2opi_f",
    "ptxas' function": "__cuda_sm20_div_s64",
    "LLVM's label": "$L__BB0_1",
    "LLVM's stack": "__local_depot0",
    "LLVM's argument": "param0",
}  # fmt: skip

_KERNEL = r"""
entry @NUMBER(%p: tile<ptr<f32>>, %q: tile<ptr<i64>>, %n: tile<i64>) {
  %i = iota : tile<8xi32>
  %one = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %all = broadcast %one : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %place = offset %all, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %x, %t = load_ptr_tko weak %place : tile<8xptr<f32>> -> tile<8xf32>, token
  %table = constant <f32: [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]> : tile<8xf32>
  %sine = sin %x : tile<8xf32>
  %scaled = mulf %sine, %table : tile<8xf32>
  %total = reduce %scaled dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
  (%l: tile<f32>, %r: tile<f32>) {
    %a = addf %l, %r : tile<f32>
    yield %a : tile<f32>
  }
  %v, %t2 = load_ptr_tko weak %q : tile<ptr<i64>> -> tile<i64>, token
  %d = divi %v, %n signed : tile<i64>
  %t3 = store_ptr_tko weak %q, %d token=%t2 : tile<ptr<i64>>, tile<i64> -> token
  %printed = print_tko "TEXT%f", %total : tile<f32> -> token
  %zero = constant <i64: 0> : tile<i64>
  %ok = cmpi not_equal %n, %zero, signed : tile<i64> -> tile<i1>
  assert %ok, "TEXT" : tile<i1>
  return
}
"""


def bytecode(*names: str, text: str = "") -> bytes:
    """A kernel of each name: a libdevice function, a table, strings, a stack, labels, a division that ptxas calls.

    ``text`` stands in their print and assertion.
    """
    module = parse_text("".join(_KERNEL.replace("NUMBER", f"k{i}") for i in range(len(names))))
    waiting = iter(names)
    for op in module.walk():
        if op.name == "cuda_tile.entry":
            op.properties["sym_name"] = StringAttr(next(waiting))
        for key in ("str", "message"):
            if key in op.properties:
                op.properties[key] = StringAttr(op.properties[key].data.replace("TEXT", text))
    return write_module(module)


def placed(name: str, text: str) -> bytes:
    """A kernel whose source files and functions are all called ``text``, with calls inlined; its symbol stays ``name``."""
    module = parse_text(_KERNEL.replace("NUMBER", name))
    file = DIFileAttr(text, text)
    unit = DICompileUnitAttr(file)
    outer = DILocAttr(text, 4, 5, DISubprogramAttr(file, 3, text, name, unit, 3))
    inner = CallSiteLocAttr(DILocAttr(text, 9, 9, DISubprogramAttr(file, 7, f"{text}2", f"{text}2", unit, 7)), outer)
    for number, op in enumerate(module.walk()):
        if op.name.startswith("cuda_tile.") and op.name != "cuda_tile.module":
            op.attributes[LOC] = outer if number % 3 else inner
    return write_module(module)
