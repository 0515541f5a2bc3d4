// Matmuls of warpgroups: fences, one wgmma for each step along k, a commit, a wait (PTX ISA 9.0, section 9.7.15).
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
  %d = nv_tileas.async.dot %a, %b, %c lhs_stage(%stage) rhs_stage(%stage) {lhs_placement = #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>, rhs_placement = #cute.shared<16, swizzle<2,3,3> o (32,8):(1,32)>, mma = "wgmma_m64k16_f16_f16_f32", pending = 1 : i32} : (!lhs, !rhs, !tile, i32, i32) -> !tile
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
    %11 = llvm.mlir.constant(512 : i32) : i32
    %12 = llvm.mlir.constant(8192 : i32) : i32
    %13 = llvm.mul %a1, %8 : i32
    %14 = llvm.add %13, %10 : i32
    %15 = builtin.unrealized_conversion_cast %14 : i32 to memref<64x32xf16, 3 : i64>
    %16 = nvgpu.warpgroup.generate.descriptor %15 {leading_byte_offset = 0 : i64, matrix_stride = 512 : i64, swizzle_mode = #nvgpu<swizzle 64B>} : memref<64x32xf16, 3 : i64> -> !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf16, 3 : i64>>
    %17 = llvm.mul %a1, %11 : i32
    %18 = llvm.add %17, %12 : i32
    %19 = llvm.add %18, %10 : i32
    %20 = builtin.unrealized_conversion_cast %19 : i32 to memref<32x8xf16, 3 : i64>
    %21 = nvgpu.warpgroup.generate.descriptor %20 {leading_byte_offset = 0 : i64, matrix_stride = 0 : i64, swizzle_mode = #nvgpu<swizzle 64B>} : memref<32x8xf16, 3 : i64> -> !nvgpu.warpgroup.descriptor<tensor = memref<32x8xf16, 3 : i64>>
    %22 = builtin.unrealized_conversion_cast %a0, %a0, %a0, %a0 : f32, f32, f32, f32 to !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
    %23 = nvgpu.warpgroup.mma %16, %21, %22 {stepsB = array<i64: 0, 32>, stepsA = array<i64: 0, 32>, waitGroup = 1 : i64} : !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf16, 3 : i64>>, !nvgpu.warpgroup.descriptor<tensor = memref<32x8xf16, 3 : i64>>, !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>> -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
    %24 = builtin.unrealized_conversion_cast %23 : !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>> to !llvm.struct<(f32, f32, f32, f32)>
    %25 = llvm.extractvalue %24[0] : !llvm.struct<(f32, f32, f32, f32)>
    %26 = llvm.extractvalue %24[1] : !llvm.struct<(f32, f32, f32, f32)>
    %27 = llvm.extractvalue %24[2] : !llvm.struct<(f32, f32, f32, f32)>
    %28 = llvm.extractvalue %24[3] : !llvm.struct<(f32, f32, f32, f32)>
    %29 = nvvm.wgmma.wait accumulators(%25, %26, %27, %28) {pending = 0 : i64} : (f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %30 = llvm.extractvalue %29[0] : !llvm.struct<(f32, f32, f32, f32)>
    %31 = llvm.extractvalue %29[1] : !llvm.struct<(f32, f32, f32, f32)>
    %32 = llvm.extractvalue %29[2] : !llvm.struct<(f32, f32, f32, f32)>
    %33 = llvm.extractvalue %29[3] : !llvm.struct<(f32, f32, f32, f32)>
    %34 = llvm.fadd %30, %30 : f32
    %35 = llvm.fadd %31, %31 : f32
    %36 = llvm.fadd %32, %32 : f32
    %37 = llvm.fadd %33, %33 : f32
    llvm.return
  }
}
