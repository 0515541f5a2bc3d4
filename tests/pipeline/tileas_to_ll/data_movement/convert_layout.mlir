// A tile in another layout: by names, by shuffles, or through shared memory.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- registers_that_only_get_other_names
!one = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
!two = tensor<64xi32, #cute.layout<(64), (32,1,(2,2)):(1,0,(32,0))>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  %x = nv_tileas.make_range : !one
  %y = nv_tileas.convert_layout %x : (!one) -> !two
  %z = arith.addi %y, %y : !two
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22arguments\22: [], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(32 : i32) : i32
    %5 = llvm.add %3, %4 : i32
    %6 = llvm.add %3, %3 : i32
    %7 = llvm.add %5, %5 : i32
    llvm.return
  }
}

// ---- between_lanes
!one = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
!two = tensor<64xi32, #cute.layout<(64), (32,1,2):(2,0,1)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 256 : i32} {
  %x = nv_tileas.make_range : !one
  %y = nv_tileas.convert_layout %x {scratch_bytes = 256 : i32, scratch_offset = 0 : i32} : (!one) -> !two
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22arguments\22: [], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 256, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<256 x i8>
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(32 : i32) : i32
    %5 = llvm.mlir.constant(1 : i32) : i32
    %6 = llvm.and %1, %5 : i32
    %7 = nvvm.intr.ctpop %6 : i32
    %8 = llvm.and %7, %5 : i32
    %9 = llvm.mlir.constant(0 : i32) : i32
    %10 = llvm.icmp "ne" %8, %9 : i32
    %11 = llvm.mlir.constant(15 : i32) : i32
    %12 = llvm.and %1, %11 : i32
    %13 = llvm.shl %12, %5 : i32
    %14 = llvm.mlir.constant(16 : i32) : i32
    %15 = llvm.and %1, %14 : i32
    %16 = llvm.mlir.constant(4 : i32) : i32
    %17 = llvm.lshr %15, %16 : i32
    %18 = llvm.xor %13, %17 : i32
    %19 = llvm.xor %18, %5 : i32
    %20 = nvvm.intr.ctpop %15 : i32
    %21 = llvm.and %20, %5 : i32
    %22 = llvm.icmp "ne" %21, %9 : i32
    %23 = llvm.add %3, %4 : i32
    %24 = llvm.select %10, %23, %3 : i1, i32
    %25 = llvm.select %10, %3, %23 : i1, i32
    %26, %27 = gpu.shuffle idx %24, %18, %4 : i32
    %28, %29 = gpu.shuffle idx %25, %19, %4 : i32
    %30 = llvm.select %22, %28, %26 : i1, i32
    %31 = llvm.select %22, %26, %28 : i1, i32
    llvm.return
  }
}

// ---- between_warps
!one = tensor<64xi32, #cute.layout<(64), (32,2,1):(1,32,0)>>
!two = tensor<64xi32, #cute.layout<(64), (32,2,1):(2,1,0)>>
nv_tileaa.func @k attributes {num_warps = 2 : i32, shared_bytes = 512 : i32} {
  %x = nv_tileas.make_range : !one
  %y = nv_tileas.convert_layout %x {scratch_bytes = 256 : i32, scratch_offset = 256 : i32, sync_before} : (!one) -> !two
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22arguments\22: [], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 64, \22shared_memory\22: {\22static\22: 512, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<512 x i8>
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.and %3, %2 : i32
    %5 = llvm.mlir.constant(5 : i32) : i32
    %6 = llvm.lshr %1, %5 : i32
    %7 = llvm.mlir.constant(1 : i32) : i32
    %8 = llvm.and %6, %7 : i32
    %9 = llvm.shl %8, %5 : i32
    %10 = llvm.xor %4, %9 : i32
    %11 = llvm.mlir.constant(2 : i32) : i32
    %12 = llvm.shl %4, %11 : i32
    %13 = llvm.mlir.constant(132 : i32) : i32
    %14 = llvm.mul %8, %13 : i32
    %15 = llvm.xor %12, %14 : i32
    %16 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %17 = llvm.ptrtoint %16 : !llvm.ptr<3> to i32
    %18 = llvm.add %15, %17 : i32
    %19 = llvm.mlir.constant(15 : i32) : i32
    %20 = llvm.and %3, %19 : i32
    %21 = llvm.mlir.constant(3 : i32) : i32
    %22 = llvm.shl %20, %21 : i32
    %23 = llvm.mlir.constant(16 : i32) : i32
    %24 = llvm.and %3, %23 : i32
    %25 = llvm.mlir.constant(4 : i32) : i32
    %26 = llvm.lshr %24, %25 : i32
    %27 = llvm.mul %26, %13 : i32
    %28 = llvm.xor %22, %27 : i32
    %29 = llvm.shl %8, %11 : i32
    %30 = llvm.xor %28, %29 : i32
    %31 = llvm.add %30, %17 : i32
    gpu.barrier
    nvvm.st %18 values(%10) {offset = 256 : i64, space = "shared"} : (i32, i32) -> ()
    gpu.barrier
    %32 = nvvm.ld %31 {offset = 256 : i64, space = "shared"} : i32
    llvm.return
  }
}
