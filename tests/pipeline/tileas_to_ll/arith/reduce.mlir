// Reductions: in registers first, between lanes by shuffles, between warps by shared memory.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- a_reduction_within_a_warp
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  %x = nv_tileas.make_range : !tile
  %sum = nv_tileas.reduce %x attributes {axis = 0 : i32} : (!tile) -> i32 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.muli %a, %b : i32
    nv_tileas.yield %c : (i32) -> ()
  }
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
    %5 = llvm.mlir.constant(1 : i32) : i32
    %6 = llvm.mlir.constant(2 : i32) : i32
    %7 = llvm.mlir.constant(4 : i32) : i32
    %8 = llvm.mlir.constant(8 : i32) : i32
    %9 = llvm.mlir.constant(16 : i32) : i32
    %10 = llvm.add %3, %4 : i32
    %11 = llvm.mul %10, %3 : i32
    %12, %13 = gpu.shuffle xor %11, %5, %4 : i32
    %14 = llvm.mul %12, %11 : i32
    %15, %16 = gpu.shuffle xor %14, %6, %4 : i32
    %17 = llvm.mul %15, %14 : i32
    %18, %19 = gpu.shuffle xor %17, %7, %4 : i32
    %20 = llvm.mul %18, %17 : i32
    %21, %22 = gpu.shuffle xor %20, %8, %4 : i32
    %23 = llvm.mul %21, %20 : i32
    %24, %25 = gpu.shuffle xor %23, %9, %4 : i32
    %26 = llvm.mul %24, %23 : i32
    llvm.return
  }
}

// ---- a_reduction_between_warps
!tile = tensor<128xi32, #cute.layout<(128), (32,2,2):(1,32,64)>>
nv_tileaa.func @k attributes {num_warps = 2 : i32, shared_bytes = 16 : i32} {
  %x = nv_tileas.make_range : !tile
  %sum = nv_tileas.reduce %x attributes {axis = 0 : i32, scratch_bytes = 8 : i32, scratch_offset = 8 : i32} : (!tile) -> i32 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.xori %a, %b : i32
    nv_tileas.yield %c : (i32) -> ()
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22arguments\22: [], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 64, \22shared_memory\22: {\22static\22: 16, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<16 x i8>
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
    %11 = llvm.mlir.constant(64 : i32) : i32
    %12 = llvm.mlir.constant(0 : i32) : i32
    %13 = llvm.icmp "eq" %3, %12 : i32
    %14 = llvm.mlir.constant(2 : i32) : i32
    %15 = llvm.shl %8, %14 : i32
    %16 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %17 = llvm.ptrtoint %16 : !llvm.ptr<3> to i32
    %18 = llvm.add %15, %17 : i32
    %19 = llvm.add %10, %11 : i32
    %20 = llvm.xor %19, %10 : i32
    %21 = gpu.subgroup_reduce xor %20 : (i32) -> i32
    nvvm.st %18 values(%21) predicate(%13) {offset = 8 : i64, space = "shared"} : (i32, i32, i1) -> ()
    gpu.barrier
    %22 = nvvm.ld %17 {offset = 8 : i64, space = "shared"} : i32
    %23 = nvvm.ld %17 {offset = 12 : i64, space = "shared"} : i32
    %24 = llvm.xor %23, %22 : i32
    llvm.return
  }
}

// ---- a_warp_is_summed_by_one_instruction
// run: convert-nv-tile-func-to-llvm ll sm_80
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  %x = nv_tileas.make_range : !tile
  %sum = nv_tileas.reduce %x attributes {axis = 0 : i32} : (!tile) -> i32 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    nv_tileas.yield %c : (i32) -> ()
  }
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k() "nvvm.reqntid"="32" {
b0:
  %v0 = call range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v1 = and i32 %v0, 31
  %v2 = add i32 %v1, 32
  %v3 = add i32 %v2, %v1
  %v4 = call i32 asm "redux.sync.add.s32 $0, $1, $2;", "=r,r,r"(i32 %v3, i32 -1) #0
  ret void
}

// ---- the_largest_float_of_a_warp
// run: convert-nv-tile-func-to-llvm ll sm_100
!ints = tensor<32xi32, #cute.layout<(32), (32,1,1):(1,0,0)>>
!tile = tensor<32xf32, #cute.layout<(32), (32,1,1):(1,0,0)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  %i = nv_tileas.make_range : !ints
  %x = arith.sitofp %i : (!ints) -> !tile
  %most = nv_tileas.reduce %x attributes {axis = 0 : i32} : (!tile) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    nv_tileas.yield %c : (f32) -> ()
  }
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k() "nvvm.reqntid"="32" {
b0:
  %v0 = call range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v1 = and i32 %v0, 31
  %v2 = sitofp i32 %v1 to float
  %v3 = call float asm "redux.sync.max.NaN.f32 $0, $1, $2;", "=f,f,r"(float %v2, i32 -1) #0
  ret void
}
