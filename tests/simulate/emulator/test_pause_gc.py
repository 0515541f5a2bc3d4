"""Garbage collection pauses while a kernel is translated."""

import gc

from tileiras_build.simulate.emulator.ptx.program import load


def test_translation_pauses_garbage_collection():
    collected: list[int] = []
    note = lambda phase, about: collected.append(about["generation"])
    program = "\n".join(f"mov.u32 %r{i}, {i};" for i in range(3000))
    text = f".version 8.0\n.target sm_80\n.address_size 64\n.entry many() {{ .reg .b32 %r<3000>;\n{program}\nret; }}"
    thresholds = gc.get_threshold()
    gc.set_threshold(700, *thresholds[1:])
    gc.callbacks.append(note)
    try:
        load(text, "many", None)
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*thresholds)
    assert len(collected) <= 4 and gc.isenabled()
