"""Exporting cuTile Python files: names read without importing, reproducible bytes, one-sentence errors."""

import os
import subprocess
import sys
import textwrap
from types import ModuleType

import numpy as np
import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.frontend.cases_table_from_ast import find_imports, is_helper, read_rows
from tileiras_build.frontend.export_cutile import (
    Array,
    Case,
    Scalar,
    export_file,
    export_kernels,
    list_cases,
    load_cases,
    pack_arguments,
)
from tileiras_build.workers.executor.call_result import is_out_of_memory

KERNEL = """
    import cuda.tile as ct
    import numpy as np
    from helper import double
    from tileiras_build.frontend.export_cutile import Array, Case

    @ct.kernel
    def twice(x, out, TILE: ct.Constant[int]):
        tile = ct.load(x, (ct.bid(0),), (TILE,))
        ct.store(out, (ct.bid(0),), double(tile).astype(out.dtype))

    CASES = [
        Case("twice_f32", twice, (Array("float32", 1), Array("float32", 1), 128)),
        Case("twice_f16", twice, (Array("float16", 1), Array("float32", 1), 64)),
    ]
"""
HELPER = """
    def double(tile):
        return tile + tile
"""


@pytest.fixture(autouse=True)
def hostile_modules():
    """Take what is no module out of ``sys.modules`` again: kernel files of these tests put it there."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if type(sys.modules[name]) is not ModuleType:
            del sys.modules[name]


@pytest.fixture
def write(tmp_path):
    """Write a dedented source into the test's folder; its path."""

    def write(name, source):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source).lstrip("\n"))
        return path

    return write


@pytest.fixture
def kernel_file(write):
    write("helper.py", HELPER)
    return write("k.py", KERNEL)


# ---- the table -----------------------------------------------------------------------------------------------------
def test_names_come_from_the_syntax_tree_alone(write):
    path = write("k.py", 'import missing_module\nCASES = (Case("a", f), row("b_2"))\n')
    assert list_cases(path) == ["a", "b_2"]


@pytest.mark.parametrize(
    ("source", "says", "line"),
    [
        ("x = 1\n", "no CASES table", 0),
        ("x = 1\nCASES = 5\n", "CASES is a int, not a list of cases", 2),
        ("CASES = {}\n", "CASES is a dict, not a list of cases", 1),
        ("CASES = [row for row in (1, 2)]\n", "row '0' is a int, not a Case", 1),
        ("def f():\n    global CASES\n    CASES = []\n", "CASES is a NoneType, not a list", 3),
        ('CASES = [\n    row("a b"),\n]\n', "'a b' is not an identifier", 2),
        ('CASES = [row("a"),\n         row("a")]\n', "'a' appears twice", 2),
    ],
)
def test_a_table_that_cannot_be_read_is_explained(write, source, says, line):
    path = write("k.py", source)
    with pytest.raises(InvalidInput, match=says) as caught:
        list_cases(path)
    assert caught.value.id == "export-cases"
    assert (caught.value.location.file, caught.value.location.line) == (str(path), line)


BUILT = {
    "a comprehension": 'CASES = [Case(f"k_{size}", None, ()) for size in (1, 2)]',
    "append": 'CASES = []\nfor size in (1, 2):\n    CASES.append(Case(f"k_{size}", None, ()))',
    "a function": 'def make(sizes):\n    return [Case(f"k_{size}", None, ()) for size in sizes]\nCASES = make((1, 2))',
    "a generator": 'CASES = (Case(f"k_{size}", None, ()) for size in (1, 2))',
    "rows and more": 'CASES = [Case("k_1", None, ())]\nCASES += [Case("k_2", None, ())]',
    "a name with a type": 'CASES: list = [Case("k_1", None, ())] + [Case("k_2", None, ())]',
    "the file's own name": 'import os\nNAME = os.path.basename(__file__)[:1]\nCASES = [Case(f"{NAME}_{n}", None, ()) for n in (1, 2)]',
    "another module": "from helper import CASES",
    "a relative import": "from .helper import CASES",
    "a module by a relative import": "from . import helper\nCASES = helper.CASES",
}


