"""The cache of native code: later processes run it without LLVM; foreign or damaged records are recompiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tileiras_build.core import persistent_cache
from tileiras_build.simulate.emulator.jit import code_cache, executable_memory, host_cpu, llvm_jit

pytestmark = pytest.mark.skipif(not executable_memory.IS_SUPPORTED, reason="this is x86-64 under Linux only")
CODE = Path(code_cache.__file__).parent
TEXT = "define i64 @given(i64 %n) {\n  %more = add i64 %n, AMOUNT\n  ret i64 %more\n}\n"
PROGRAM = f"""
import sys
from tileiras_build.simulate.emulator.jit.llvm_jit import NUMBER, compile_function, has_cpu_feature
print(compile_function({TEXT!r}.replace("AMOUNT", sys.argv[1]), "given", 0, 1, NUMBER)(1), has_cpu_feature("sse2"), "llvmlite" in sys.modules)
"""


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """The cache folder, in a process that has not used LLVM or the cache yet."""
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", str(tmp_path / "cache"))
    for known in (code_cache.host, code_cache.cached_host, code_cache._key_of_host):
        monkeypatch.setattr(code_cache, known.__name__, code_cache.lru_cache(known.__wrapped__))
    return tmp_path / "cache" / f"local-{os.geteuid()}"


def run(amount: int = 10) -> tuple[int, bool]:
    """(1 + amount, whether LLVM was imported) of a new process."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(amount)], check=True, capture_output=True, text=True)
    result, has_feature, asked = done.stdout.split()
    assert has_feature == "True"
    return int(result), asked == "True"


def records(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def codes(folder: Path) -> set[str]:
    """The records of code: the others are JSON."""
    return {name for name, data in records(folder).items() if not data[32:].startswith(b"[")}


def added(amount: int = 10) -> int:
    return llvm_jit.compile_function(TEXT.replace("AMOUNT", str(amount)), "given", 0, 1, llvm_jit.NUMBER)(1)


@pytest.fixture
def made(monkeypatch):
    """The texts that LLVM compiles."""
    texts: list[str] = []
    module = llvm_jit._module
    monkeypatch.setattr(llvm_jit, "_module", lambda text: (texts.append(text), module(text))[1])
    return texts


def test_second_process_does_not_import_llvm(folder):
    assert [run(), run()] == [(11, True), (11, False)]


def test_another_text_is_compiled(folder):
    assert [run(10), run(20), run(20)] == [(11, True), (21, True), (21, False)]


def test_cache_can_be_disabled(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", "off")
    assert run() == (11, True) and not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [0, 10, 32, 39, 60])
def test_truncated_record_is_recompiled(folder, made, size):
    added()
    for path in folder.iterdir():
        os.truncate(path, size)
    assert (added(), added()) == (11, 11) and len(made) == 2


def test_modified_record_is_recompiled(folder, made):
    added()
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-1] + b"\x90")
    assert (added(), added()) == (11, 11) and len(made) == 2


def test_record_under_another_key_is_not_run(folder, made):
    added(10)
    (first,) = codes(folder)
    added(20)
    (other,) = codes(folder) - {first}
    os.replace(folder / first, folder / other)
    assert added(20) == 21 and len(made) == 3


@pytest.mark.parametrize("mode", [0o777, 0o722, 0o770])
def test_folder_writable_by_others_is_not_used(folder, made, mode):
    added()
    before = records(folder)
    folder.chmod(mode)
    assert (added(), added(20)) == (11, 21) and len(made) == 3 and records(folder) == before


def test_folder_of_another_user_is_not_read(folder, made, monkeypatch):
    added()
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    folder.rename(folder.with_name(f"local-{other}"))
    assert added() == 11 and len(made) == 2


def test_folder_must_not_be_a_link(folder, made):
    added()
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")
    assert added() == 11 and len(made) == 2


