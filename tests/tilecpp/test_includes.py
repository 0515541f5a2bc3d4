"""Dependency files, and the places where a header would be found first."""

from tileiras_build.tilecpp.includes import looked_for, read_dependencies
from tileiras_build.tilecpp.toolchain import Probe


def test_dependency_files_are_read_as_make_does():
    text = "made.tilebc : k.cu \\\n    /usr/include/a.h \\\n    my\\ dir/b.h c$$.h \\\n    inc/../d.h\n"
    assert read_dependencies(text, "/p") == ["/p/k.cu", "/usr/include/a.h", "/p/my dir/b.h", "/p/c$.h", "/p/d.h"]


def found(tmp_path, files: dict[str, str], quoted=(), folders=("one", "two")) -> dict[str, set[str]]:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    paths = [tuple(str(tmp_path / name) for name in names) for names in (quoted, folders)]
    places = looked_for([str(tmp_path / "k.cu")], Probe("gcc", (), *paths))
    return {folder.removeprefix(f"{tmp_path}").removeprefix("/"): names for folder, names in places.items()}


def test_angles_look_in_folders_and_quotes_beside_the_file_first(tmp_path):
    files = {"one/x": "", "two/a.h": "", "two/b.h": ""}
    assert found(tmp_path, {"k.cu": "#include <a.h>\n"} | files) == {"one": {"a.h"}}
    assert found(tmp_path, {"k.cu": ' #  include "b.h"\n'} | files) == {"": {"b.h"}, "one": {"b.h"}}


def test_of_a_folder_that_is_not_there_it_is_the_folder(tmp_path):
    assert found(tmp_path, {"k.cu": "#include <deep/er/a.h>\n", "two/deep/er/a.h": ""}) == {"": {"one"}}
    assert found(tmp_path, {"k.cu": "#include <deep/er/a.h>\n", "one/deep/x": ""}) == {"one/deep": {"er"}}


def test_what_is_asked_for_counts_whether_it_is_there_or_not(tmp_path):
    files = {"one/a.h": "", "two/x": ""}
    assert found(tmp_path, {"k.cu": "#if __has_include(<a.h>)\n#elif __has_include(<b.h>)\n"} | files) == {
        "one": {"a.h", "b.h"},
        "two": {"b.h"},
    }


def test_headers_that_macros_name_have_their_folders_noted(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "two/a.h").write_text("")
    probe = Probe("gcc", (), (), (str(tmp_path / "one"), str(tmp_path / "two")))
    assert looked_for([str(tmp_path / "two/a.h")], probe) == {str(tmp_path / "one"): {"a.h"}}