@pytest.mark.parametrize("how", BUILT)
def test_a_table_is_built_by_code(write, how):
    head = "from tileiras_build.frontend.export_cutile import Case\n"
    write("helper.py", f'{head}CASES = [Case("k_1", None, ()), Case("k_2", None, ())]\n')
    path = write("k.py", f"{head}{BUILT[how]}\n")
    assert list_cases(path) == ["k_1", "k_2"]
    assert read_rows(path) is None
    assert not {"helper", "k"} & sys.modules.keys()


def test_a_file_in_a_package_imports_from_packages_above(write):
    head = "from tileiras_build.frontend.export_cutile import Case\n"
    for folder in ("lib", "lib/kernels"):
        write(f"{folder}/__init__.py", "")
    write("lib/sizes.py", "SIZES = (1, 2)\n")
    write("lib/kernels/names.py", "from ..sizes import SIZES\nNAMES = [f'k_{size}' for size in SIZES]\n")
    text = "from ..sizes import SIZES\nfrom .names import NAMES\nCASES = [Case(name, SIZES, ()) for name in NAMES]\n"
    path = write("lib/kernels/k.py", head + text)
    assert [case.kernel for case in load_cases(path)] == [(1, 2), (1, 2)]
    assert not [name for name in sys.modules if name.partition(".")[0] == "lib"]


def test_a_relative_import_that_leads_out_of_the_package_is_explained(write):
    path = write("k.py", "from ..far import x\nCASES = []\n")
    with pytest.raises(InvalidInput, match=r"k.py:1:1: error\[export\]: ImportError: attempted relative import beyond"):
        load_cases(path)


def test_a_file_that_ends_the_process_is_refused(tmp_path):
    path = tmp_path / "k.py"
    path.write_text("import sys\nsys.exit(3)\nCASES = []\n")
    with pytest.raises(InvalidInput, match=r"k.py:2:1: error\[export\]: SystemExit: 3"):
        load_cases(path)


RAISED = {
    "half a character": ('raise Exception("\\ud800")', r"Exception: \ud800"),
    "nothing that can be read": (
        "class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E", "E: (no message)",
    ),
    "no text": ("class E(Exception):\n    message = 5\nraise E(1)", "E: 1"),
    "what is no Exception": ("class E(BaseException): pass\nraise E('x')", "E: x"),
    "what breaks where it is looked at": (
        "class E(Exception):\n    @property\n    def loc(self): raise ValueError\nraise E('x')", "E: x",
    ),
}  # fmt: skip


_BREAKS = {
    "its attributes": "def __getattribute__(self, name): raise RuntimeError",
    "its attributes, and ends the program": "def __getattribute__(self, name): raise SystemExit(0)",
    "its class": "@property\n    def __class__(self): raise RuntimeError",
    "its text, and ends the program": "def __str__(self): raise SystemExit(0)\n    __repr__ = __str__",
    "its text, by itself": "def __str__(self): raise self\n    __repr__ = __str__",
    "its text, for ever": "def __str__(self): return str(self)",
    "its text that is no text": "def __str__(self): return 5",
    "whether it is another": "def __eq__(self, other): raise RuntimeError\n    __hash__ = None",
    "its trace": "__traceback__ = __cause__ = __context__ = property(lambda self: 1 / 0)",
    "how it is sent": "def __reduce_ex__(self, version): raise RuntimeError",
    "whether it is": "def __bool__(self): raise RuntimeError",
}
_BREAKS_BY_CLASS = "class M(type):\n    def __getattribute__(cls, name): raise RuntimeError\n"


def _hostile(text: str, base: str = "Exception", meta: str = "type") -> str:
    return f"from tileiras_build.core.errors import InvalidInput\nclass E({base}, metaclass={meta}):\n    {text}\n"


