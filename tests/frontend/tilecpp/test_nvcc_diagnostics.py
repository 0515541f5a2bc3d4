"""Messages of nvcc 13.5 and g++ 12, verbatim, and the diagnostics that they become."""

from tileiras_build.core.errors import ErrorGroup
from tileiras_build.frontend.tilecpp.nvcc_diagnostics import SHOWN, nvcc_failure, read_messages, warnings_of

FRONT_END = '''\
bad.cu(11): error: no instance of overloaded function "cuda::tiles::element_cast" matches the argument list
            argument types are: (<error-type>)
      ct::store(y + offsets, ct::element_cast<T>(v));
                             ^
/opt/cuda/bin/../include/crt/cuda_tile.h(3163): note #3473-D: substituting "<float, <error-type>>" failed constraints
      __attribute__((tile_builtin)) element_cast(Source src) noexcept;
                                    ^
          detected during instantiation of "void scale<T,TILE>(const T *, T *, int) [with T=float, TILE=256]" at line 13

1 error detected in the compilation of "bad.cu".
'''
WARNING = """\
inst.cu(2): warning #177-D: variable "unused" was declared but never referenced
  static auto unused = 1;
              ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"
"""
PREPROCESSOR = """\
In file included from k.cu:1:
/home/me/project/inc/a.cuh:3:10: fatal error: inc/no.cuh: No such file or directory
    3 | #include "inc/no.cuh"
      |          ^~~~~~~~~~~~
compilation terminated.
"""


def test_an_error_has_its_location_its_message_and_the_instantiation():
    (message,) = read_messages(FRONT_END, "/home/me/project")
    assert (message.kind, str(message.location)) == ("error", "bad.cu:11:28")
    assert str(message) == (
        'no instance of overloaded function "cuda::tiles::element_cast" matches the argument list argument types are: '
        '(<error-type>) (detected during instantiation of "void scale<T,TILE>(const T *, T *, int) [with T=float, '
        'TILE=256]" at line 13)'
    )


def test_a_warning_is_one_line():
    message = 'inst.cu:2:13: warning[nvcc]: variable "unused" was declared but never referenced'
    assert warnings_of(WARNING + WARNING, "/") == (message,)


def test_files_of_the_project_are_named_from_its_top():
    (message,) = read_messages(PREPROCESSOR, "/home/me/project")
    assert str(message.location) == "inc/a.cuh:3:10"


def test_the_first_errors_are_shown_and_the_others_counted():
    message = "".join(f"k.cu({line}): error: wrong\n\n" for line in range(1, SHOWN + 4))
    group = nvcc_failure(message, 2, "k.cu", "/")
    assert isinstance(group, ErrorGroup) and len(group.errors) == SHOWN + 1
    assert str(group).splitlines()[-1] == "k.cu: error[nvcc]: nvcc finds 3 more errors; correct the first ones"


def test_the_same_error_of_two_instantiations_is_reported_once():
    assert not isinstance(nvcc_failure(FRONT_END + FRONT_END, 2, "k.cu", "/"), ErrorGroup)


def test_a_program_that_dies_is_quoted():
    error = nvcc_failure("Segmentation fault (core dumped)\n", 255, "k.cu", "/")
    assert str(error).startswith("k.cu: error[nvcc]: nvcc ended with status 255; its last words are: Segmentation")
