// Reductions and scans: in registers first, between lanes by shuffles, between warps by shared memory.
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

// ---- a_scan_within_a_warp
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(2,0,1)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  %x = nv_tileas.make_range : !tile
  %sum = nv_tileas.scan %x attributes {axis = 0 : i32} : !tile {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
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
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.shl %3, %4 : i32
    %6 = llvm.and %1, %4 : i32
    %7 = llvm.mlir.constant(0 : i32) : i32
    %8 = llvm.icmp "ne" %6, %7 : i32
    %9 = llvm.mlir.constant(30 : i32) : i32
    %10 = llvm.and %1, %9 : i32
    %11 = llvm.mlir.constant(32 : i32) : i32
    %12 = llvm.mlir.constant(2 : i32) : i32
    %13 = llvm.and %1, %12 : i32
    %14 = llvm.icmp "ne" %13, %7 : i32
    %15 = llvm.mlir.constant(29 : i32) : i32
    %16 = llvm.and %1, %15 : i32
    %17 = llvm.or %16, %4 : i32
    %18 = llvm.mlir.constant(4 : i32) : i32
    %19 = llvm.and %1, %18 : i32
    %20 = llvm.icmp "ne" %19, %7 : i32
    %21 = llvm.mlir.constant(27 : i32) : i32
    %22 = llvm.and %1, %21 : i32
    %23 = llvm.mlir.constant(3 : i32) : i32
    %24 = llvm.or %22, %23 : i32
    %25 = llvm.mlir.constant(8 : i32) : i32
    %26 = llvm.and %1, %25 : i32
    %27 = llvm.icmp "ne" %26, %7 : i32
    %28 = llvm.mlir.constant(23 : i32) : i32
    %29 = llvm.and %1, %28 : i32
    %30 = llvm.mlir.constant(7 : i32) : i32
    %31 = llvm.or %29, %30 : i32
    %32 = llvm.mlir.constant(16 : i32) : i32
    %33 = llvm.and %1, %32 : i32
    %34 = llvm.icmp "ne" %33, %7 : i32
    %35 = llvm.mlir.constant(15 : i32) : i32
    %36 = llvm.and %1, %35 : i32
    %37 = llvm.or %36, %35 : i32
    %38 = llvm.add %5, %4 : i32
    %39 = llvm.add %5, %38 : i32
    %40, %41 = gpu.shuffle idx %39, %10, %11 : i32
    %42 = llvm.add %40, %5 : i32
    %43 = llvm.select %8, %42, %5 : i1, i32
    %44 = llvm.add %40, %39 : i32
    %45 = llvm.select %8, %44, %39 : i1, i32
    %46, %47 = gpu.shuffle idx %45, %17, %11 : i32
    %48 = llvm.add %46, %43 : i32
    %49 = llvm.select %14, %48, %43 : i1, i32
    %50 = llvm.add %46, %45 : i32
    %51 = llvm.select %14, %50, %45 : i1, i32
    %52, %53 = gpu.shuffle idx %51, %24, %11 : i32
    %54 = llvm.add %52, %49 : i32
    %55 = llvm.select %20, %54, %49 : i1, i32
    %56 = llvm.add %52, %51 : i32
    %57 = llvm.select %20, %56, %51 : i1, i32
    %58, %59 = gpu.shuffle idx %57, %31, %11 : i32
    %60 = llvm.add %58, %55 : i32
    %61 = llvm.select %27, %60, %55 : i1, i32
    %62 = llvm.add %58, %57 : i32
    %63 = llvm.select %27, %62, %57 : i1, i32
    %64, %65 = gpu.shuffle idx %63, %37, %11 : i32
    %66 = llvm.add %64, %61 : i32
    %67 = llvm.select %34, %66, %61 : i1, i32
    %68 = llvm.add %64, %63 : i32
    %69 = llvm.select %34, %68, %63 : i1, i32
    llvm.return
  }
}

// ---- a_scan_from_the_end
!tile = tensor<32xf32, #cute.layout<(32), (32,1,1):(1,0,0)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%v: f32):
  %x = nv_tileas.splat %v : (f32) -> !tile
  %sum = nv_tileas.scan %x attributes {axis = 0 : i32, reverse} : !tile {
  ^bb0(%a: f32, %b: f32):
    %c = nv_tileas.addf %a, %b {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %c : (f32) -> ()
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(1 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(0 : i32) : i32
    %5 = llvm.icmp "eq" %3, %4 : i32
    %6 = llvm.mlir.constant(31 : i32) : i32
    %7 = llvm.and %1, %6 : i32
    %8 = llvm.or %7, %2 : i32
    %9 = llvm.mlir.constant(32 : i32) : i32
    %10 = llvm.mlir.constant(2 : i32) : i32
    %11 = llvm.and %1, %10 : i32
    %12 = llvm.icmp "eq" %11, %4 : i32
    %13 = llvm.mlir.constant(30 : i32) : i32
    %14 = llvm.and %1, %13 : i32
    %15 = llvm.or %14, %10 : i32
    %16 = llvm.mlir.constant(4 : i32) : i32
    %17 = llvm.and %1, %16 : i32
    %18 = llvm.icmp "eq" %17, %4 : i32
    %19 = llvm.mlir.constant(28 : i32) : i32
    %20 = llvm.and %1, %19 : i32
    %21 = llvm.or %20, %16 : i32
    %22 = llvm.mlir.constant(8 : i32) : i32
    %23 = llvm.and %1, %22 : i32
    %24 = llvm.icmp "eq" %23, %4 : i32
    %25 = llvm.mlir.constant(24 : i32) : i32
    %26 = llvm.and %1, %25 : i32
    %27 = llvm.or %26, %22 : i32
    %28 = llvm.mlir.constant(16 : i32) : i32
    %29 = llvm.and %1, %28 : i32
    %30 = llvm.icmp "eq" %29, %4 : i32
    %31 = llvm.or %29, %28 : i32
    %32, %33 = gpu.shuffle idx %a0, %8, %9 : f32
    %34 = llvm.fadd %32, %a0 : f32
    %35 = llvm.select %5, %34, %a0 : i1, f32
    %36, %37 = gpu.shuffle idx %35, %15, %9 : f32
    %38 = llvm.fadd %36, %35 : f32
    %39 = llvm.select %12, %38, %35 : i1, f32
    %40, %41 = gpu.shuffle idx %39, %21, %9 : f32
    %42 = llvm.fadd %40, %39 : f32
    %43 = llvm.select %18, %42, %39 : i1, f32
    %44, %45 = gpu.shuffle idx %43, %27, %9 : f32
    %46 = llvm.fadd %44, %43 : f32
    %47 = llvm.select %24, %46, %43 : i1, f32
    %48, %49 = gpu.shuffle idx %47, %31, %9 : f32
    %50 = llvm.fadd %48, %47 : f32
    %51 = llvm.select %30, %50, %47 : i1, f32
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