@pytest.mark.parametrize(
    "base", ["Exception", "SystemExit", "ImportError", "SyntaxError", "MemoryError", "InvalidInput"]
)
@pytest.mark.parametrize("what", [*_BREAKS, "its class's attributes"])
def test_a_file_that_raises_what_breaks_is_refused_at_its_line(write, what, base):
    by_class = what not in _BREAKS
    text = _BREAKS_BY_CLASS + _hostile("pass", base, "M") if by_class else _hostile(_BREAKS[what], base)
    given = "'id', 'x'" if base == "InvalidInput" else "'x'"
    path = write("k.py", f"{text}raise E({given})\nCASES = make()\n")
    with pytest.raises(InvalidInput) as caught:
        load_cases(path)
    line = text.count("\n") + 1
    assert caught.value.id == "export" and type(caught.value) is InvalidInput
    assert f"{path}:{line}:1" in str(caught.value) or base == "SyntaxError"
    assert caught.value.message.startswith("E: ") and "\n" not in str(caught.value)
    assert not is_out_of_memory(caught.value) or base == "MemoryError"


@pytest.mark.parametrize(
    "how", ["CASES = T()", "def __getattr__(name): raise E", "import sys; sys.modules['q'] = T(); CASES = [1, *T()]"]
)
def test_a_table_that_breaks_is_refused(write, how):
    head = _hostile(_BREAKS["its attributes"]) + "class T:\n    def __getattribute__(self, name): raise E\n"
    path = write("k.py", f"{head}    def __iter__(self): raise E\n{how}\nif False: CASES = make()\n")
    with pytest.raises(InvalidInput, match=r"error\[export\]: (CASES: )?E: ") as caught:
        load_cases(path)
    assert "k.py" in str(caught.value)


@pytest.mark.parametrize("name", RAISED)
def test_a_file_that_raises_is_refused_whatever_that_says(write, name):
    text, said = RAISED[name]
    with pytest.raises(InvalidInput) as caught:
        load_cases(write("k.py", text + "\nCASES = make()\n"))
    assert caught.value.id == "export" and caught.value.message == said
    assert str(caught.value).encode()


def test_a_file_without_a_table_is_a_helper(write):
    assert is_helper(write("helper.py", "def double(tile):\n    return tile\n"))
    assert not is_helper(write("k.py", "CASES = make()\n"))


def test_files_beside_a_kernel_file_are_not_imported(write, monkeypatch):
    for number in range(3):
        write(f"other{number}.py", "")
    path = write("kernels.py", "CASES = []")
    asked, is_file = [], os.path.isfile
    monkeypatch.setattr(os.path, "isfile", lambda name: asked.append(os.fspath(name)) or is_file(name))
    load_cases(path)
    assert not [name for name in asked if "other" in name]


def test_imports_beside_the_file_are_found_through_each_other(write):
    write("a.py", "from . import b\nimport numpy\n")
    write("b.py", "import k\n")
    write("unrelated.py", "")
    path = write("k.py", "from a import x\nCASES = []\n")
    assert find_imports(path) == [path.with_name("a.py"), path.with_name("b.py")]


# ---- bytecode ------------------------------------------------------------------------------------------------------
def test_every_case_becomes_one_file(kernel_file, tmp_path):
    written = export_file(kernel_file, tmp_path / "out")
    assert written == [tmp_path / "out/twice_f32.tilebc", tmp_path / "out/twice_f16.tilebc"]
    assert sorted(written) == sorted((tmp_path / "out").iterdir())  # no temporary file stays
    for path in written:
        data = path.read_bytes()
        assert data.startswith(b"\x7fTileIR\0") and path.stem.encode() in data


def test_one_case_can_be_chosen(kernel_file):
    assert list(export_kernels(kernel_file, ["twice_f16"])) == ["twice_f16"]
    with pytest.raises(InvalidInput, match="no case named 'thrice'"):
        export_kernels(kernel_file, ["thrice"])


