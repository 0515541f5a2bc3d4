"""pyproject.toml's options also apply to `lower` and `as`, with the same names and errors."""

from pathlib import Path

import pytest

from tileiras_build.cli import cmd_as
from tileiras_build.cli.cmd_lower import run as lower_files
from tileiras_build.cli.dispatch import main
from tileiras_build.cli.parser import parse
from tileiras_build.config.build_options import CHECKS, DEFAULTS
from tileiras_build.config.former_names import FORMER_NAMES
from tileiras_build.config.pyproject_table import read_table
from tileiras_build.core.errors import InvalidInput
from tileiras_build.driver import lower_command
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.stages import find
from tileiras_build.target.targets import TARGETS
from tileiras_build.workers.executor.forked_executor import ForkedExecutor
from tileiras_build.workers.executor.in_process_executor import InProcessExecutor

KERNEL = str(Path(__file__).resolve().parents[2] / "examples" / "prebuilt" / "vector_add_f32.tilebc")
BUILD = {
    "opt": 0,
    "lineinfo": True,
    "debug": True,
    "serializer": "libnvvm",
    "llvm_pipeline": "default",
    "strategy": "none",
}
TABLE = """[tool.tileiras]
sm = 80
opt = 0
lineinfo = true
debug = true
serializer = "libnvvm"
llvm_pipeline = "default"
strategy = "none"
ptxas = "tools/ptxas"
libdevice = "tools/library.bc"
build_dir = "made"
cache = "shared"
"""
OWN = Job(
    TARGETS["sm_80"], 0, True, True, "tools/library.bc", "tools/ptxas", "libnvvm", "none", llvm_pipeline="default"
)


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("tools").mkdir()
    for name in ("tools/ptxas", "tools/library.bc"):
        Path(name).touch()


@pytest.fixture
def jobs(monkeypatch) -> list[Job]:
    """What is asked of the compiler, which makes nothing."""
    found: list[Job] = []

    def run(self, function, data, source, goal, job, file, timeout=None):
        found.append(job)
        return {".cubin": b"", ".json": b""}

    monkeypatch.setattr(InProcessExecutor, "run", run)
    return found


def project(text: str) -> None:
    Path("pyproject.toml").write_text(text)


def lower(*words: str) -> int:
    return main(["lower", KERNEL, "--to", "cubin", "--in-process", "-o", "out", *words])


def test_lower_takes_what_it_is_not_told(jobs):
    project(TABLE)
    assert lower() == 0
    assert jobs == [OWN]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--sm", "90"], {"target": TARGETS["sm_90"]}),
        (["--compute-capability", "90"], {"target": TARGETS["sm_90"]}),
        (["--no-device-debug", "--opt", "3"], {"debug": False, "opt_level": 3}),
        (["--no-lineinfo"], {"lineinfo": False}),
        (["--serializer", "nvptx", "--strategy", "auto"], {"serializer": "nvptx", "strategy": "auto"}),
        (["--ptxas", "other", "--libdevice", "more"], {"ptxas": "other", "libdevice": "more"}),
    ],
)
def test_explicit_options_go_before(jobs, words, expected):
    project(TABLE)
    assert lower(*words) == 0
    assert vars(jobs[0]) == vars(OWN) | expected


def test_without_a_project_options_are_as_ever(jobs):
    assert lower("--sm", "80") == 0
    project("[tool.tileiras]\n")
    assert lower("--sm", "80") == 0
    assert jobs == [Job(TARGETS["sm_80"])] * 2


def test_lower_for_each_target_of_the_project(jobs):
    project('[tool.tileiras]\nsm = ["sm_80", 90]\n')
    assert lower() == 0
    assert sorted(path.name for path in Path("out").glob("*.cubin")) == [
        "vector_add_f32.sm_80.cubin",
        "vector_add_f32.sm_90.cubin",
    ]


