// Warpgroups that alternate, by named barriers.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_90

// ---- two_warpgroups
nv_tileaa.func @k attributes {num_warps = 8 : i32, producer_warps = 1 : i32} {
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    nv_tileas.async.sequence.open {warpgroups = 2 : i32}
    nv_tileas.async.sequence.wait {warpgroups = 2 : i32}
    nv_tileas.async.sequence.arrive {warpgroups = 2 : i32}
    nv_tileas.async.sequence.close {warpgroups = 2 : i32}
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22arguments\22: [], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 288, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 288>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(0 : i32) : i32
    %3 = llvm.icmp "eq" %1, %2 : i32
    %4 = llvm.mlir.constant(5 : i32) : i32
    %5 = llvm.lshr %1, %4 : i32
    %6 = llvm.mlir.constant(32 : i32) : i32
    %7, %8 = gpu.shuffle idx %5, %2, %6 : i32
    %9 = llvm.mlir.constant(8 : i32) : i32
    %10 = llvm.icmp "uge" %7, %9 : i32
    %11 = llvm.mlir.constant(-1 : i32) : i32
    %12 = llvm.mlir.constant(4 : i32) : i32
    %13 = llvm.icmp "uge" %7, %12 : i32
    %14 = llvm.mlir.constant(2 : i32) : i32
    %15 = llvm.mlir.constant(256 : i32) : i32
    %16 = llvm.lshr %7, %14 : i32
    %17 = llvm.mlir.constant(1 : i32) : i32
    %18 = llvm.add %16, %17 : i32
    %19 = llvm.icmp "eq" %18, %14 : i32
    %20 = llvm.select %19, %2, %18 : i1, i32
    %21 = llvm.add %20, %14 : i32
    %22 = llvm.icmp "ult" %7, %12 : i32
    llvm.cond_br %3, ^bb1, ^bb2
  ^bb1:
    nvvm.fence.mbarrier.init
    llvm.br ^bb2
  ^bb2:
    gpu.barrier
    llvm.cond_br %10, ^bb3, ^bb6
  ^bb3:
    %23 = nvvm.elect.sync %11 : (i32) -> !llvm.struct<(i32, i1)>
    %24 = llvm.extractvalue %23[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %24, ^bb4, ^bb5
  ^bb4:
    llvm.br ^bb11
  ^bb5:
    llvm.br ^bb11
  ^bb6:
    llvm.cond_br %13, ^bb7, ^bb8
  ^bb7:
    nvvm.barrier.cta.arrive.aligned.count %14, %15 : (i32, i32) -> ()
    llvm.br ^bb8
  ^bb8:
    %25 = llvm.add %16, %14 : i32
    nvvm.barrier.cta.sync.aligned.count %25, %15 : (i32, i32) -> ()
    nvvm.barrier.cta.arrive.aligned.count %21, %15 : (i32, i32) -> ()
    llvm.cond_br %22, ^bb9, ^bb10
  ^bb9:
    nvvm.barrier.cta.sync.aligned.count %14, %15 : (i32, i32) -> ()
    llvm.br ^bb10
  ^bb10:
    llvm.br ^bb11
  ^bb11:
    llvm.return
  }
}
