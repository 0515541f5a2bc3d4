"""What a device module is serialized for: sources, fields, flags, diagnostics."""

import pytest

from tests.pipeline.tileas_to_ll.modules import after, job, only
from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.pipeline.ll_to_ptx.embedded_metadata import read_serialization
from tileiras_build.pipeline.ll_to_ptx.target_machine import data_layout
from tileiras_build.pipeline.opt import parse_module
from tileiras_build.pipeline.serialization_target import NOTE
from tileiras_build.pipeline.tileas_to_ll.attach_nvvm_target import check_serializable, target_of
from tileiras_build.pipeline.tileas_to_ll.writer.write_llvm_dialect import write
from tileiras_build.target.isa.serializer_options import TRIPLE
from tileiras_build.target.targets import TARGETS

LLVM_KERNEL = "llvm.func @k() attributes {nvvm.kernel} { llvm.return }"
PASS = "nv-tile-ir-convert-target-to-nvvm"
CAPABILITY = "nv_tileaa.compute_capability"
SPECIFICATION = "nv_tileaa.target_spec"


def module(inner: str = "", outer: str = f"{CAPABILITY} = 90 : i32", body: str = "") -> str:
    attributes = f"attributes {{{inner}}}" if inner else ""
    return f"builtin.module attributes {{{outer}}} {{ gpu.module @m {attributes} {{ {body} }} }}"


def target(text: str, **options):
    return target_of(only(after(text, PASS, **options), "gpu.module"))


def chip(text: str) -> str:
    return target(text).chip.data


@pytest.mark.seed("target-and-debug-info", "source-compute-capability", "field-chip", "chip-normalized")
@pytest.mark.parametrize("row", TARGETS.values(), ids=TARGETS)
def test_the_capability_names_the_chip(row):
    assert chip(module(f"{CAPABILITY} = {row.number} : i32", outer="")) == row.name == f"sm_{row.number}"


@pytest.mark.seed("target-and-debug-info", "source-compute-capability")
def test_the_capability_is_asked_first():
    assert chip(module(f'{CAPABILITY} = 80 : i32, {SPECIFICATION} = "sm_90"', outer="")) == "sm_80"


@pytest.mark.parametrize(
    ("specification", "expected"), [("sm_100f", "sm_100f"), ("sm_100a", "sm_100"), ("sm_103f", "sm_100")]
)
def test_the_specification_keeps_the_family_of_the_capability(specification, expected):
    assert chip(module(f'{CAPABILITY} = 100 : i32, {SPECIFICATION} = "{specification}"', outer="")) == expected


@pytest.mark.seed("target-and-debug-info", "source-target-spec", "chip-normalized")
@pytest.mark.parametrize(("text", "expected"), [("sm_90", "sm_90"), ("sm_100a", "sm_100"), ("SM_120f", "sm_120")])
def test_the_specification_is_the_fallback(text, expected):
    assert chip(module(f'{SPECIFICATION} = "{text}"', outer="")) == expected


@pytest.mark.seed("target-and-debug-info", "source-target-spec")
def test_a_capability_of_no_gpu_falls_back_too():
    assert chip(module(f'{CAPABILITY} = 0 : i32, {SPECIFICATION} = "sm_89"', outer="")) == "sm_89"


@pytest.mark.seed("target-and-debug-info", "diag-capability", "error-missing-target", "target-resolved")
@pytest.mark.parametrize(
    "attributes", ["", f"{CAPABILITY} = 7 : i32", f'{SPECIFICATION} = "gfx90a"', f'{CAPABILITY} = "90"']
)
def test_without_either_the_module_is_refused(attributes):
    with pytest.raises(InvalidInput) as caught:
        target(module(attributes, outer=""))
    assert caught.value.message == "failed to get compute capability."
    assert CAPABILITY in caught.value.remedy and SPECIFICATION in caught.value.remedy


@pytest.mark.seed("target-and-debug-info", "field-triple", "triple-64", "field-features", "field-link")
def test_fixed_fields():
    found = target(module())
    assert found.triple.data == "nvptx64-nvidia-cuda"
    assert found.features.data == ""
    assert found.links is False


