"""Imports point down only, and what must not see the compiler does not."""

from tests.meta.import_graph import circles, imports_of, is_type_only, module_files

# From the bottom up; a package belongs to the first entry that is a prefix of its name.
LAYERS = (
    (
        "c_names",
        "cores",
        "cpp_names",
        "deferral",
        "element_types",
        "errors",
        "knobs",
        "files",
        "launch_checks",
        "launch_manifest",
        "limits",
        "local_store",
        "manifest_words",
        "names",
        "new_project",
        "nvidia_wheels",
        "private_folder",
        "scopes",
        "sources",
        "terminal",
        "units",
        "version",
    ),
    ("targets", "layouts", "occupancy", "reads"),
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


def inside(*packages: str) -> list[str]:
    return [module for module in MODULES if module.split(".")[1] in packages]


def test_imports_point_down():
    upward = [
        (module, imported)
        for module in MODULES
        for imported in imports_of(module)
        if layer(imported) > layer(module) and not is_type_only(module, imported)
    ]
    assert upward == []


def test_layouts_see_no_ir():
    for module in inside("layouts"):
        text = module_files()[module].read_text()
        assert "import xdsl" not in text and "from xdsl" not in text, module
        seen = {imported.split(".")[1] for imported in imports_of(module)}
        assert seen <= {"layouts", "errors", "targets"}, module


def test_emulator_and_runtime_share_nothing_with_the_compiler():
    shared = {
        "cores",
        "cpp_names",
        "errors",
        "knobs",
        "launch_checks",
        "launch_manifest",
        "limits",
        "local_store",
        "manifest_words",
        "scopes",
        "targets",
    }
    for module in inside("emulator", "runtime"):
        own = module.split(".")[1]
        allowed = {own, *shared, *(["element_types"] if own == "runtime" else [])}
        assert {imported.split(".")[1] for imported in imports_of(module)} <= allowed, module


def test_every_module_has_a_layer():
    assert [module for module in MODULES if not any(module.split(".")[1] in names for names in LAYERS)] == []


def test_no_modules_import_each_other_in_a_circle():
    assert circles() == []
