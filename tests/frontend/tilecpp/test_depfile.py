"""What dependency files name."""

from tileiras_build.frontend.tilecpp.depfile import read_dependencies


def test_dependency_files_are_read_as_make_does():
    text = "made.tilebc : k.cu \\\n    /usr/include/a.h \\\n    my\\ dir/b.h c$$.h \\\n    inc/../d.h\n"
    assert read_dependencies(text, "/p") == ["/p/k.cu", "/usr/include/a.h", "/p/my dir/b.h", "/p/c$.h", "/p/d.h"]
