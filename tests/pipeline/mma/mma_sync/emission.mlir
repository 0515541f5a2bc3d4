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
    %17 = llvm.mlir.constant(16 : i32) : i32
    %18 = llvm.mlir.constant(1677747200 : i32) : i32
    %19 = llvm.mlir.constant(0 : i32) : i32
    %20 = llvm.mlir.constant(4 : i32) : i32
    %21 = llvm.shl %3, %20 : i32
    %22 = llvm.lshr %7, %8 : i32
    %23 = llvm.xor %21, %22 : i32
    %24 = llvm.mlir.constant(64 : i32) : i32
    %25 = llvm.mlir.constant(72 : i32) : i32
    %26 = llvm.add %10, %4 : i32
    %27 = llvm.add %10, %11 : i32
    %28 = llvm.add %10, %12 : i32
    %29 = llvm.add %10, %13 : i32
    %30 = llvm.add %10, %14 : i32
    %31 = llvm.add %10, %15 : i32
    %32 = llvm.add %10, %16 : i32
    %33 = llvm.shl %26, %17 : i32
    %34 = llvm.add %33, %10 : i32
    %35 = llvm.add %34, %18 : i32
    %36 = llvm.bitcast %35 : i32 to vector<2xf16>
    %37 = llvm.bitcast %18 : i32 to vector<2xf16>
    %38 = llvm.fsub %36, %37 : vector<2xf16>
    %39 = llvm.extractelement %38[%19 : i32] : vector<2xf16>
    %40 = llvm.extractelement %38[%4 : i32] : vector<2xf16>
    %41 = llvm.shl %28, %17 : i32
    %42 = llvm.add %41, %27 : i32
    %43 = llvm.add %42, %18 : i32
    %44 = llvm.bitcast %43 : i32 to vector<2xf16>
    %45 = llvm.fsub %44, %37 : vector<2xf16>
    %46 = llvm.extractelement %45[%19 : i32] : vector<2xf16>
    %47 = llvm.extractelement %45[%4 : i32] : vector<2xf16>
    %48 = llvm.shl %30, %17 : i32
    %49 = llvm.add %48, %29 : i32
    %50 = llvm.add %49, %18 : i32
    %51 = llvm.bitcast %50 : i32 to vector<2xf16>
    %52 = llvm.fsub %51, %37 : vector<2xf16>
    %53 = llvm.extractelement %52[%19 : i32] : vector<2xf16>
    %54 = llvm.extractelement %52[%4 : i32] : vector<2xf16>
    %55 = llvm.shl %32, %17 : i32
    %56 = llvm.add %55, %31 : i32
    %57 = llvm.add %56, %18 : i32
    %58 = llvm.bitcast %57 : i32 to vector<2xf16>
    %59 = llvm.fsub %58, %37 : vector<2xf16>
    %60 = llvm.extractelement %59[%19 : i32] : vector<2xf16>
    %61 = llvm.extractelement %59[%4 : i32] : vector<2xf16>
    %62 = llvm.add %23, %13 : i32
    %63 = llvm.add %23, %24 : i32
    %64 = llvm.add %23, %25 : i32
    %65 = llvm.shl %62, %17 : i32
    %66 = llvm.add %65, %23 : i32
    %67 = llvm.add %66, %18 : i32
    %68 = llvm.bitcast %67 : i32 to vector<2xf16>
    %69 = llvm.fsub %68, %37 : vector<2xf16>
    %70 = llvm.extractelement %69[%19 : i32] : vector<2xf16>
    %71 = llvm.extractelement %69[%4 : i32] : vector<2xf16>
    %72 = llvm.shl %64, %17 : i32
    %73 = llvm.add %72, %63 : i32
    %74 = llvm.add %73, %18 : i32
    %75 = llvm.bitcast %74 : i32 to vector<2xf16>
    %76 = llvm.fsub %75, %37 : vector<2xf16>
    %77 = llvm.extractelement %76[%19 : i32] : vector<2xf16>
    %78 = llvm.extractelement %76[%4 : i32] : vector<2xf16>
    %79 = nvvm.mov.b32.pack %39, %40 : (f16, f16) -> i32
    %80 = nvvm.mov.b32.pack %46, %47 : (f16, f16) -> i32
    %81 = nvvm.mov.b32.pack %53, %54 : (f16, f16) -> i32
    %82 = nvvm.mov.b32.pack %60, %61 : (f16, f16) -> i32
    %83 = llvm.bitcast %79 : i32 to vector<2xf16>
    %84 = llvm.bitcast %80 : i32 to vector<2xf16>
    %85 = llvm.bitcast %81 : i32 to vector<2xf16>
    %86 = llvm.bitcast %82 : i32 to vector<2xf16>
    %87 = nvvm.mov.b32.pack %70, %71 : (f16, f16) -> i32
    %88 = nvvm.mov.b32.pack %77, %78 : (f16, f16) -> i32
    %89 = llvm.bitcast %87 : i32 to vector<2xf16>
    %90 = llvm.bitcast %88 : i32 to vector<2xf16>
    %91, %92, %93, %94 = cute_nvgpu.arch.mma.SM80 a(%83, %84, %85, %86) b(%89, %90) c(%a0, %a0, %a0, %a0) {atom = !cute_nvgpu.sm80.mma<"16x8x16 f16 f16 f32">} : (vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    llvm.return
  }
}