@pytest.mark.seed("target-and-debug-info", "field-level")
def test_the_level_is_the_jobs():
    assert target(module()).level.data == 3  # the optimized path where no option is given
    assert [target(module(), opt_level=level).level.data for level in range(4)] == [0, 1, 2, 3]


@pytest.mark.seed("target-and-debug-info", "field-level")
@pytest.mark.parametrize("level", ["s", "z"])
def test_levels_for_size_are_level_2(level):
    assert target(module(), opt_level=level).level.data == 2


ALWAYS = ["-Xopt", "-pragma-unroll-threshold=9900000", "-fma=0"]


@pytest.mark.seed("target-and-debug-info", "field-flags", "flag-xopt", "flag-unroll", "flag-fma")
@pytest.mark.seed("target-and-debug-info", "flag-g", "debug-gated", "source-nvgpucomp")
@pytest.mark.parametrize("options", [{}, {"lineinfo": True}, {"opt_level": 0}])
def test_flags_that_are_always_there(options):
    assert target(module(), **options).options() == ALWAYS


@pytest.mark.seed("target-and-debug-info", "flag-g", "debug-gated")
def test_g_with_device_debug_only():
    assert target(module(), debug=True, opt_level=0).options() == ["-g", *ALWAYS]


@pytest.mark.seed("target-and-debug-info", "flag-nvgpucomp", "source-nvgpucomp")
@pytest.mark.parametrize(("value", "extra"), [("true", ["libNVVMUseNVGpuComp=true"]), ("false", [])])
def test_nvgpucomp_where_asked_for(value, extra):
    text = module(f"nv_tileaa.libnvvm_use_nvgpucomp = {value}")
    assert target(text).options() == ALWAYS + extra


@pytest.mark.seed("target-and-debug-info", "field-flags")
def test_flags_are_composed_for_each_module():
    text = f"""builtin.module attributes {{{CAPABILITY} = 90 : i32}} {{
      gpu.module @a attributes {{nv_tileaa.libnvvm_use_nvgpucomp = true}} {{ }}
      gpu.module @b attributes {{{CAPABILITY} = 80 : i32}} {{ }}
    }}"""
    first, second = (target_of(op) for op in after(text, PASS).body.block.ops)
    assert (first.chip.data, second.chip.data) == ("sm_90", "sm_80")
    assert len(first.options()) == len(second.options()) + 1


@pytest.mark.seed("target-and-debug-info", "idempotent", "one-target")
def test_a_second_run_overwrites():
    once = after(module(), PASS, opt_level=1)
    twice = after(module(), PASS, PASS, opt_level=1)
    assert str(once) == str(twice)
    again = after(str(once), PASS, opt_level=2)
    targets = only(again, "gpu.module").attributes["nvvm.target"]
    assert len(targets.data) == 1 and targets.data[0].level.data == 2


@pytest.mark.seed("target-and-debug-info", "field-flags")
def test_printed_form():
    printed = str(target(module()))
    assert printed == (
        '#nvvm.target<O = 3, triple = "nvptx64-nvidia-cuda", chip = "sm_90", features = "", '
        'flags = {"-Xopt", "-pragma-unroll-threshold" = 9900000 : i64, "-fma" = 0 : i64}>'
    )


@pytest.mark.seed("target-and-debug-info", "diag-no-target", "target-resolved")
@pytest.mark.seed("lowering-overview", "target-before-serialization")
def test_a_module_without_a_target_is_not_serialized():
    for serialize in (lambda parsed: check_serializable(parsed, job()), write):
        with pytest.raises(InvalidInput) as caught:
            serialize(parse_module(module(body=LLVM_KERNEL)))
        assert caught.value.message == "no target attribute" and PASS in caught.value.remedy
    check_serializable(after(module(body=LLVM_KERNEL), PASS), job())


def test_helpers_need_no_target():
    text = "llvm.func @f(%x: i32) -> i32 { llvm.return %x : i32 }"
    written = write(parse_module(module(body=text)))
    assert "define i32 @f(i32 %x) {" in written and NOTE not in written


