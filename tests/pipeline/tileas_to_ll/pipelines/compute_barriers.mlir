// Barriers of the compute threads of a cluster: the hardware's, or an mbarrier beside producer warps.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_90

// ---- all_threads_of_the_cluster
nv_tileaa.func @k attributes {num_warps = 4 : i32, num_ctas = 2 : i32, cluster_barriers} {
  nv_tileas.barrier {cluster}
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22arguments\22: [], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 128, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [2, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>, nvvm.cluster_dim = array<i32: 2, 1, 1>, nvvm.blocksareclusters} {
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
    llvm.return
  }
}

// ---- compute_warps_of_the_cluster
nv_tileaa.func @k attributes {num_warps = 4 : i32, num_ctas = 2 : i32, cluster_barriers, producer_warps = 1 : i32, shared_bytes = 8 : i32} {
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    nv_tileas.barrier {cluster, shared_offset = 0 : i32}
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22arguments\22: [], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 160, \22shared_memory\22: {\22static\22: 8, \22dynamic\22: 0}, \22cluster\22: [2, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<8 x i8>
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 160>, nvvm.cluster_dim = array<i32: 2, 1, 1>, nvvm.blocksareclusters} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(0 : i32) : i32
    %3 = llvm.icmp "eq" %1, %2 : i32
    %4 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %5 = llvm.mlir.constant(0) : i64
    %6 = llvm.mlir.constant(129 : i32) : i32
    %7 = llvm.mlir.constant(5 : i32) : i32
    %8 = llvm.lshr %1, %7 : i32
    %9 = llvm.mlir.constant(32 : i32) : i32
    %10, %11 = gpu.shuffle idx %8, %2, %9 : i32
    %12 = llvm.mlir.constant(4 : i32) : i32
    %13 = llvm.icmp "uge" %10, %12 : i32
    %14 = llvm.mlir.constant(-1 : i32) : i32
    %15 = llvm.ptrtoint %4 : !llvm.ptr<3> to i32
    %16 = llvm.mlir.constant(31 : i32) : i32
    %17 = llvm.and %1, %16 : i32
    %18 = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %19 = llvm.icmp "ne" %17, %18 : i32
    %20 = llvm.mlir.constant(2 : i32) : i32
    %21 = llvm.icmp "ult" %1, %20 : i32
    %22 = llvm.and %21, %19 : i1
    %23 = llvm.mlir.constant(1 : i32) : i32
    %24 = llvm.mlir.constant(128 : i32) : i32
    llvm.cond_br %3, ^bb1, ^bb2
  ^bb1:
    %25 = llvm.getelementptr %4[%5] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %26 = builtin.unrealized_conversion_cast %25 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %27 = builtin.unrealized_conversion_cast %2 : i32 to index
    %28 = builtin.unrealized_conversion_cast %6 : i32 to index
    nvgpu.mbarrier.init %26[%27], %28 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvvm.fence.mbarrier.init
    llvm.br ^bb2
  ^bb2:
    nvvm.cluster.arrive.relaxed {aligned}
    nvvm.cluster.wait {aligned}
    llvm.cond_br %13, ^bb3, ^bb6
  ^bb3:
    %29 = nvvm.elect.sync %14 : (i32) -> !llvm.struct<(i32, i1)>
    %30 = llvm.extractvalue %29[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %30, ^bb4, ^bb5
  ^bb4:
    llvm.br ^bb9
  ^bb5:
    llvm.br ^bb9
  ^bb6:
    %31 = llvm.inttoptr %15 : i32 to !llvm.ptr<3>
    %32 = nvvm.mbarrier.arrive.shared %31 : !llvm.ptr<3> -> i64
    nvvm.barrier.cta.sync.aligned.count %23, %24 : (i32, i32) -> ()
    %33 = llvm.and %17, %23 : i32
    %34 = nvvm.mapa %15 rank(%33) : i32
    %35 = llvm.inttoptr %34 : i32 to !llvm.ptr<7>
    nvvm.mbarrier.arrive %35 predicate(%22) {releases} : (i1, !llvm.ptr<7>) -> ()
    llvm.br ^bb7
  ^bb7:
    %36 = nvvm.mbarrier.try_wait.cluster %31, %32 : (!llvm.ptr<3>, i64) -> i1
    llvm.cond_br %36, ^bb8, ^bb7
  ^bb8:
    llvm.br ^bb9
  ^bb9:
    llvm.return
  }
}
