// Between floating-point formats: one instruction, or bits where the GPU has none.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_90

// ---- eight_bits_by_pairs
!n = tensor<64xi32, #cute.layout<(64), (32,1,2):(2,0,1)>>
!h = tensor<64xf16, #cute.layout<(64), (32,1,2):(2,0,1)>>
!s = tensor<64xf32, #cute.layout<(64), (32,1,2):(2,0,1)>>
!e4 = tensor<64xf8E4M3FN, #cute.layout<(64), (32,1,2):(2,0,1)>>
!e5 = tensor<64xf8E5M2, #cute.layout<(64), (32,1,2):(2,0,1)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  %i = nv_tileas.make_range : !n
  %x = arith.sitofp %i : (!n) -> !s
  %a = nv_tileas.fp_to_fp %x {rounding_mode = "nearest_even"} : (!s) -> !e4
  %b = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (!e4) -> !h
  %c = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (!h) -> !e5
  %d = nv_tileas.fp_to_fp %c {rounding_mode = "nearest_even"} : (!e5) -> !s
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22arguments\22: [], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.shl %3, %4 : i32
    %6 = llvm.mlir.constant(0.000000e+00 : f32) : f32
    %7 = llvm.mlir.constant(0 : i32) : i32
    %8 = llvm.add %5, %4 : i32
    %9 = llvm.sitofp %5 : i32 to f32
    %10 = llvm.sitofp %8 : i32 to f32
    %11 = nvvm.convert.f32x2.packed %6, %9 {dstTy = "e4m3", rnd = #nvvm.fp_rnd_mode<rn>} : i16
    %12 = llvm.trunc %11 : i16 to i8
    %13 = nvvm.convert.f32x2.packed %6, %10 {dstTy = "e4m3", rnd = #nvvm.fp_rnd_mode<rn>} : i16
    %14 = llvm.trunc %13 : i16 to i8
    %15 = llvm.zext %12 : i8 to i16
    %16 = nvvm.convert.packed.f16x2 %15 {srcTy = "e4m3"} : i16 -> vector<2xf16>
    %17 = llvm.extractelement %16[%7 : i32] : vector<2xf16>
    %18 = llvm.fpext %17 : f16 to f32
    %19 = llvm.fptrunc %18 : f32 to f16
    %20 = llvm.zext %14 : i8 to i16
    %21 = nvvm.convert.packed.f16x2 %20 {srcTy = "e4m3"} : i16 -> vector<2xf16>
    %22 = llvm.extractelement %21[%7 : i32] : vector<2xf16>
    %23 = llvm.fpext %22 : f16 to f32
    %24 = llvm.fptrunc %23 : f32 to f16
    %25 = llvm.fpext %19 : f16 to f32
    %26 = nvvm.convert.f32x2.packed %6, %25 {dstTy = "e5m2", rnd = #nvvm.fp_rnd_mode<rn>} : i16
    %27 = llvm.trunc %26 : i16 to i8
    %28 = llvm.fpext %24 : f16 to f32
    %29 = nvvm.convert.f32x2.packed %6, %28 {dstTy = "e5m2", rnd = #nvvm.fp_rnd_mode<rn>} : i16
    %30 = llvm.trunc %29 : i16 to i8
    %31 = llvm.zext %27 : i8 to i16
    %32 = nvvm.convert.packed.f16x2 %31 {srcTy = "e5m2"} : i16 -> vector<2xf16>
    %33 = llvm.extractelement %32[%7 : i32] : vector<2xf16>
    %34 = llvm.fpext %33 : f16 to f32
    %35 = llvm.zext %30 : i8 to i16
    %36 = nvvm.convert.packed.f16x2 %35 {srcTy = "e5m2"} : i16 -> vector<2xf16>
    %37 = llvm.extractelement %36[%7 : i32] : vector<2xf16>
    %38 = llvm.fpext %37 : f16 to f32
    llvm.return
  }
}

// ---- tf32
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%v: f32):
  %a = nv_tileas.fp_to_fp %v {rounding_mode = "nearest_even"} : (f32) -> tf32
  %b = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tf32) -> f32
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = nvvm.cvt.float %a0 {rounding = "rn", target = "tf32"} : (f32) -> i32
    %1 = llvm.bitcast %0 : i32 to f32
    llvm.return
  }
}

// ---- tf32_where_the_gpu_has_no_instruction
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%v: f32):
  %a = nv_tileas.fp_to_fp %v {rounding_mode = "nearest_even"} : (f32) -> tf32
  %b = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tf32) -> f32
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(13 : i32) : i32
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(4095 : i32) : i32
    %3 = llvm.mlir.constant(-8192 : i32) : i32
    %4 = llvm.mlir.constant(0.000000e+00 : f32) : f32
    %5 = llvm.bitcast %a0 : f32 to i32
    %6 = llvm.lshr %5, %0 : i32
    %7 = llvm.and %6, %1 : i32
    %8 = llvm.add %5, %2 : i32
    %9 = llvm.add %8, %7 : i32
    %10 = llvm.and %9, %3 : i32
    %11 = llvm.bitcast %10 : i32 to f32
    %12 = llvm.fcmp "uno" %a0, %4 : f32
    %13 = llvm.select %12, %a0, %11 : i1, f32
    llvm.return
  }
}

// ---- bits_where_the_gpu_has_no_instruction
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%v: f8E4M3FN):
  %a = nv_tileas.fp_to_fp %v {rounding_mode = "nearest_even"} : (f8E4M3FN) -> f32
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i8\22, \22size\22: 1, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [1], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: i8) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(127 : i32) : i32
    %1 = llvm.mlir.constant(20 : i32) : i32
    %2 = llvm.mlir.constant(1.329228e+36 : f32) : f32
    %3 = llvm.mlir.constant(2143289344 : i32) : i32
    %4 = llvm.mlir.constant(128 : i32) : i32
    %5 = llvm.mlir.constant(24 : i32) : i32
    %6 = llvm.zext %a0 : i8 to i32
    %7 = llvm.and %6, %0 : i32
    %8 = llvm.shl %7, %1 : i32
    %9 = llvm.bitcast %8 : i32 to f32
    %10 = llvm.fmul %9, %2 : f32
    %11 = llvm.bitcast %10 : f32 to i32
    %12 = llvm.icmp "eq" %7, %0 : i32
    %13 = llvm.select %12, %3, %11 : i1, i32
    %14 = llvm.and %6, %4 : i32
    %15 = llvm.shl %14, %5 : i32
    %16 = llvm.or %13, %15 : i32
    %17 = llvm.bitcast %16 : i32 to f32
    llvm.return
  }
}
