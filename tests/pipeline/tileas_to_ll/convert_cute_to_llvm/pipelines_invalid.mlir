// Pipelines that cannot be, and what has no lowering.
// run: convert-pipeline-to-nvvm sm_90

// ---- no_stages
func.func @k(%p: !cutlass.pipeline<0>) {
  func.return
}
// ==>
// no_stages:1:38: error[ir-invalid]: the module does not verify: cutlass.pipeline.init: invalid numStages

// ---- nobody_produces
// seed: lowering-overview role-companions
func.func @k(%p: !cutlass.pipeline<2>) {
  cutlass.pipeline.init %p {num_producers = 0 : i32, num_consumers = 1 : i32} : (!cutlass.pipeline<2>) -> ()
  func.return
}
// ==>
// error[pipeline-participants]: 'cutlass.pipeline.init' op cutlass.pipeline.init: participants length mismatch

// ---- a_barrier_that_no_cta_has
func.func @k() {
  cutlass.named_barrier.arrive {id = 16 : i32, threads = 128 : i32} : () -> ()
  func.return
}
// ==>
// error[barrier-id]: 'cutlass.named_barrier.arrive' op has barrier 16: a CTA has 16

// ---- a_barrier_with_a_name
func.func @k() {
  cutlass.named_barrier.arrive {id = "first", threads = 128 : i32} : () -> ()
  func.return
}
// ==>
// error[cute-attribute]: 'cutlass.named_barrier.arrive' op needs an integer as its attribute id, not "first"

// ---- part_of_a_warp
func.func @k() {
  cutlass.named_barrier.arrive {id = 3 : i32, threads = 100 : i32} : () -> ()
  func.return
}
// ==>
// error[barrier-threads]: 'cutlass.named_barrier.arrive' op waits for 100 threads, which is no multiple of a warp

// ---- an_operation_without_a_rewrite
// seed: lowering-overview role-companions
func.func @k(%x: i32) {
  cutlass.block_striped.load %x : (i32) -> ()
  func.return
}
// ==>
// error[illegal-operation]: failed to legalize operation 'cutlass.block_striped.load' that was explicitly marked illegal; no rewrite of convert-pipeline-to-nvvm has it as its root
