// Matmuls of fragments in registers.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- a_matmul_by_mma_sync
!na = tensor<256xi32, #cute.layout<(256), ((4,8),1,(2,2,2)):((2,16),0,(1,128,8))>>
!ra = tensor<256xf16, #cute.layout<(256), ((4,8),1,(2,2,2)):((2,16),0,(1,128,8))>>
!nb = tensor<128xi32, #cute.layout<(128), ((4,8),1,(2,2)):((16,1),0,(8,64))>>
!rb = tensor<128xf16, #cute.layout<(128), ((4,8),1,(2,2)):((16,1),0,(8,64))>>
!a = tensor<16x16xf16, #cute.layout<(16,16), ((4,8),1,(2,2,2)):((2,16),0,(1,128,8))>>
!b = tensor<16x8xf16, #cute.layout<(16,8), ((4,8),1,(2,2)):((16,1),0,(8,64))>>
!c = tensor<16x8xf32, #cute.layout<(16,8), ((4,8),1,(2,2)):((2,8),0,(1,64))>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%z: f32):
  %ia = nv_tileas.make_range : !na
  %fa = arith.sitofp %ia : (!na) -> !ra
  %a = nv_tileas.view %fa : (!ra) -> !a
  %ib = nv_tileas.make_range : !nb
  %fb = arith.sitofp %ib : (!nb) -> !rb
  %b = nv_tileas.view %fb : (!rb) -> !b
  %c = nv_tileas.splat %z : (f32) -> !c
  %d = nv_tileas.dot %a, %b, %c {mma = "mma_m16n8k16_f16_f16_f32", warps = array<i32: 1, 1, 1>} : (!a, !b, !c) -> !c
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(3 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.shl %3, %4 : i32
    %6 = llvm.mlir.constant(28 : i32) : i32
    %7 = llvm.and %1, %6 : i32
    %8 = llvm.mlir.constant(2 : i32) : i32
    %9 = llvm.shl %7, %8 : i32
    %10 = llvm.xor %5, %9 : i32
    %11 = llvm.mlir.constant(128 : i32) : i32
    %12 = llvm.mlir.constant(129 : i32) : i32
    %13 = llvm.mlir.constant(8 : i32) : i32
    %14 = llvm.mlir.constant(9 : i32) : i32
    %15 = llvm.mlir.constant(136 : i32) : i32
    %16 = llvm.mlir.constant(137 : i32) : i32
    %17 = llvm.mlir.constant(4 : i32) : i32
    %18 = llvm.shl %3, %17 : i32
    %19 = llvm.lshr %7, %8 : i32
    %20 = llvm.xor %18, %19 : i32
    %21 = llvm.mlir.constant(64 : i32) : i32
    %22 = llvm.mlir.constant(72 : i32) : i32
    %23 = llvm.add %10, %4 : i32
    %24 = llvm.add %10, %11 : i32
    %25 = llvm.add %10, %12 : i32
    %26 = llvm.add %10, %13 : i32
    %27 = llvm.add %10, %14 : i32
    %28 = llvm.add %10, %15 : i32
    %29 = llvm.add %10, %16 : i32
    %30 = llvm.sitofp %10 : i32 to f16
    %31 = llvm.sitofp %23 : i32 to f16
    %32 = llvm.sitofp %24 : i32 to f16
    %33 = llvm.sitofp %25 : i32 to f16
    %34 = llvm.sitofp %26 : i32 to f16
    %35 = llvm.sitofp %27 : i32 to f16
    %36 = llvm.sitofp %28 : i32 to f16
    %37 = llvm.sitofp %29 : i32 to f16
    %38 = llvm.add %20, %13 : i32
    %39 = llvm.add %20, %21 : i32
    %40 = llvm.add %20, %22 : i32
    %41 = llvm.sitofp %20 : i32 to f16
    %42 = llvm.sitofp %38 : i32 to f16
    %43 = llvm.sitofp %39 : i32 to f16
    %44 = llvm.sitofp %40 : i32 to f16
    %45 = nvvm.mov.b32.pack %30, %31 : (f16, f16) -> i32
    %46 = nvvm.mov.b32.pack %32, %33 : (f16, f16) -> i32
    %47 = nvvm.mov.b32.pack %34, %35 : (f16, f16) -> i32
    %48 = nvvm.mov.b32.pack %36, %37 : (f16, f16) -> i32
    %49 = llvm.bitcast %45 : i32 to vector<2xf16>
    %50 = llvm.bitcast %46 : i32 to vector<2xf16>
    %51 = llvm.bitcast %47 : i32 to vector<2xf16>
    %52 = llvm.bitcast %48 : i32 to vector<2xf16>
    %53 = nvvm.mov.b32.pack %41, %42 : (f16, f16) -> i32
    %54 = nvvm.mov.b32.pack %43, %44 : (f16, f16) -> i32
    %55 = llvm.bitcast %53 : i32 to vector<2xf16>
    %56 = llvm.bitcast %54 : i32 to vector<2xf16>
    %57, %58, %59, %60 = cute_nvgpu.arch.mma.SM80 a(%49, %50, %51, %52) b(%55, %56) c(%a0, %a0, %a0, %a0) {atom = !cute_nvgpu.sm80.mma<"16x8x16 f16 f16 f32">} : (vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    llvm.return
  }
}
