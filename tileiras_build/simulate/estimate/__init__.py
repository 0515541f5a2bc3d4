"""How long a kernel would take, by a model: from its machine code, a launch and published rates of the machine.

    cubin ──nvdisasm──> machine_code (operands) ──┐
    manifest, sizes ──> problem ──> launch ───────┤
                                                  ├─> trace (warp, semantics, slices, access): paths of sampled blocks
                                                  │     ├─> work (instruction_classes, machines): clocks of each pipe
                                                  │     └─> timeline: one block's clocks with its waits
    registers, shared memory ──> waves ───────────┴─> bounds ──> model ──> report

It is a model: nothing here has seen a clock. docs/estimate.md says what it leaves out.
"""
