// Registers to shared memory and back: vectors, holders of what several threads have, matrices.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_90

// ---- words_of_bytes
!one = tensor<256xi8, #cute.layout<(256), (32,1,8):(8,0,1)>>
!two = tensor<256xi8, #cute.layout<(256), (32,1,8):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 256 : i32} {
^bb0(%v: i8):
  %x = nv_tileas.splat %v : (i8) -> !one
  %y = nv_tileas.convert_layout %x {scratch_bytes = 256 : i32, scratch_offset = 0 : i32} : (!one) -> !two
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i8\22, \22size\22: 1, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [1], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 256, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<256 x i8>
  llvm.func @k(%a0: i8) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(4 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = nvvm.intr.ctpop %3 : i32
    %5 = llvm.mlir.constant(1 : i32) : i32
    %6 = llvm.and %4, %5 : i32
    %7 = llvm.mlir.constant(0 : i32) : i32
    %8 = llvm.icmp "ne" %6, %7 : i32
    %9 = llvm.mlir.constant(8 : i32) : i32
    %10 = llvm.and %1, %9 : i32
    %11 = nvvm.intr.ctpop %10 : i32
    %12 = llvm.and %11, %5 : i32
    %13 = llvm.icmp "ne" %12, %7 : i32
    %14 = llvm.mlir.constant(16 : i32) : i32
    %15 = llvm.and %1, %14 : i32
    %16 = nvvm.intr.ctpop %15 : i32
    %17 = llvm.and %16, %5 : i32
    %18 = llvm.icmp "ne" %17, %7 : i32
    %19 = llvm.mlir.constant(7 : i32) : i32
    %20 = llvm.and %1, %19 : i32
    %21 = llvm.mlir.constant(2 : i32) : i32
    %22 = llvm.shl %20, %21 : i32
    %23 = llvm.mlir.constant(24 : i32) : i32
    %24 = llvm.and %1, %23 : i32
    %25 = llvm.mlir.constant(3 : i32) : i32
    %26 = llvm.lshr %24, %25 : i32
    %27 = llvm.xor %22, %26 : i32
    %28 = llvm.mlir.constant(32 : i32) : i32
    %29 = llvm.xor %27, %2 : i32
    %30 = llvm.xor %27, %9 : i32
    %31 = llvm.mlir.constant(12 : i32) : i32
    %32 = llvm.xor %27, %31 : i32
    %33 = llvm.xor %27, %14 : i32
    %34 = llvm.mlir.constant(20 : i32) : i32
    %35 = llvm.xor %27, %34 : i32
    %36 = llvm.xor %27, %23 : i32
    %37 = llvm.mlir.constant(28 : i32) : i32
    %38 = llvm.xor %27, %37 : i32
    %39 = llvm.and %1, %5 : i32
    %40 = nvvm.intr.ctpop %39 : i32
    %41 = llvm.and %40, %5 : i32
    %42 = llvm.icmp "ne" %41, %7 : i32
    %43 = llvm.and %1, %21 : i32
    %44 = nvvm.intr.ctpop %43 : i32
    %45 = llvm.and %44, %5 : i32
    %46 = llvm.icmp "ne" %45, %7 : i32
    %47 = llvm.zext %a0 : i8 to i32
    %48, %49 = gpu.shuffle idx %47, %27, %28 : i32
    %50, %51 = gpu.shuffle idx %47, %29, %28 : i32
    %52, %53 = gpu.shuffle idx %47, %30, %28 : i32
    %54, %55 = gpu.shuffle idx %47, %32, %28 : i32
    %56, %57 = gpu.shuffle idx %47, %33, %28 : i32
    %58, %59 = gpu.shuffle idx %47, %35, %28 : i32
    %60, %61 = gpu.shuffle idx %47, %36, %28 : i32
    %62, %63 = gpu.shuffle idx %47, %38, %28 : i32
    %64 = llvm.select %42, %50, %48 : i1, i32
    %65 = llvm.select %42, %48, %50 : i1, i32
    %66 = llvm.select %42, %54, %52 : i1, i32
    %67 = llvm.select %42, %52, %54 : i1, i32
    %68 = llvm.select %42, %58, %56 : i1, i32
    %69 = llvm.select %42, %56, %58 : i1, i32
    %70 = llvm.select %42, %62, %60 : i1, i32
    %71 = llvm.select %42, %60, %62 : i1, i32
    %72 = llvm.select %46, %66, %64 : i1, i32
    %73 = llvm.select %46, %67, %65 : i1, i32
    %74 = llvm.select %46, %64, %66 : i1, i32
    %75 = llvm.select %46, %65, %67 : i1, i32
    %76 = llvm.select %46, %70, %68 : i1, i32
    %77 = llvm.select %46, %71, %69 : i1, i32
    %78 = llvm.select %46, %68, %70 : i1, i32
    %79 = llvm.select %46, %69, %71 : i1, i32
    %80 = llvm.select %8, %76, %72 : i1, i32
    %81 = llvm.select %8, %77, %73 : i1, i32
    %82 = llvm.select %8, %78, %74 : i1, i32
    %83 = llvm.select %8, %79, %75 : i1, i32
    %84 = llvm.select %8, %72, %76 : i1, i32
    %85 = llvm.select %8, %73, %77 : i1, i32
    %86 = llvm.select %8, %74, %78 : i1, i32
    %87 = llvm.select %8, %75, %79 : i1, i32
    %88 = llvm.trunc %80 : i32 to i8
    %89 = llvm.trunc %81 : i32 to i8
    %90 = llvm.trunc %82 : i32 to i8
    %91 = llvm.trunc %83 : i32 to i8
    %92 = llvm.trunc %84 : i32 to i8
    %93 = llvm.trunc %85 : i32 to i8
    %94 = llvm.trunc %86 : i32 to i8
    %95 = llvm.trunc %87 : i32 to i8
    llvm.return
  }
}

