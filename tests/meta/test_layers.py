"""Imports point down only, and what must not see the compiler does not."""

import pytest

from tests.meta.import_graph import circles, imports_of, is_type_only, module_files

# From the bottom up; a package belongs to the first entry that is a prefix of its name.
LAYERS = (
    (
        "c_names",
        "cores",
        "cpp_names",
        "deferral",
        "errors",
        "knobs",
        "files",
        "launch_manifest",
        "manifest_words",
        "names",
        "new_project",
        "nvidia_wheels",
        "private_folder",
        "sources",
        "terminal",
        "units",
        "version",
    ),
    ("targets", "layouts", "reads"),
    ("book",),
    ("bytecode", "cases", "dialects", "libdevice", "tilecpp"),
    ("pipeline", "checkers", "interpreter", "reports", "emulator", "runtime", "packages", "estimate"),
    ("server",),
    ("executor", "driver", "references", "project_file", "project_options"),
    ("tileiras_options", "tileiras_command"),
    ("lowering", "cutile"),
    ("cli", "command", "command_line", "scons_tool", "warm_image", "watch", "__main__"),
)
MODULES = sorted(module for module in module_files() if module != "tileiras_build")


def layer(module: str) -> int:
    part = module.split(".")[1]
    return next(rank for rank, names in enumerate(LAYERS) if part in names)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module):
    upward = [
        imported
        for imported in imports_of(module)
        if layer(imported) > layer(module) and not is_type_only(module, imported)
    ]
    assert upward == []


@pytest.mark.parametrize("module", [module for module in MODULES if module.split(".")[1] == "layouts"])
def test_layouts_see_no_ir(module):
    text = module_files()[module].read_text()
    assert "import xdsl" not in text and "from xdsl" not in text
    assert all(imported.split(".")[1] in ("layouts", "errors", "targets") for imported in imports_of(module))


@pytest.mark.parametrize("module", [module for module in MODULES if module.split(".")[1] in ("emulator", "runtime")])
def test_emulator_and_runtime_share_nothing_with_the_compiler(module):
    shared = {"cores", "cpp_names", "errors", "knobs", "launch_manifest", "manifest_words", "targets"}
    allowed = {module.split(".")[1], *shared}
    assert {imported.split(".")[1] for imported in imports_of(module)} <= allowed


def test_every_module_has_a_layer():
    assert [module for module in MODULES if not any(module.split(".")[1] in names for names in LAYERS)] == []


def test_no_modules_import_each_other_in_a_circle():
    assert circles() == []