def test_flags_for_nvcc(monkeypatch):
    found = []
    monkeypatch.setattr(
        "tileiras_build.cli.cmd_lower.export_kernels", lambda options, target: found.append(options) or {}
    )
    project('[tool.tileiras]\nsm = 80\nnvcc = "tools/ptxas"\nnvcc_flags = ["-I include", "-DN=4"]\n')
    Path("k.cu").touch()
    lower_files(parse(["lower", "k.cu", "--to", "cubin"]))
    lower_files(parse(["lower", "k.cu", "--to", "cubin", "--nvcc-flags=-DN=5"]))
    assert [(one.nvcc, one.nvcc_flags) for one in found] == [
        ("tools/ptxas", "-I include -DN=4"),
        ("tools/ptxas", "-DN=5"),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("cahce = 'x'", "error[pyproject-key]: unknown key 'cahce' in [tool.tileiras]; did you mean cache?"),
        ("opt = 9", "error[opt-level]: invalid LLVM optimization level '9'"),
        ("cache = 'ftp://x'", "error[cache-value]: invalid cache=ftp://x: unsupported protocol"),
        ("ptxas = 'absent'", "error[option-value]: ptxas=absent: no such file"),
    ],
)  # fmt: skip
def test_lower_refuses_what_scons_refuses(capsys, jobs, text, sentence):
    project(f"[tool.tileiras]\n{text}\n")
    assert lower("--sm", "90") == 1
    assert capsys.readouterr().err.startswith(f"pyproject.toml: {sentence}") and jobs == []


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("sm", "91", "unknown target sm=91; use one or more of sm_80, sm_86, "),
        ("opt", "4", "invalid LLVM optimization level '4'; use one of 0, 1, 2, 3, s, z"),
        ("lineinfo", "perhaps", "lineinfo= must be yes or no, got 'perhaps'"),
        ("debug", "perhaps", "debug= must be yes or no, got 'perhaps'"),
        ("prune", "perhaps", "prune= must be yes or no, got 'perhaps'"),
        ("ptxas", "absent", "ptxas=absent: no such file"),
        ("libdevice", "absent", "libdevice=absent: no such file"),
        ("build_dir", "tools/ptxas", "build_dir=tools/ptxas is not a folder"),
        (
            "strategy",
            "fast",
            "strategy=fast is not a valid value; use one of auto, none, unspecialize, warp-specialize",
        ),
        ("fp8_promotion_interval", "48", "fp8_promotion_interval=48 is not a valid value; use one of 32, 64, 128"),
        ("serializer", "gcc", "serializer=gcc is not a valid value; use one of nvptx, libnvvm"),
        *(
            ("executor", place, f"executor= must be local or a Dask scheduler such as tcp://host:8786, got {place!r}")
            for place in ("remote", "http://host:8786", "tcp://host", "tcp://host:port", "")
        ),
    ],
)
def test_an_invalid_value_gets_one_sentence(name, text, sentence):
    with pytest.raises(InvalidInput) as caught:
        CHECKS[name](name, text)
    assert sentence in str(caught.value) and len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "job", [OWN, Job(TARGETS["sm_90"]), Job(TARGETS["sm_90"], "s", fp8_promotion_interval=64, grid_swizzle=8)]
)
def test_the_command_of_a_step_says_what_the_project_would(jobs, job):
    """A build may have been asked for something else than its project's defaults."""
    project(TABLE)
    files = ("--ptxas", "own", "--libdevice", "own")
    words = lower_command(KERNEL, find("cubin"), job, BUILD)
    assert main([*words[1:], *files, "--in-process", "-o", "out"]) == 0
    assert vars(jobs[0]) == vars(job) | {"ptxas": "own", "libdevice": "own"}


# ---- as
def test_as_takes_what_it_is_not_told(monkeypatch):
    found = []

    def run(self, function, data, job, *rest):
        found.append(job)
        return b"", []

    monkeypatch.setattr(ForkedExecutor, "run", run)
    project(f"{TABLE}fp8_promotion_interval = 64\ngrid_swizzle = 8\npersistent = 1\n")
    assert main(["as", KERNEL]) == 0
    # Lines belong to debugging, and who launches a cubin alone has no manifest: that is so for all that `as` makes.
    made = {"lineinfo": False, "strategy": "auto", "variants": 0}
    own = vars(OWN) | made | {"fp8_promotion_interval": 64, "grid_swizzle": 8}
    assert vars(found.pop()) == own
    assert main(["as", KERNEL, "--gpu-name=sm_90", "-O2", "--device-debug=false"]) == 0
    told = {"target": TARGETS["sm_90"], "opt_level": 2, "lineinfo": True, "debug": False, "strategy": "unspecialize"}
    assert vars(found.pop()) == own | told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'sm = "80,90"',
            'loc("pyproject.toml"): error: sm names 2 targets, but a cubin has one [output-not-single]; ',
        ),
        ('opt = "s"', 'loc("pyproject.toml"): error: opt=s is not supported by this command [opt-level]; '),
        ("sm = 91", 'loc("pyproject.toml"): error: '),
        (
            "cahce = 'x'",
            "loc(\"pyproject.toml\"): error: unknown key 'cahce' in [tool.tileiras] ",
        ),
    ],
)
def test_as_refuses_in_its_own_form(capsys, text, said):
    project(f"[tool.tileiras]\n{text}\n")
    assert main(["as", KERNEL]) == cmd_as.CONFIGURATION
    assert capsys.readouterr().err.startswith(said)
    assert main(["as", "--version"]) == 0


def test_the_program_in_nvidias_place_does_what_its_words_say(capsys):
    project("[tool.tileiras]\nsm = 90\n")
    assert cmd_as.main([KERNEL]) == cmd_as.CONFIGURATION
    assert "no GPU architecture given" in capsys.readouterr().err


def test_a_former_name_of_an_option_is_refused_with_the_new_one(tmp_path):
    assert FORMER_NAMES and DEFAULTS.keys().isdisjoint(FORMER_NAMES) and DEFAULTS.keys() >= set(FORMER_NAMES.values())
    for former, present in FORMER_NAMES.items():
        (tmp_path / "pyproject.toml").write_text(f"[tool.tileiras]\n{former} = 1\n")
        with pytest.raises(InvalidInput, match=f"pyproject-key.*{former} was renamed to {present}"):
            read_table(str(tmp_path), CHECKS)
