"""Run passes over MLIR text, as ``tileiras-build opt`` does, and look at what comes out."""

from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.opt import find_pass, parse_module
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.pipeline.tile_ir_text_format import render
from tileiras_build.target.targets import find_target


def job(target: str = "sm_90", **options) -> Job:
    return Job(find_target(target), **options)


def after(text: str, *passes: str, target: str = "sm_90", **options):
    """The module after the passes; its text must parse back to the same module."""
    module = parse_module(text)
    run_passes([find_pass(name) for name in passes], module, job(target, **options))
    module.verify()
    printed = render(module)
    assert render(parse_module(printed.decode())) == printed
    return module


def named(module, name: str) -> list:
    """The operations called ``name``, in order."""
    return [op for op in module.walk() if op.name == name]


def only(module, name: str):
    [op] = named(module, name)
    return op
