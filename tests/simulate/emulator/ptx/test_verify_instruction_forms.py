"""Invalid and unsupported PTX is rejected when a kernel is loaded; the message has the line."""

import numpy as np
import pytest

from tileiras_build.core.errors import InternalError
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator import (
    EmulatorError,
    EmulatorFault,
    PtxSyntaxError,
    UnsupportedInstruction,
    errors,
)
from tileiras_build.simulate.emulator.isa import HANDLERS
from tileiras_build.simulate.emulator.ptx.instruction_forms import FORMS, OPERANDS
from tileiras_build.simulate.emulator.ptx.program import load
from tools.emulator_page import sample_text

FIRST = 6  # the line of a sample's first instruction


def refusal(body: str, **options) -> EmulatorError:
    text = sample_text(body, "sm_100a")
    with pytest.raises(EmulatorError) as caught:
        load(text, "k")
        emulator.run_ptx(text, "k", 1, 32, **options)
    return caught.value


def test_every_instruction_has_forms():
    listed = [opcode for opcodes in FORMS for opcode in opcodes.split()]
    assert sorted(listed) == sorted(op for op in HANDLERS if not op.startswith("_"))


def test_forms_use_known_letters():
    for forms in FORMS.values():
        for form in forms:
            assert {letter[0] for letter in form.rpartition(":")[2].split()} <= set(OPERANDS), form


# Name -> an instruction and a part of the message.
OPERAND = {
    "an unknown modifier": ("shl.b32inf r0, r1, 2;", "unsupported form .b32inf of shl"),
    "a letter beyond ASCII": ("selp.b32é r0, r1, r2, p0;", "unsupported form .b32é of selp"),
    "no type": ("add r0, r1, r2;", "the type of add is missing"),
    "an unknown instruction": ("frob.b32 r0, r1;", "unsupported instruction 'frob'"),
    "an operand too few": ("and.b32 r0, r1;", "the operands of and are a register"),
    "an operand too many": ("not.b32 r0, r1, r2;", "the operands of not are a register"),
    "a literal as the destination": ("add.u32 5, r1, r2;", "the operands of add"),
    "an undeclared register": ("mov.u32 %r87, r1;", "the operands of mov"),
    "an address without brackets": ("ld.global.b32 r0, d0;", "an address in brackets"),
    "a special register for an address": ("ld.global.b32 r0, % ;", "an address in brackets"),
    "a register for a predicate": ("selp.b32 r0, r1, r2, r3;", "a predicate"),
    "a predicate for a register": ("add.u32 p0, r1, r2;", "the operands of add"),
    "a vector of another length": ("ld.global.v4.b32 {r0, r1}, [d0];", "four registers in braces"),
    "an unexpected vector": ("add.u32 r0, {r1, r2}, r3;", "the operands of add"),
    "a label for a tensor map": (
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [r0], [nowhere, {r1, r2}], [r3];",
        "unknown name",
    ),
    "registers and matrices of different counts": (
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {r0}, [r1];", "expected 2 registers",
    ),
    "a copy of 5 bytes": ("cp.async.ca.shared.global [r0], [d0], 5;", "invalid size 5: expected 4 or 8 or 16 bytes"),
    "an invalid condition": ("setp.lo.f16x2 p0, r1, r2;", "unsupported form"),
    "an operation of another type": ("atom.global.and.f32 f0, [d0], f1;", "unsupported form"),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERAND)
def test_invalid_forms(name):
    body, said = OPERAND[name]
    error = refusal(body)
    assert isinstance(error, UnsupportedInstruction) and error.id == "emulator-instruction"
    assert str(error).startswith(f"line {FIRST}: ") and said in str(error) and body.strip(";").strip() in str(error)


TEXT = {
    "a missing operand": ("add.u32 r0, , r2;", "an operand is missing"),
    "a number of letters": ("st.global.b32 [d0+r87], r1;", "cannot read the number 'r87'"),
    "a number that is too long": ("mov.u64 d0, 18446744073709551616;", "does not fit 64 bits"),
    "a number of thousands of digits": (f"mov.u64 d0, {'1' * 5000};", "cannot read the number"),
    "a float of other than 8 digits": ("mov.f32 f0, 0f3BBB989Df3B;", "needs 8 digits"),
    "a float of a letter": ("mov.f32 f0, 0fZZ;", "cannot read the number '0fZZ'"),
    "brackets in brackets": ("add.u32 r0, " + "[" * 400 + "r1;", "no ] after"),
    "braces in braces": ("mov.b64 d0, {{r1, r2}, r3};", "cannot read the operand '{r1, r2}'"),
    "two bars": ("lop3.or.b32 r0|p0|p1, r1, r2, r3, 1, p2;", "cannot read the operand 'p0|p1'"),
    "no semicolon": ("add.u32 r0, r1, r2", "cannot read the operand 'r2\\nret'"),
    "nothing behind a dot": (". 9;", "cannot read '. 9;"),
    "a section without end": (".section .debug { ", "no end"),
    "an alignment of 0": (".shared .align 0 .b8 t[4];", "aligned to 0, which is not a power of two"),
    "more shared memory than there is": (
        ".shared .b8 t[1000000];",
        "1000000 exceeds the maximum of 233472",
    ),
    "more memory than there is": (".local .b8 t[99999999999];", "99999999999 exceeds the maximum of"),
    "an invalid initializer": (".global .b32 t = {=};", "cannot read the initializer"),
    "an unknown list of labels": ("brx.idx r0, nowhere;", "unknown list of labels"),
    "a function in a function": (".func f();\n}", "a function inside of k"),
    "a register of no type": (".reg;", "unknown register type"),
}