def test_nothing_is_written_if_a_case_fails(write, tmp_path):
    write("helper.py", HELPER)
    path = write("k.py", KERNEL.replace('"float32", 1), 64', '"float32", 2), 64'))
    with pytest.raises(InvalidInput):
        export_file(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


EXPORT = """
import sys
from tileiras_build.frontend.export_cutile import export_file
export_file(sys.argv[1], sys.argv[2], source_root=sys.argv[3])
"""


def test_same_sources_give_the_same_bytes_in_any_folder_and_process(write, tmp_path):
    results = []
    for checkout, seed in (("one", "1"), ("a much longer/folder name", "2")):
        write(f"{checkout}/kernels/helper.py", HELPER)
        path, root = write(f"{checkout}/kernels/k.py", KERNEL), tmp_path / checkout
        command = [sys.executable, "-c", EXPORT, str(path), str(root / "out"), str(root)]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": seed})
        results.append({file.name: file.read_bytes() for file in sorted((root / "out").iterdir())})
    assert len(results[0]) == 2
    assert results[0] == results[1]


def test_debug_info_names_sources_relative_to_the_root(write, tmp_path):
    write("kernels/helper.py", HELPER)
    path = write("kernels/k.py", KERNEL)
    data = export_kernels(path, ["twice_f16"], source_root=tmp_path)["twice_f16"]
    assert b"kernels/k.py" in data and b"kernels/helper.py" in data
    assert str(tmp_path).encode() not in data
    # `.astype` is a function of cuda-tile's own that is inlined into the kernel.
    assert b"cuda/tile/_stub.py" in data and sys.prefix.encode() not in data


def test_modules_of_the_same_name_in_two_folders_stay_apart(write):
    source = "import cuda.tile as ct\nfrom helper import NAME\nfrom tileiras_build.frontend.export_cutile import Case\n"
    source += "CASES = [Case('k', NAME, ())]\n"
    for folder in ("one", "two"):
        write(f"{folder}/helper.py", f"NAME = '{folder}'\n")
        assert load_cases(write(f"{folder}/k.py", source))[0].kernel == folder
    assert "helper" not in sys.modules and "k" not in sys.modules


def test_an_edit_within_one_second_is_seen(write):
    source = "from helper import NAME\nfrom tileiras_build.frontend.export_cutile import Case\nCASES = [Case('k', NAME, ())]\n"
    path = write("k.py", source)
    for name in ("one", "two"):
        helper = write("helper.py", f"NAME = '{name}'\n")
        os.utime(helper, (1_700_000_000, 1_700_000_000))
        assert load_cases(path)[0].kernel == name


# ---- errors --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("line", "position", "says"),
    [
        ("    tile = tile.astype(ct.float16) + nothing", (9, 38), "nothing"),
        ("    tile = ct.load(x, (0, 0), (TILE,))", (9, 12), "Index"),
        ("    tile = double(tile, 1)", (9, 12), "too many positional arguments"),
    ],
)
def test_cutile_errors_are_reported_at_the_python_line(write, line, position, says):
    write("helper.py", HELPER)
    lines = textwrap.dedent(KERNEL).lstrip("\n").splitlines()
    path = write("k.py", "\n".join([*lines[:8], line, *lines[8:]]) + "\n")
    with pytest.raises(InvalidInput) as caught:
        export_kernels(path)
    location = caught.value.location
    assert caught.value.id == "export" and says.lower() in caught.value.message.lower()
    assert (os.path.abspath(location.file), location.line, location.column) == (str(path), *position)
    assert "\n" not in str(caught.value)


def test_an_error_inside_a_helper_is_reported_at_the_helper(write):
    helper = write("helper.py", "def double(tile):\n    return tile.reshape((3,))\n")
    path = write("k.py", KERNEL)
    with pytest.raises(InvalidInput) as caught:
        export_kernels(path)
    assert (os.path.abspath(caught.value.location.file), caught.value.location.line) == (str(helper), 2)


