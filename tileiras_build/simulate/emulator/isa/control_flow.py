"""Branches, calls and exits (PTX ISA 9.0, section 9.7.12). Handlers return the last line of the generated function."""

from __future__ import annotations

import numpy as np

from ..errors import EmulatorFault
from ..ptx.ast import Arguments, Name, Variable
from ..simt.broadcasting import unique_integers
from ..simt.thread_group import CALL, EXIT, PARTIAL_EXIT, RETURN, Divergence, SchedulerEvent
from .handler_registry import NAMESPACE, handles, helper
from .system_calls import SYSTEM_CALLS

NAMESPACE["SchedulerEvent"] = SchedulerEvent
NAMESPACE["RETURN"] = SchedulerEvent(RETURN)
NAMESPACE["EXIT"] = SchedulerEvent(EXIT)


@handles("bra")
def handle_branch(e, ins):
    target = e.program.targets[id(ins)]
    if e.predicate is None:
        return f"return {target}"
    predicate = e.predicate
    e.predicate = None
    return f"return g.branch({predicate}, {target}, {e.pc + 1})"


@helper
def branch_by_index(group, site, index, targets):
    """brx.idx: a pc, or a Divergence by target."""
    if np.max(index) >= len(targets):
        cta, tid = divmod(int(group.flat[np.argmax(group.full(index))]), group.geometry.threads)
        why = f"branch index {np.max(index)} is out of range: the list has {len(targets)} labels"
        thread = group.geometry.thread_name(cta, tid)
        raise EmulatorFault(why, instruction=site.text, line=site.line, thread=thread)
    if np.ndim(index) == 0:
        return targets[int(index)]
    values = unique_integers(index)
    if len(values) == 1:
        return targets[int(values[0])]
    return Divergence([(index == value, targets[int(value)]) for value in values])


@handles("brx")
def handle_indexed_branch(e, ins):
    index, site = e.use(ins.args[0], "u32"), e.constant(ins, "ins")
    return f"return branch_by_index(g, {site}, {index}, {e.program.targets[id(ins)]})"


def emit_return_or_exit(e, event: str) -> str:
    """Emit ret or exit; a predicated one splits off the threads that leave."""
    if e.predicate is None:
        return f"return {event}"
    predicate, e.predicate = e.predicate, None
    return f"return return_or_exit_some(g, {predicate}, {event}, {e.pc + 1})"


@helper
def return_or_exit_some(group, predicate, event, after):
    if not np.any(predicate):
        return after
    if np.all(predicate):
        return event
    return SchedulerEvent(PARTIAL_EXIT, predicate, event, after)


@handles("ret")
def handle_return(e, ins):
    return emit_return_or_exit(e, "RETURN")


@handles("exit")
def handle_exit(e, ins):
    return emit_return_or_exit(e, "EXIT")


@helper
def trap(group, site):
    cta, tid = divmod(int(group.flat[0]), group.geometry.threads)
    raise EmulatorFault("trap", instruction=site.text, line=site.line, thread=group.geometry.thread_name(cta, tid))


@handles("trap")
def handle_trap(e, ins):
    e.line(f"trap(g, {e.constant(ins, 'ins')})")
    return "return EXIT"


@handles("brkpt", "pmevent", "nanosleep", "griddepcontrol")
def handle_nothing(e, ins):
    """No effect on values."""


# -- calls -------------------------------------------------------------------------------------------
def split_call_operands(ins):
    """(result variables, function name, argument variables)."""
    args = list(ins.args)
    results = args.pop(0).items if isinstance(args[0], Arguments) else []
    name = args.pop(0).name
    arguments = next((a.items for a in args if isinstance(a, Arguments)), [])
    return results, name, arguments


@handles("call")
def handle_call(e, ins):
    results, name, arguments = split_call_operands(ins)
    if name in SYSTEM_CALLS:
        check_builtin(e, name, results, arguments)
        e.line(
            f"call_{name.strip('_')}(g, {e.constant(ins, 'ins')}, {variables(e, results)}, {variables(e, arguments)})"
        )
        return f"return {e.pc + 1}"
    function = e.program.module.functions.get(name)
    if function is None or name not in e.program.starts:
        e.fail("the target of the call is not a function")
    if (len(results), len(arguments)) != (len(function.results), len(function.params)):
        e.fail(f"{name} has {len(function.params)} parameters and {len(function.results)} results")
    for actual, formal in zip(arguments, function.params):
        copy(e, formal, actual)
    return f"return SchedulerEvent({CALL!r}, {e.program.starts[name]}, {e.pc + 1})"


def check_builtin(e, name: str, results, arguments) -> None:
    sizes = tuple(tuple(variable(e, operand).size for operand in operands) for operands in (results, arguments))
    if sizes != SYSTEM_CALLS[name] and (name != "vprintf" or sizes != ((), SYSTEM_CALLS[name][1])):
        e.fail(f"{name} has results and parameters of {SYSTEM_CALLS[name]} bytes, got {sizes}")


@handles("_call_results")
def handle_call_results(e, ins):
    results, name, _ = split_call_operands(ins)
    function = e.program.module.functions.get(name)
    if function is not None and function.defined:
        for actual, formal in zip(results, function.results):
            copy(e, actual, formal)


def variables(e, names) -> str:
    return e.constant([variable(e, n) for n in names], "vars")


def variable(e, operand) -> Variable:
    found = e.program.lookup(operand) if isinstance(operand, Name) else operand
    if not isinstance(found, Variable):
        e.fail("call arguments must be .param variables")
    return found


def copy(e, to, source):
    to, source = variable(e, to), variable(e, source)
    e.line(f"copy_local(g, {to.offset}, {source.offset}, {min(to.size, source.size)})")


@helper
def copy_local(group, to, source, size):
    """Copy bytes within each thread's local memory."""
    memories = group.memories
    memory = memories.local.reshape(-1, memories.local_size)
    if group.size == len(memory):
        memory[:, to : to + size] = memory[:, source : source + size]
    else:
        flat = group.flat
        memory[flat, to : to + size] = memory[flat, source : source + size]