@pytest.mark.parametrize("name", TEXT)
def test_syntax_errors(name):
    body, said = TEXT[name]
    error = refusal(body)
    assert isinstance(error, PtxSyntaxError) and error.id == "ptx-syntax"
    assert str(error).startswith("line ") and said in str(error)


def test_label_outside_functions_and_unterminated_function():
    for text, said in (("L: ret;", "line 1: the label L is outside"), (".entry k() {\nret;\n", "a } is missing")):
        with pytest.raises(PtxSyntaxError, match=said):
            load(text, "k")


def test_total_size_of_variables():
    error = refusal("\n".join(f".shared .b8 t{i}[100000];" for i in range(4)))
    assert "its variables take" in str(error) and ".shared" in str(error)


def test_nonexistent_barrier():
    error = refusal("mov.u32 r1, 16; bar.sync r1;")
    assert isinstance(error, EmulatorFault) and error.line == FIRST
    assert "barrier 16 does not exist: a CTA has barriers 0 to 15" in str(error)


def test_end_of_a_function_is_a_return():
    """After a conditional return, and as a branch target."""
    for body in ("@p0 ret;", "bra END; ret; END:"):
        text = sample_text(body).replace("\nret;\n", "\n")
        emulator.run_ptx(text, "k", 1, 32)


def test_invalid_scale_factor_selector():
    mma = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 "
    mma += "{f0, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5}, {f0, f1, f2, f3}, r6, {0, 0}, r7, {0, -1};"
    assert "invalid scale factor selector 65535: expected 0, 1, 2, 3" in str(refusal(mma))


def test_internal_error_of_an_instruction(monkeypatch):
    """The message names the instruction; the exception is the cause."""

    def break_down(emitter, ins):
        raise KeyError("x")

    monkeypatch.setitem(HANDLERS, "popc", break_down)
    error = refusal("popc.b32 r0, r1;")
    assert type(error) is errors.EmulatorFailure and isinstance(error.__cause__, KeyError)
    assert str(error) == f"internal error in the emulator at line {FIRST}: popc.b32 r0, r1: KeyError: 'x'"


def test_internal_error_of_a_running_kernel(monkeypatch):
    def break_down(*arguments):
        raise IndexError("x")

    from tileiras_build.simulate.emulator.simt.cta_barriers import CtaBarriers

    monkeypatch.setattr(CtaBarriers, "arrive", break_down)
    error = refusal("bar.sync 0;")
    assert type(error) is errors.EmulatorFailure and f"at line {FIRST}: bar.sync 0: IndexError: x" in str(error)


def test_internal_error_exit_code():
    from tileiras_build.cutile.kernel_fault_report import explain

    assert isinstance(explain(errors.EmulatorFailure("x"), type("Of", (), {"entry": "k"})(), ()), InternalError)


def test_float_literals():
    memory, out = emulator.Memory(), np.zeros(3, np.float32)
    address = memory.map_array(out)
    body = "mov.u64 d0, {}; st.global.f32 [d0], 0f3FC00000; st.global.f32 [d0+4], 0D3FF8000000000000; st.global.f32 [d0 + 8], 1.5e0;"
    emulator.run_ptx(sample_text(body.format(address)), "k", 1, 1, memory=memory)
    assert out.tolist() == [1.5] * 3


LAUNCHES = {
    "too many threads": ((2048, 1, 1), [], "kernel k has 2048 threads per CTA: expected 1 to 1024"),
    "no threads": ((0, 1, 1), [], "has 0 threads per CTA"),
    "no block": (None, [], "kernel k has no .reqntid: pass the block"),
    "a parameter too many": (32, [bytes(8)], "kernel k has 0 parameters, got 1"),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_invalid_launches(name):
    """They raise InvalidLaunch, which is also a ValueError."""
    block, params, said = LAUNCHES[name]
    with pytest.raises(EmulatorError, match=said) as caught:
        emulator.run_ptx(sample_text(""), "k", 1, block, params)
    assert isinstance(caught.value, ValueError) and caught.value.id == "emulator-launch"


CALLS = """.version 9.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.extern .func (.param .b64 r) malloc (.param .b64 s);
.global .align 1 .b8 words[40] = {{{words}}};
.func twice (.param .b32 x) {{ ret; }}
.visible .entry k() {{
  .reg .b64 d<4>; .local .align 8 .b8 scratch[16];
  .param .b64 a; .param .b64 b; .param .b32 c; .param .b32 e;
  mov.u64 d0, words; cvta.global.u64 d1, d0; mov.u64 d2, scratch; cvta.local.u64 d3, d2;
  st.param.b64 [a], d1; st.param.b64 [b], d3; st.local.u64 [scratch], 7;
  {call}
  ret;
}}
"""
WRONG_CALLS = {
    "of a variable": ("call a, (b);", "the target of the call is not a function"),
    "of other arguments": ("call twice, (c, e);", "twice has 1 parameters and 0 results"),
    "of arguments of another size": ("call (c), vprintf, (a, e);", "vprintf has results and parameters of"),
    "without what is made": ("call malloc, (a);", "malloc has results and parameters of"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_call_of_another_form_is_refused(name):
    call, said = WRONG_CALLS[name]
    with pytest.raises(UnsupportedInstruction, match=said):
        emulator.run_ptx(CALLS.format(words="0", call=call), "k", 1, 1)


def test_a_number_is_not_printed_wider_than_anybody_reads(capsys):
    words = ", ".join(map(str, b"%999999999999d%.99999999d\0"))
    emulator.run_ptx(CALLS.format(words=words, call="call (c), vprintf, (a, b);"), "k", 1, 1)
    assert len(capsys.readouterr().out) == 2 * 4096
