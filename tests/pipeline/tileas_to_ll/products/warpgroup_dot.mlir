// Products of warpgroups: fences, one wgmma for each step along k, a commit, a wait (PTX ISA 9.0, section 9.7.15).
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_90

// ---- two_steps_of_descriptors
!lhs = !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>>
!rhs = !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<2,3,3> o (32,8):(1,32)>>
!tile = tensor<64x8xf32, #cute.layout<(64,8), ((4,8),4,(2,2)):((2,8),128,(1,64))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 9216 : i32} {
^bb0(%x: f32, %stage: i32):
  %a = nv_tileas.alloc_tensor {shared_offset = 0 : i32} : !lhs
  %b = nv_tileas.alloc_tensor {shared_offset = 8192 : i32} : !rhs
  %c = nv_tileas.splat %x : (f32) -> !tile
  %d = nv_tileas.async.dot %a, %b, %c lhs_stage(%stage) rhs_stage(%stage) {lhs_placement = #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>, rhs_placement = #cute.shared<16, swizzle<2,3,3> o (32,8):(1,32)>, atom = "wgmma_m64k16_f16_f16_f32", pending = 1 : i32} : (!lhs, !rhs, !tile, i32, i32) -> !tile
  %e = nv_tileas.async.dot_wait %d {pending = 0 : i32} : !tile
  %f = nv_tileas.addf %e, %e {rounding_mode = "nearest_even"} : !tile
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 4, \22role\22: \22scalar\22, \22argument\22: 1}], \22param_sizes\22: [4, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 128, \22shared_memory\22: {\22static\22: 9216, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<9216 x i8>
  llvm.func @k(%a0: f32, %a1: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(5 : i32) : i32
    %3 = llvm.lshr %1, %2 : i32
    %4 = llvm.mlir.constant(0 : i32) : i32
    %5 = llvm.mlir.constant(32 : i32) : i32
    %6, %7 = gpu.shuffle idx %3, %4, %5 : i32
    %8 = llvm.mlir.constant(4096 : i32) : i32
    %9 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %10 = llvm.ptrtoint %9 : !llvm.ptr<3> to i32
    %11 = llvm.mlir.constant(262143 : i32) : i32
    %12 = llvm.mlir.constant(4 : i32) : i32
    %13 = llvm.mlir.constant(-9223371899415822336) : i64
    %14 = llvm.mlir.constant(512 : i32) : i32
    %15 = llvm.mlir.constant(8192 : i32) : i32
    %16 = llvm.mlir.constant(2) : i64
    %17 = llvm.mul %a1, %8 : i32
    %18 = llvm.add %17, %10 : i32
    %19 = llvm.and %18, %11 : i32
    %20 = llvm.lshr %19, %12 : i32
    %21 = llvm.zext %20 : i32 to i64
    %22 = llvm.or %21, %13 : i64
    %23 = llvm.mul %a1, %14 : i32
    %24 = llvm.add %23, %15 : i32
    %25 = llvm.add %24, %10 : i32
    %26 = llvm.and %25, %11 : i32
    %27 = llvm.lshr %26, %12 : i32
    %28 = llvm.zext %27 : i32 to i64
    %29 = llvm.or %28, %13 : i64
    %30 = llvm.add %22, %16 : i64
    %31 = llvm.add %29, %16 : i64
    %32 = nvvm.wgmma.group accumulators(%a0, %a0, %a0, %a0) inputs(%22, %29, %30, %31) {atom = "wgmma_m64k16_f16_f16_f32", columns = 8 : i64, signed = array<i64: 1, 1>, mn_major = array<i64: 0, 0>, left = array<i64: 0, 2>, right = array<i64: 1, 3>, fence, commit, pending = 1 : i64} : (f32, f32, f32, f32, i64, i64, i64, i64) -> !llvm.struct<(f32, f32, f32, f32)>
    %33 = llvm.extractvalue %32[0] : !llvm.struct<(f32, f32, f32, f32)>
    %34 = llvm.extractvalue %32[1] : !llvm.struct<(f32, f32, f32, f32)>
    %35 = llvm.extractvalue %32[2] : !llvm.struct<(f32, f32, f32, f32)>
    %36 = llvm.extractvalue %32[3] : !llvm.struct<(f32, f32, f32, f32)>
    %37 = nvvm.wgmma.wait accumulators(%33, %34, %35, %36) {pending = 0 : i64} : (f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %38 = llvm.extractvalue %37[0] : !llvm.struct<(f32, f32, f32, f32)>
    %39 = llvm.extractvalue %37[1] : !llvm.struct<(f32, f32, f32, f32)>
    %40 = llvm.extractvalue %37[2] : !llvm.struct<(f32, f32, f32, f32)>
    %41 = llvm.extractvalue %37[3] : !llvm.struct<(f32, f32, f32, f32)>
    %42 = llvm.fadd %38, %38 : f32
    %43 = llvm.fadd %39, %39 : f32
    %44 = llvm.fadd %40, %40 : f32
    %45 = llvm.fadd %41, %41 : f32
    llvm.return
  }
}