@pytest.mark.parametrize(
    ("source", "line", "says"),
    [
        ("def f(:\n", 1, "SyntaxError"),
        ("import os\nCASES = [\n    f('a', 1 / 0),\n]\n", 3, "NameError: name 'f' is not defined"),
        ("import no_such_module\nCASES = []\n", 1, "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_python_failures_name_the_line(write, source, line, says):
    path = write("k.py", source)
    with pytest.raises(InvalidInput, match=says) as caught:
        export_kernels(path)
    assert caught.value.id == "export"
    assert (os.path.abspath(caught.value.location.file), caught.value.location.line) == (str(path), line)


def test_without_cuda_tile_the_remedy_is_named(kernel_file, monkeypatch):
    for name in [name for name in sys.modules if name == "cuda.tile" or name.startswith("cuda.tile.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    monkeypatch.setitem(sys.modules, "cuda", None)
    with pytest.raises(InvalidInput, match="pip install 'cuda-tile") as caught:
        export_kernels(kernel_file)
    assert caught.value.id == "export-no-cutile"


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(InvalidInput, match="file not found"):
        list_cases(tmp_path / "none.py")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ('Case("a", twice, (Array("float32", 1), 128))', "2 arguments of twice, which has 3"),
        ('Case("a", print, ())', "no @ct.kernel function"),
        ('dict("a")', "ValueError"),
        ('Case("a".upper(), twice, ())', "case 'A' describes 0 arguments of twice, which has 3"),
        ('Case("a b".upper(), twice, ())', "case name 'A B' is not an identifier"),
    ],
)
def test_rows_that_describe_no_kernel_are_refused(write, row, says):
    write("helper.py", HELPER)
    head = textwrap.dedent(KERNEL).partition("CASES")[0]
    path = write("k.py", f"{head}CASES = [\n    {row},\n]\n")
    with pytest.raises(InvalidInput, match=says):
        export_kernels(path)


# ---- arguments -----------------------------------------------------------------------------------------------------
def test_an_array_is_its_address_lengths_and_strides():
    case = Case("k", None, (Scalar("float32"), Array("float16", 2, unit_stride=0), 64, True))
    matrix = np.zeros((5, 3), np.float16, order="F")
    packed = pack_arguments(case, [1.5, matrix])
    address, *integers = packed[1:]
    assert packed[0] == np.float32(1.5).tobytes()
    assert int.from_bytes(address, "little") == matrix.ctypes.data and len(address) == 8
    assert [int.from_bytes(number, "little") for number in integers] == [5, 3, 1, 5]
    assert {len(number) for number in integers} == {4}


def test_wide_indices_take_eight_bytes():
    case = Case("k", None, (Array("float32", 1, index_dtype="int64"),))
    assert [len(part) for part in pack_arguments(case, [np.zeros(4, np.float32)])] == [8, 8, 8]


@pytest.mark.parametrize(
    ("argument", "value", "says"),
    [
        (Array("float32", 1), np.zeros(4, np.float64), "1-d float32"),
        (Array("float32", 1), np.zeros((4, 4), np.float32), "2-d"),
        (Array("float32", 1), np.zeros(8, np.float32)[::2], "stride of axis 0 is 2, not 1"),
        (Array("float32", 1, alignment=16), np.zeros(8, np.float32)[1:], "aligned to 16"),
        (Array("float32", 2, stride_divisible_by=4), np.zeros((4, 5), np.float32), "stride 5 of axis 0"),
        (Array("float32", 1, shape_divisible_by=4), np.zeros(6, np.float32), "length 6 of axis 0"),
    ],
)
def test_arrays_that_break_the_promise_are_refused(argument, value, says):
    with pytest.raises(ValueError, match=says):
        pack_arguments(Case("k", None, (argument,)), [value])


def test_tuples_and_lists_are_passed_as_their_parts():
    case = Case("k", None, ((Array("float32", 1), 64, (Scalar("int32"),)), [Array("float32", 1)], 8))
    first, second = np.zeros(4, np.float32), np.zeros(6, np.float32)
    tables: list[np.ndarray] = []
    packed = [int.from_bytes(part, "little") for part in pack_arguments(case, [(first, (7,)), [first, second]], tables)]
    assert packed == [first.ctypes.data, 4, 1, 7, tables[0].ctypes.data, 2]
    assert tables[0].tolist() == [[first.ctypes.data, 4, 1], [second.ctypes.data, 6, 1]]


def test_a_list_of_arrays_needs_a_place_for_its_table():
    with pytest.raises(ValueError, match="launch argument 0: a list of arrays needs tables="):
        pack_arguments(Case("k", None, ([Array("float32", 1)],)), [[np.zeros(4, np.float32)]])


def test_an_array_of_a_list_that_breaks_the_promise_is_named():
    with pytest.raises(ValueError, match=r"launch argument 0\[1\]: expected a 1-d float32 array, got 1-d float64"):
        values = [[np.zeros(4, np.float32), np.zeros(4)]]
        pack_arguments(Case("k", None, ([Array("float32", 1)],)), values, [])


LISTS = """
import cuda.tile as ct
from tileiras_build.frontend.export_cutile import Array, Case, Scalar

@ct.kernel
def weighted(xs, y, scaling: tuple[float, ct.Constant[float]], TILE: ct.Constant[int]):
    factor, offset = scaling
    total = ct.zeros((TILE,), dtype=ct.float32)
    for i in range(len(xs)):
        total += ct.load(xs[i], (ct.bid(0),), (TILE,))
    ct.store(y, (ct.bid(0),), total * factor + offset)

ROW = Array("float32", 1)
CASES = [Case(f"weighted_{size}", weighted, ([ROW], ROW, (Scalar("float32"), 1.0), size)) for size in (16, 64)]
"""


def test_a_kernel_of_lists_and_tuples_gives_right_values(write):
    from tileiras_build import driver
    from tileiras_build.simulate import emulator

    path = write("k.py", LISTS)
    assert list_cases(path) == ["weighted_16", "weighted_64"]
    artifacts = driver.compile(export_kernels(path, ["weighted_16"])["weighted_16"], "sm_80", stop_at="ptx")
    rows = [np.arange(32, dtype=np.float32) + number for number in range(3)]
    result, tables, memory = np.zeros(32, np.float32), [], emulator.Memory()
    parameters = pack_arguments(load_cases(path)[0], [rows, result, (np.float32(2),)], tables)
    for array in (*rows, result, *tables):
        memory.map(array.ctypes.data, array.nbytes)
    emulator.launch(artifacts, "weighted_16", (2, 1, 1), parameters, memory=memory)
    assert np.array_equal(result, 2 * sum(rows) + 1)


@pytest.mark.parametrize(
    "describe",
    [
        lambda: Array("float33", 1),
        lambda: Array("float32", 1, index_dtype="int16"),
        lambda: Array("float32", 1, unit_stride=1),
        lambda: Array("float32", 2, stride_divisible_by=(1,)),
    ],
)
def test_impossible_arrays_are_refused(describe):
    with pytest.raises((ValueError, TypeError)):
        describe()


@pytest.mark.parametrize(
    ("name", "near"),
    [("f32", "float32"), ("bool", "bool_"), ("float8_e4m3", "float8_e4m3fn"), (">f4", None), (None, None), (3, None)],
)
@pytest.mark.parametrize("kind", [lambda name: Array(name, 1), Scalar], ids=["array", "scalar"])
def test_an_unknown_type_is_reported_with_the_nearest_one(kind, name, near):
    with pytest.raises(ValueError, match="no element type is called ") as caught:
        kind(name)
    assert repr(name) in str(caught.value) and "use one of float16, bfloat16, " in str(caught.value)
    assert near is None or f"did you mean {near}?" in str(caught.value)


def test_arrays_of_the_type_that_no_library_has(write):
    """Their NumPy arrays hold its bytes."""
    path = write(
        "k.py",
        """
        import cuda.tile as ct
        from tileiras_build.frontend.cases_api import Array, Case

        @ct.kernel
        def copy(x, y):
            ct.store(y, index=(0, 0), tile=ct.load(x, index=(0, 0), shape=(4, 16)))

        CASES = [Case("copy", copy, (Array("float8_e5m3fnu", 2), Array("float8_e5m3fnu", 2)))]
        """,
    )
    assert b"copy" in export_kernels(path)["copy"]
    [case] = load_cases(path)
    words = np.arange(64, dtype=np.uint8).reshape(4, 16)
    assert len(pack_arguments(case, [words, words])) == 10