@pytest.mark.seed("target-and-debug-info", "consumer-serializer")
@pytest.mark.parametrize("name", TARGETS)
def test_the_target_travels_in_the_llvm_ir(name):
    row = TARGETS[name]
    attached = after(module(f"{CAPABILITY} = {row.number} : i32", body=LLVM_KERNEL), PASS, target=name, opt_level=1)
    written = write(attached)
    assert f'target datalayout = "{data_layout()}"\ntarget triple = "{TRIPLE}"' in written
    assert "@k() #1 {" in written
    assert f'#1 = {{ "target-cpu"="{row.llvm_cpu}" "target-features"="{row.llvm_features}" }}' in written
    made_for = read_serialization(written, job(name, opt_level=1))
    assert (made_for.chip, made_for.opt_level, list(made_for.flags)) == (name, 1, ALWAYS)


def test_features_that_the_text_names_are_written():
    text = module('nvvm.target = [#nvvm.target<chip = "sm_90a", features = "+ptx99">]', body=LLVM_KERNEL)
    written = write(parse_module(text))
    assert '"target-features"="+ptx99"' in written
    with pytest.raises(InvalidInput, match=r"a module for \+ptx99 is serialized for \+ptx90"):
        read_serialization(written, job(opt_level=2))


@pytest.mark.seed("target-and-debug-info", "diag-no-target")
def test_a_kernel_outside_of_a_device_module_needs_a_target_too():
    kernel = parse_module(f"builtin.module {{ {LLVM_KERNEL} }}")
    for serialize in (write, lambda module: check_serializable(module, job())):
        with pytest.raises(InvalidInput, match="no target attribute"):
            serialize(kernel)


@pytest.mark.seed("target-and-debug-info", "target-resolved", "two-targets")
@pytest.mark.seed("lowering-overview", "contract-companion")
def test_two_targets_are_one_too_many():
    text = module("nvvm.target = [#nvvm.target<chip = \"sm_90\">, #nvvm.target<chip = \"sm_80\">]")
    with pytest.raises(InternalError, match="2 targets"):
        check_serializable(parse_module(text), job())


@pytest.mark.seed("target-and-debug-info", "consumer-serializer")
@pytest.mark.parametrize("options", [{}, {"opt_level": 1}, {"opt_level": 0, "debug": True}])
def test_the_serializer_is_given_the_flags(options):
    from tileiras_build.pipeline.ll_to_ptx.compile_module import libnvvm_options

    written = write(after(module(body=LLVM_KERNEL), PASS, **options))
    attached, given = target(module(), **options), libnvvm_options(read_serialization(written, job(**options)))
    assert set(attached.options()) <= set(given)
    assert f"-opt={attached.level.data}" in given
    assert attached.chip.data.replace("sm_", "-arch=compute_") in [option.rstrip("af") for option in given]


@pytest.mark.seed("target-and-debug-info", "consumer-serializer", "consumer-assembler")
def test_a_target_for_another_chip_is_not_serialized():
    with pytest.raises(InvalidInput, match="sm_90 is serialized for sm_80"):
        check_serializable(after(module(), PASS), job("sm_80"))


def test_a_target_for_another_level_is_not_serialized():
    with pytest.raises(InvalidInput, match="optimization level 3 is serialized for optimization level 1"):
        check_serializable(after(module(), PASS), job(opt_level=1))


KERNEL = "gpu.func @k() kernel attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>} { gpu.return }"


@pytest.mark.seed("target-and-debug-info", "consumer-validators")
@pytest.mark.parametrize("name", TARGETS)
def test_clusters_need_a_chip_that_has_them(name):
    text = module(outer=f"{CAPABILITY} = {TARGETS[name].number} : i32", body=KERNEL)
    attached = after(text, PASS, target=name)
    if TARGETS[name].number >= 90:
        check_serializable(attached, job(name))
        return
    with pytest.raises(InvalidInput, match=f"cluster of thread blocks, which {name} does not have"):
        check_serializable(attached, job(name))


def test_modules_without_device_code_need_no_target():
    assert "nvvm.target" not in str(after("builtin.module { }", PASS))
