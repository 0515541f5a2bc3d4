"""What people call kernels whose symbols C++ has mangled; the symbols are those that nvcc and g++ write."""

import shutil
import subprocess

import pytest

from tests.frontend.tilecpp.toolkit import KERNELS
from tileiras_build.core.symbols.itanium_demangler import demangle
from tileiras_build.core.terminal import table_text
from tileiras_build.ir.bytecode.reader import read_module
from tileiras_build.reports.resource_usage import HEADER, ResourceRow

NAMES = {
    "vector_add_f32": "vector_add_f32",
    "_Z6negatePf": "negate",
    "_ZL6negatePf": "negate",
    "_Z5scaleIfLi256EEvPKT_PS0_i": "scale<float, 256>",
    "_Z5scaleI6__halfLi512EEvPKT_PS1_i": "scale<__half, 512>",
    "_ZN2my5inner1kI6__halfJLi1ELi2EEEEvPT_": "my::inner::k<__half, 1, 2>",
    "_Z1kI13__nv_bfloat16S0_S0_Lb1EEvPKT_": "k<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16, true>",
    "_Z1kIN2my3BoxIfLi3EEES2_Evv": "k<my::Box<float, 3>, my::Box<float, 3>>",
    "_Z1kISt4pairIifEEvT_": "k<std::pair<int, float>>",
    "_Z1kIPKfRiEvv": "k<float const*, int&>",
    "_Z1kILin5ELb0ELj7ELm8ELc97EEvv": "k<-5, false, 7u, 8ul, (char)97>",
    "_Z1kILN2my4EnumE2EEvv": "k<(my::Enum)2>",
    "_Z1kILf3727c5acELf00000000ELd3ff8000000000000EEvv": "k<9.99999975e-06f, 0.0f, 1.5>",
    "_ZN12_GLOBAL__N_11kEPf": "(anonymous namespace)::k",
    "_Z1kIXadL_Z1fEEEvv": "k<&f>",
    "_Z1kIFivEEvv": "k<int ()>",
    "_Z1kPFvvE": "k",
}


@pytest.mark.parametrize("symbol", NAMES)
def test_names_are_the_function_with_its_template_arguments(symbol):
    assert demangle(symbol) == NAMES[symbol]


@pytest.mark.parametrize("symbol", ["_Z", "_Z5", "_Z5scaleI", "_Z1kIS5_Evv"])
def test_what_is_no_such_name_stays(symbol):
    assert demangle(symbol) == symbol


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="c++filt of binutils is not installed")
@pytest.mark.parametrize("symbol", [name for name in NAMES if "Lf" not in name and "_GLOBAL_" not in name])
def test_binutils_says_the_same(symbol):
    said = subprocess.run(["c++filt", symbol], capture_output=True, text=True, check=True).stdout.strip()
    assert said.removeprefix("void ").replace("> >", ">>").startswith(demangle(symbol))


def test_the_table_of_resources_has_names_for_people():
    symbol = str(next(op.sym_name.data for op in read_module(KERNELS.read_bytes()).walk() if op.name.endswith("entry")))
    table = table_text(HEADER, [ResourceRow(symbol, "sm_90a", 1, 2, 3, 4, 5).cells])
    assert table.splitlines()[-1].startswith("scale<float, 256>  sm_90a")
