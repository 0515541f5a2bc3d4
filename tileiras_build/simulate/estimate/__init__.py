"""A performance model: estimates a kernel's time from its SASS, a launch and published GPU rates.

    cubin ──nvdisasm──> sass_parser (sass_operands) ──┐
    manifest, sizes ──> problem_size ──> launch ──────┤
                                                      ├─> warp_trace: paths of the warps of sampled CTAs
                                                      │     ├─> cta_work_counts: cycles of each pipe
                                                      │     └─> cta_timeline (memory_load): latency of one CTA
    registers, shared memory ──> occupancy_waves ─────┴─> roofline ──> concurrent_ctas ──> performance_model ──> estimate_report

All values are modelled, not measured. docs/report.md lists what the model leaves out.
"""
