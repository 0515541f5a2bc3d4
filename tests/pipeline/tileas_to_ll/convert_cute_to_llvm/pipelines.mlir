// CUTLASS pipelines: barriers in shared memory, states of phase, index and count.
// run: convert-pipeline-to-nvvm sm_90

// ---- one_round_of_a_pipeline
// seed: lowering-overview role-companions
func.func @round(%storage: !llvm.ptr<3>, %at: !cutlass.pipeline.state) -> !cutlass.pipeline.state {
  %p = cutlass.pipeline.create %storage : (!llvm.ptr<3>) -> !cutlass.pipeline<3>
  cutlass.pipeline.init %p {num_producers = 1 : i32, num_consumers = 128 : i32} : (!cutlass.pipeline<3>) -> ()
  %w = cutlass.pipeline.state.create {role = "producer"} : () -> !cutlass.pipeline.state
  cutlass.pipeline.producer_acquire %p, %w : (!cutlass.pipeline<3>, !cutlass.pipeline.state) -> ()
  %b = cutlass.pipeline.get_producer_barrier %p, %w : (!cutlass.pipeline<3>, !cutlass.pipeline.state) -> !llvm.ptr<3>
  cutlass.pipeline.producer_commit %p, %w {tx_count = 8192 : i32} : (!cutlass.pipeline<3>, !cutlass.pipeline.state) -> ()
  cutlass.pipeline.consumer_wait %p, %at : (!cutlass.pipeline<3>, !cutlass.pipeline.state) -> ()
  cutlass.pipeline.consumer_release %p, %at : (!cutlass.pipeline<3>, !cutlass.pipeline.state) -> ()
  %next = cutlass.pipeline.state.increment %at {stages = 3 : i32} : (!cutlass.pipeline.state) -> !cutlass.pipeline.state
  cutlass.named_barrier.arrive_and_wait {id = 1 : i32, threads = 128 : i32} : () -> ()
  func.return %next : !cutlass.pipeline.state
}
// ==>
func.func @round(%storage: !llvm.ptr<3>, %at: !llvm.struct<(i32, i32, i32)>) -> !llvm.struct<(i32, i32, i32)> {
  %0 = llvm.extractvalue %at[0] : !llvm.struct<(i32, i32, i32)>
  %1 = llvm.extractvalue %at[1] : !llvm.struct<(i32, i32, i32)>
  %2 = llvm.extractvalue %at[2] : !llvm.struct<(i32, i32, i32)>
  %3 = llvm.mlir.constant(1 : i32) : i32
  nvvm.mbarrier.init.shared %storage, %3 : !llvm.ptr<3>, i32
  %4 = llvm.getelementptr %storage[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  %5 = llvm.mlir.constant(1 : i32) : i32
  nvvm.mbarrier.init.shared %4, %5 : !llvm.ptr<3>, i32
  %6 = llvm.getelementptr %storage[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  %7 = llvm.mlir.constant(1 : i32) : i32
  nvvm.mbarrier.init.shared %6, %7 : !llvm.ptr<3>, i32
  %8 = llvm.getelementptr %storage[3] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  %9 = llvm.mlir.constant(128 : i32) : i32
  nvvm.mbarrier.init.shared %8, %9 : !llvm.ptr<3>, i32
  %10 = llvm.getelementptr %storage[4] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  %11 = llvm.mlir.constant(128 : i32) : i32
  nvvm.mbarrier.init.shared %10, %11 : !llvm.ptr<3>, i32
  %12 = llvm.getelementptr %storage[5] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  %13 = llvm.mlir.constant(128 : i32) : i32
  nvvm.mbarrier.init.shared %12, %13 : !llvm.ptr<3>, i32
  %14 = llvm.getelementptr %storage[3] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  %15 = llvm.mlir.constant(1 : i32) : i32
  %16 = llvm.mlir.constant(10000000 : i32) : i32
  nvvm.mbarrier.try_wait.parity.shared %14, %15, %16 : !llvm.ptr<3>, i32, i32
  %17 = llvm.mlir.constant(8192 : i32) : i32
  nvvm.mbarrier.arrive.expect_tx.shared %storage, %17 : !llvm.ptr<3>, i32
  %18 = llvm.getelementptr %storage[%1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %19 = llvm.mlir.constant(10000000 : i32) : i32
  nvvm.mbarrier.try_wait.parity.shared %18, %0, %19 : !llvm.ptr<3>, i32, i32
  %20 = llvm.mlir.constant(3 : i32) : i32
  %21 = llvm.add %1, %20 : i32
  %22 = llvm.getelementptr %storage[%21] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %23 = nvvm.mbarrier.arrive.shared %22 : !llvm.ptr<3> -> i64
  %24 = llvm.mlir.constant(1 : i32) : i32
  %25 = llvm.add %1, %24 : i32
  %26 = llvm.mlir.constant(3 : i32) : i32
  %27 = llvm.icmp "eq" %25, %26 : i32
  %28 = llvm.mlir.constant(0 : i32) : i32
  %29 = llvm.select %27, %28, %25 : i1, i32
  %30 = llvm.zext %27 : i1 to i32
  %31 = llvm.xor %0, %30 : i32
  %32 = llvm.mlir.constant(1 : i32) : i32
  %33 = llvm.add %2, %32 : i32
  %34 = llvm.mlir.constant(1 : i32) : i32
  %35 = llvm.mlir.constant(128 : i32) : i32
  nvvm.barrier.cta.sync.aligned.count %34, %35 : (i32, i32) -> ()
  %36 = llvm.mlir.undef : !llvm.struct<(i32, i32, i32)>
  %37 = llvm.insertvalue %31, %36[0] : !llvm.struct<(i32, i32, i32)>
  %38 = llvm.insertvalue %29, %37[1] : !llvm.struct<(i32, i32, i32)>
  %39 = llvm.insertvalue %33, %38[2] : !llvm.struct<(i32, i32, i32)>
  func.return %39 : !llvm.struct<(i32, i32, i32)>
}

// ---- tail_and_attempts
// seed: lowering-overview role-companions
func.func @tail(%p: !cutlass.pipeline<2>, %s: !cutlass.pipeline.state) -> (i1, i32) {
  %d = cutlass.pipeline.consumer_try_wait %p, %s : (!cutlass.pipeline<2>, !cutlass.pipeline.state) -> i1
  cutlass.pipeline.producer_tail %p, %s : (!cutlass.pipeline<2>, !cutlass.pipeline.state) -> ()
  %n = cutlass.pipeline.state.get_count %s : (!cutlass.pipeline.state) -> i32
  func.return %d, %n : i1, i32
}
// ==>
func.func @tail(%p: !llvm.ptr<3>, %s: !llvm.struct<(i32, i32, i32)>) -> (i1, i32) {
  %0 = llvm.extractvalue %s[0] : !llvm.struct<(i32, i32, i32)>
  %1 = llvm.extractvalue %s[1] : !llvm.struct<(i32, i32, i32)>
  %n = llvm.extractvalue %s[2] : !llvm.struct<(i32, i32, i32)>
  %2 = llvm.getelementptr %p[%1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %3 = llvm.mlir.constant(10000000 : i32) : i32
  %4 = llvm.trunc %0 : i32 to i1
  %d = nvvm.mbarrier.try_wait.parity.shared %2, %4, %3 : !llvm.ptr<3>, i1, i32 -> i1
  %5 = llvm.mlir.constant(2 : i32) : i32
  %6 = llvm.add %1, %5 : i32
  %7 = llvm.getelementptr %p[%6] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %8 = llvm.mlir.constant(10000000 : i32) : i32
  nvvm.mbarrier.try_wait.parity.shared %7, %0, %8 : !llvm.ptr<3>, i32, i32
  %9 = llvm.mlir.constant(1 : i32) : i32
  %10 = llvm.add %1, %9 : i32
  %11 = llvm.mlir.constant(2 : i32) : i32
  %12 = llvm.sdiv %10, %11 : i32
  %13 = llvm.mlir.constant(2 : i32) : i32
  %14 = llvm.srem %10, %13 : i32
  %15 = llvm.xor %0, %12 : i32
  %16 = llvm.mlir.constant(2 : i32) : i32
  %17 = llvm.add %14, %16 : i32
  %18 = llvm.getelementptr %p[%17] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %19 = llvm.mlir.constant(10000000 : i32) : i32
  nvvm.mbarrier.try_wait.parity.shared %18, %15, %19 : !llvm.ptr<3>, i32, i32
  %20 = llvm.mlir.constant(1 : i32) : i32
  %21 = llvm.add %14, %20 : i32
  %22 = llvm.mlir.constant(2 : i32) : i32
  %23 = llvm.sdiv %21, %22 : i32
  %24 = llvm.mlir.constant(2 : i32) : i32
  %25 = llvm.srem %21, %24 : i32
  %26 = llvm.xor %15, %23 : i32
  func.return %d, %n : i1, i32
}

// ---- the_last_thread_ends_the_barriers
// seed: nvgpu-gpu-to-nvvm mbarrier-inval
func.func @tail(%p: !cutlass.pipeline<1>) {
  %s = cutlass.pipeline.state.create {role = "producer"} : () -> !cutlass.pipeline.state
  cutlass.pipeline.producer_tail %p, %s {invalidate} : (!cutlass.pipeline<1>, !cutlass.pipeline.state) -> ()
  func.return
}
// ==>
func.func @tail(%p: !llvm.ptr<3>) {
  %0 = llvm.getelementptr %p[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  %1 = llvm.mlir.constant(1 : i32) : i32
  %2 = llvm.mlir.constant(10000000 : i32) : i32
  nvvm.mbarrier.try_wait.parity.shared %0, %1, %2 : !llvm.ptr<3>, i32, i32
  nvvm.mbarrier.inval.shared %p : !llvm.ptr<3>
  %3 = llvm.getelementptr %p[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  nvvm.mbarrier.inval.shared %3 : !llvm.ptr<3>
  func.return
}