def test_read_only_folder_is_read(folder, made, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(30, "read-only file system")

    added()
    monkeypatch.setattr(persistent_cache.os, "replace", refuse)
    assert (added(), added(20), added(20)) == (11, 21, 21) and len(made) == 3


def test_missing_folder_is_no_error(folder, made):
    folder.parent.write_text("no folder")
    assert (added(), added()) == (11, 11) and len(made) == 2


def test_concurrent_compilations(folder):
    command = [sys.executable, "-c", PROGRAM, "10"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert {one.communicate()[0].split()[0] for one in running} == {"11"} and not any(one.returncode for one in running)
    assert len(records(folder)) == 2 and run() == (11, False)


def forget() -> None:
    for known in (code_cache.host, code_cache.cached_host, code_cache._key_of_host):
        getattr(known, "cache_clear", int)()


CHANGES = {
    "the CPU": lambda patch: patch.setattr(code_cache, "host_cpu_id", lambda: (1, 2, 3)),
    "LLVM is elsewhere": lambda patch: patch.setattr(code_cache, "PathFinder", FoundElsewhere),
    "LLVM": lambda patch: patch.setattr(code_cache, "_state_of", lambda file: [1, 2, 3, 4]),
    "our code": lambda patch: patch.setattr(code_cache, "_code_here", lambda: "other"),
    "the CPU's name": lambda patch: say(patch, code_cache.host()._replace(name="x86-64")),
    "the CPU's features": lambda patch: say(patch, code_cache.host()._replace(features="-avx,-avx512f,-avx2")),
}


class FoundElsewhere:
    @staticmethod
    def find_spec(name):
        class Spec:
            origin = f"/elsewhere/{name}/__init__.py"

        return Spec


def say(patch, host):
    patch.setattr(code_cache, "host", code_cache.lru_cache(lambda: host))
    patch.setattr(code_cache, "cached_host", lambda: host)


@pytest.mark.parametrize("change", CHANGES)
def test_recompilation_after_a_change_of(change, folder, made, monkeypatch):
    assert (added(), added()) == (11, 11) and len(made) == 1
    with monkeypatch.context() as patch:
        CHANGES[change](patch)
        forget()
        assert (added(), added()) == (11, 11) and len(made) == 2
    forget()
    # If LLVM's files have changed, LLVM is queried before the lookup.
    assert added() == 11 and len(made) == (3 if change == "LLVM" else 2)


def test_changed_sources_disable_the_cache(folder, made, monkeypatch):
    monkeypatch.setattr(code_cache, "_process_start", 0)
    assert (added(), added()) == (11, 11) and len(made) == 2 and not folder.exists()


def test_key_covers_all_compiling_code(monkeypatch, tmp_path):
    digests = {code_cache._code_here()}
    for name in code_cache._CODE:
        (tmp_path / name).write_bytes((CODE / name).read_bytes())
    monkeypatch.setattr(code_cache, "__file__", str(tmp_path / "code_cache.py"))
    monkeypatch.setattr(code_cache, "_process_start", 1 << 63)
    digests.add(code_cache._code_here())
    assert len(digests) == 1
    for name in code_cache._CODE:
        (tmp_path / name).write_bytes(b"#" + (tmp_path / name).read_bytes())
        digests.add(code_cache._code_here())
    assert len(digests) == 1 + len(code_cache._CODE)
    (tmp_path / "llvm_jit.py").unlink()
    assert code_cache._code_here() is None
    seen = {
        path.name
        for path in CODE.glob("*.py")
        if "elf_linker" in path.read_text() or "executable_memory" in path.read_text()
    }
    assert seen <= {*code_cache._CODE}


def test_unlinkable_code_is_not_stored(folder, made, monkeypatch):
    monkeypatch.setattr(executable_memory, "IS_SUPPORTED", False)
    host_cpu.host_cpu_id.cache_clear()
    assert (added(), added()) == (11, 11) and len(made) == 2 and not folder.exists()
    host_cpu.host_cpu_id.cache_clear()


def test_llvm_is_used_if_code_cannot_be_mapped(folder, made, monkeypatch):
    host_cpu.host_cpu_id()
    monkeypatch.setattr(executable_memory, "map_code", lambda code: None)
    assert (added(), added()) == (11, 11) and len(made) == 4


def test_llvm_loads_code_that_the_linker_rejects(folder, made):
    text = "@kept = internal global i64 3\ndefine i64 @given(i64 %n) { %x = load i64, ptr @kept store i64 %n, ptr @kept ret i64 %x }"
    function = llvm_jit.compile_function(text, "given", 0, 1, llvm_jit.NUMBER)
    assert (function(5), function(6)) == (3, 5)
    assert not codes(folder)


def test_cached_host_equals_llvms(folder):
    from llvmlite import binding as llvm

    added()
    (host,) = (json.loads(records(folder)[name][32:]) for name in records(folder).keys() - codes(folder))
    assert host[:2] == [llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    assert any("llvm" in file for file, _ in host[2])


def test_lookup_does_not_import_llvm(folder, made):
    shape = "given", 0, 1, llvm_jit.NUMBER
    assert llvm_jit.cached_function(TEXT.replace("AMOUNT", "10"), *shape) is None and not made
    added()
    function = llvm_jit.cached_function(TEXT.replace("AMOUNT", "10"), *shape)
    assert (
        function is not None
        and function(5) == 15
        and llvm_jit.cached_function(TEXT.replace("AMOUNT", "11"), *shape) is None
    )
    assert len(made) == 1


def test_counters_depend_on_the_code_and_the_cpu(folder, monkeypatch):
    monkeypatch.setattr(code_cache, "_query_llvm", lambda: pytest.fail("LLVM is asked"))
    assert not code_cache.read_count("one")
    code_cache.write_count("one", 3)
    code_cache.write_count("one", 1 << 40)
    assert code_cache.read_count("one") == 1 << 40 and not code_cache.read_count("other")
    monkeypatch.setattr(code_cache, "_state_of_emulator", lambda: ("changed",))
    assert not code_cache.read_count("one")
    monkeypatch.undo()
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", str(folder.parent))
    assert code_cache.read_count("one") == 1 << 40
    monkeypatch.setattr(code_cache, "_key_of_host", lambda: "other")
    assert not code_cache.read_count("one")