// ---- one_of_the_threads_that_hold_an_element_writes_it
!one = tensor<32xf32, #cute.layout<(32), (32,2,1):(1,0,0)>>
!two = tensor<32xf32, #cute.layout<(32), ((16,2),2,1):((2,1),0,0)>>
nv_tileaa.func @k attributes {num_warps = 2 : i32, shared_bytes = 128 : i32} {
^bb0(%v: f32):
  %x = nv_tileas.splat %v : (f32) -> !one
  %y = nv_tileas.convert_layout %x {scratch_bytes = 128 : i32, scratch_offset = 0 : i32} : (!one) -> !two
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 64, \22shared_memory\22: {\22static\22: 128, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<128 x i8>
  llvm.func @k(%a0: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(15 : i32) : i32
    %5 = llvm.and %3, %4 : i32
    %6 = llvm.mlir.constant(1 : i32) : i32
    %7 = llvm.shl %5, %6 : i32
    %8 = llvm.mlir.constant(16 : i32) : i32
    %9 = llvm.and %3, %8 : i32
    %10 = llvm.mlir.constant(4 : i32) : i32
    %11 = llvm.lshr %9, %10 : i32
    %12 = llvm.xor %7, %11 : i32
    %13 = llvm.mlir.constant(5 : i32) : i32
    %14 = llvm.lshr %1, %13 : i32
    %15 = llvm.mlir.constant(32 : i32) : i32
    %16 = llvm.bitcast %a0 : f32 to i32
    %17, %18 = gpu.shuffle idx %16, %12, %15 : i32
    %19 = llvm.bitcast %17 : i32 to f32
    llvm.return
  }
}

// ---- matrices_of_halves
!ring = !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
!tile = tensor<16x16xf16, #cute.layout<(16,16), ((4,8),1,(2,2,2)):((2,16),0,(1,128,8))>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 512 : i32} {
^bb0(%stage: i32):
  %ring = nv_tileas.alloc_tensor {shared_offset = 0 : i32} : !ring
  %x = nv_tileas.local_load %ring, %stage {copy_atom = "ldmatrix"} : (!ring, i32) -> !tile
  %y = nv_tileas.addf %x, %x {rounding_mode = "nearest_even"} : !tile
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 512, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<512 x i8>
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(512 : i32) : i32
    %1 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %2 = llvm.ptrtoint %1 : !llvm.ptr<3> to i32
    %3 = gpu.thread_id x
    %4 = arith.index_cast %3 : index to i32
    %5 = llvm.mlir.constant(3 : i32) : i32
    %6 = llvm.and %4, %5 : i32
    %7 = llvm.mlir.constant(5 : i32) : i32
    %8 = llvm.shl %6, %7 : i32
    %9 = llvm.mlir.constant(4 : i32) : i32
    %10 = llvm.and %4, %9 : i32
    %11 = llvm.mlir.constant(2 : i32) : i32
    %12 = llvm.lshr %10, %11 : i32
    %13 = llvm.mlir.constant(144 : i32) : i32
    %14 = llvm.mul %12, %13 : i32
    %15 = llvm.xor %8, %14 : i32
    %16 = llvm.mlir.constant(8 : i32) : i32
    %17 = llvm.and %4, %16 : i32
    %18 = llvm.shl %17, %7 : i32
    %19 = llvm.xor %15, %18 : i32
    %20 = llvm.mlir.constant(16 : i32) : i32
    %21 = llvm.and %4, %20 : i32
    %22 = llvm.xor %19, %21 : i32
    %23 = llvm.mlir.constant(0 : i32) : i32
    %24 = llvm.mlir.constant(1 : i32) : i32
    %25 = llvm.mul %a0, %0 : i32
    %26 = llvm.add %25, %2 : i32
    %27 = llvm.add %22, %26 : i32
    %28, %29, %30, %31 = cute_nvgpu.arch.copy.ldsm %27 {atom = !cute_nvgpu.atom.ldsm<"8x8 x4">, offset = 0 : i64} : (i32) -> (i32, i32, i32, i32)
    %32 = llvm.bitcast %28 : i32 to vector<2xf16>
    %33 = llvm.extractelement %32[%23 : i32] : vector<2xf16>
    %34 = llvm.extractelement %32[%24 : i32] : vector<2xf16>
    %35 = llvm.bitcast %29 : i32 to vector<2xf16>
    %36 = llvm.extractelement %35[%23 : i32] : vector<2xf16>
    %37 = llvm.extractelement %35[%24 : i32] : vector<2xf16>
    %38 = llvm.bitcast %30 : i32 to vector<2xf16>
    %39 = llvm.extractelement %38[%23 : i32] : vector<2xf16>
    %40 = llvm.extractelement %38[%24 : i32] : vector<2xf16>
    %41 = llvm.bitcast %31 : i32 to vector<2xf16>
    %42 = llvm.extractelement %41[%23 : i32] : vector<2xf16>
    %43 = llvm.extractelement %41[%24 : i32] : vector<2xf16>
    %44 = llvm.fadd %33, %33 : f16
    %45 = llvm.fadd %34, %34 : f16
    %46 = llvm.fadd %36, %36 : f16
    %47 = llvm.fadd %37, %37 : f16
    %48 = llvm.fadd %39, %39 : f16
    %49 = llvm.fadd %40, %40 : f16
    %50 = llvm.fadd %42, %42 : f16
    %51 = llvm.fadd %43, %43 : f16
    llvm.return
  }
}
