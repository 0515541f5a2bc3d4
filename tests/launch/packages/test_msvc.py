"""The launcher's branches for Microsoft's compiler, compiled with clang."""

from pathlib import Path

import pytest

from tests.launch.packages.sample_library import NAME
from tests.launch.runtime.fake_libcuda import compiler, cuda_include, run

HERE = Path(__file__).parent / "msvc"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def microsoft(standard: str, package: Path) -> list:
    """clang as Visual C++ 2022, with the headers in ``msvc`` for Microsoft's."""
    target = [
        "--target=x86_64-pc-windows-msvc",
        "-fms-extensions",
        "-fms-compatibility-version=19.40",
        "-ffreestanding",
    ]
    folders = ["-isystem", HERE, "-isystem", cuda_include(), f"-I{package}/include"]
    return [compiler("clang"), *target, standard, *WARNINGS, *folders]


@pytest.mark.parametrize("language", ["-xc -std=c11", "-xc++ -std=c++17"])
def test_the_launcher_compiles(package, language):
    kind, standard = language.split()
    run([*microsoft(standard, package), "-fsyntax-only", kind, package / f"src/{NAME}.c"])
    run([*microsoft(standard, package), "-fsyntax-only", kind, package / f"src/{NAME}_image.c"])


def test_it_is_the_branches_for_this_compiler(package):
    text = run([*microsoft("-std=c11", package), "-E", "-xc", package / f"src/{NAME}.c"]).stdout
    own = text.rpartition('intrin.h"')[2]
    assert all(
        word in own for word in ("_InterlockedOr64((", "_InterlockedExchange((", "__declspec(thread) char sentence")
    )
    assert "__atomic" not in own and "__thread" not in own
