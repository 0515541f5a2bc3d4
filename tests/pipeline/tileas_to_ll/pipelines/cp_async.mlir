// Rings of buffers filled by cp.async, and read into registers.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- a_copy_its_wait_and_its_reader
!memref = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [8, 32], dim_map = [0, 1], steps = [8, 32], sparse = -1, padding = zero>
!ring = !nv_tileas.buffer<f32, #builtin.int<2>, #cute.shared<32, (8,32):(32,1)>>
!tile = tensor<8x32xf32, #cute.layout<(8,32), (32,1,8):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 2048 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %stage: i32, %on: i1):
  %m = nv_tileas.make_memref %p sizes(%rows, %columns) strides(%stride) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref
  %v = nv_tileas.block_tile %m : (!memref) -> !view
  %ring = nv_tileas.alloc_tensor {shared_offset = 0 : i32} : !ring
  nv_tileas.async_tiled_load %v, %ring, %stage, %on coords(%i, %i) {in_bounds = array<i1: false, false>, layout = #cute.layout<(8,32), (32,1,(4,2)):(4,0,(1,128))>, vector = 4 : i32, has_boundary_tile} : (!view, i32, i32, !ring, i32, i1) -> ()
  nv_tileas.async_commit
  nv_tileas.async_wait {pending = 0 : i32}
  nv_tileas.barrier
  %x = nv_tileas.local_load %ring, %stage {copy_atom = "ldmatrix"} : (!ring, i32) -> !tile
  %y = nv_tileas.mulf %x, %x {rounding_mode = "nearest_even"} : !tile
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22f32\22, \22access\22: \22loaded\22}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 12, \22role\22: \22scalar\22, \22argument\22: 2}, {\22name\22: \22arg3\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 16, \22role\22: \22scalar\22, \22argument\22: 3}, {\22name\22: \22arg4\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 20, \22role\22: \22scalar\22, \22argument\22: 4}, {\22name\22: \22arg5\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 24, \22role\22: \22scalar\22, \22argument\22: 5}, {\22name\22: \22arg6\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 28, \22role\22: \22scalar\22, \22argument\22: 6}], \22param_sizes\22: [8, 4, 4, 4, 4, 4, 1], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0, \22view\22: {\22extents\22: [null, null], \22strides\22: [null, 1]}}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}, {\22name\22: \22arg3\22, \22kind\22: \22scalar\22, \22param\22: 3}, {\22name\22: \22arg4\22, \22kind\22: \22scalar\22, \22param\22: 4}, {\22name\22: \22arg5\22, \22kind\22: \22scalar\22, \22param\22: 5}, {\22name\22: \22arg6\22, \22kind\22: \22scalar\22, \22param\22: 6}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 2048, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<2048 x i8>
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: i32, %a2: i32, %a3: i32, %a4: i32, %a5: i32, %a6: i8) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a6, %0 : i8
    %2 = gpu.thread_id x
    %3 = arith.index_cast %2 : index to i32
    %4 = llvm.mlir.constant(24 : i32) : i32
    %5 = llvm.and %3, %4 : i32
    %6 = llvm.mlir.constant(3 : i32) : i32
    %7 = llvm.lshr %5, %6 : i32
    %8 = llvm.mlir.constant(7 : i32) : i32
    %9 = llvm.and %3, %8 : i32
    %10 = llvm.mlir.constant(2 : i32) : i32
    %11 = llvm.shl %9, %10 : i32
    %12 = llvm.add %a1, %8 : i32
    %13 = llvm.mlir.constant(8 : i32) : i32
    %14 = llvm.udiv %12, %13 : i32
    %15 = nvvm.intr.umin %a4, %14 : i32
    %16 = llvm.mul %15, %13 : i32
    %17 = llvm.mlir.constant(31 : i32) : i32
    %18 = llvm.add %a2, %17 : i32
    %19 = llvm.mlir.constant(32 : i32) : i32
    %20 = llvm.udiv %18, %19 : i32
    %21 = nvvm.intr.umin %a4, %20 : i32
    %22 = llvm.mul %21, %19 : i32
    %23 = llvm.mlir.constant(1024 : i32) : i32
    %24 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %25 = llvm.ptrtoint %24 : !llvm.ptr<3> to i32
    %26 = llvm.and %3, %17 : i32
    %27 = llvm.mlir.constant(4 : i32) : i32
    %28 = llvm.shl %26, %27 : i32
    %29 = llvm.mlir.constant(0 : i32) : i32
    %30 = llvm.mlir.constant(4) : i64
    %31 = llvm.mlir.constant(512 : i32) : i32
    %32 = llvm.mlir.constant(-1 : i32) : i32
    %33 = llvm.sext %a3 : i32 to i64
    %34 = llvm.mul %a5, %23 : i32
    %35 = llvm.add %34, %25 : i32
    %36 = llvm.add %16, %7 : i32
    %37 = llvm.sext %36 : i32 to i64
    %38 = llvm.mul %37, %33 : i64
    %39 = llvm.add %22, %11 : i32
    %40 = llvm.sext %39 : i32 to i64
    %41 = llvm.add %38, %40 : i64
    %42 = llvm.getelementptr %a0[%41] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %43 = llvm.sub %a2, %39 : i32
    %44 = llvm.sub %a1, %36 : i32
    %45 = llvm.icmp "slt" %29, %44 : i32
    %46 = nvvm.intr.smin %43, %27 : i32
    %47 = nvvm.intr.smax %46, %29 : i32
    %48 = llvm.mul %47, %27 : i32
    %49 = llvm.and %1, %45 : i1
    %50 = llvm.select %49, %48, %29 : i1, i32
    %51 = llvm.add %35, %28 : i32
    %52 = builtin.unrealized_conversion_cast %51 : i32 to memref<?xi8, 3 : i64>
    %53 = builtin.unrealized_conversion_cast %29 : i32 to index
    %54 = builtin.unrealized_conversion_cast %42 : !llvm.ptr<1> to memref<?xi8, 1 : i64>
    %55 = builtin.unrealized_conversion_cast %50 : i32 to index
    %56 = nvgpu.device_async_copy %54[%53], %52[%53], 16, %55 {bypassL1} : memref<?xi8, 1 : i64> to memref<?xi8, 3 : i64>
    %57 = llvm.mul %33, %30 : i64
    %58 = llvm.getelementptr %42[%57] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %59 = llvm.icmp "slt" %27, %44 : i32
    %60 = llvm.and %1, %59 : i1
    %61 = llvm.select %60, %48, %29 : i1, i32
    %62 = builtin.unrealized_conversion_cast %31 : i32 to index
    %63 = builtin.unrealized_conversion_cast %58 : !llvm.ptr<1> to memref<?xi8, 1 : i64>
    %64 = builtin.unrealized_conversion_cast %61 : i32 to index
    %65 = nvgpu.device_async_copy %63[%53], %52[%62], 16, %64 {bypassL1} : memref<?xi8, 1 : i64> to memref<?xi8, 3 : i64>
    %66 = nvgpu.device_async_create_group
    %67 = builtin.unrealized_conversion_cast %29 : i32 to !nvgpu.device.async.token
    nvgpu.device_async_wait %67 {numGroups = 0 : i32}
    nvvm.bar.warp.sync %32 : (i32) -> ()
    %68 = llvm.add %28, %35 : i32
    %69, %70, %71, %72 = cute_nvgpu.arch.copy.ldsm %68 {atom = !cute_nvgpu.atom.ldsm<"8x8 x4">, offset = 0 : i64} : (i32) -> (i32, i32, i32, i32)
    %73 = llvm.bitcast %69 : i32 to f32
    %74 = llvm.bitcast %70 : i32 to f32
    %75 = llvm.bitcast %71 : i32 to f32
    %76 = llvm.bitcast %72 : i32 to f32
    %77, %78, %79, %80 = cute_nvgpu.arch.copy.ldsm %68 {atom = !cute_nvgpu.atom.ldsm<"8x8 x4">, offset = 512 : i64} : (i32) -> (i32, i32, i32, i32)
    %81 = llvm.bitcast %77 : i32 to f32
    %82 = llvm.bitcast %78 : i32 to f32
    %83 = llvm.bitcast %79 : i32 to f32
    %84 = llvm.bitcast %80 : i32 to f32
    %85 = llvm.fmul %73, %73 : f32
    %86 = llvm.fmul %74, %74 : f32
    %87 = llvm.fmul %75, %75 : f32
    %88 = llvm.fmul %76, %76 : f32
    %89 = llvm.fmul %81, %81 : f32
    %90 = llvm.fmul %82, %82 : f32
    %91 = llvm.fmul %83, %83 : f32
    %92 = llvm.fmul %84, %84 : f32
    llvm.return
  }
}

// ---- a_part_of_a_stage
!ring = !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<2,3,3> o (16,32):(32,1)>>
!tile = tensor<16x16xf16, #cute.layout<(16,16), ((4,8),1,(2,2,2)):((2,16),0,(1,128,8))>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 2048 : i32} {
^bb0(%stage: i32):
  %ring = nv_tileas.alloc_tensor {shared_offset = 0 : i32} : !ring
  %x = nv_tileas.local_load %ring, %stage {copy_atom = "ldmatrix", starts = array<i64: 0, 16>} : (!ring, i32) -> !tile
  %y = nv_tileas.addf %x, %x {rounding_mode = "nearest_even"} : !tile
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 2048, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<2048 x i8>
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(1024 : i32) : i32
    %1 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %2 = llvm.ptrtoint %1 : !llvm.ptr<3> to i32
    %3 = gpu.thread_id x
    %4 = arith.index_cast %3 : index to i32
    %5 = llvm.mlir.constant(1 : i32) : i32
    %6 = llvm.and %4, %5 : i32
    %7 = llvm.mlir.constant(6 : i32) : i32
    %8 = llvm.shl %6, %7 : i32
    %9 = llvm.mlir.constant(2 : i32) : i32
    %10 = llvm.and %4, %9 : i32
    %11 = llvm.lshr %10, %5 : i32
    %12 = llvm.mlir.constant(144 : i32) : i32
    %13 = llvm.mul %11, %12 : i32
    %14 = llvm.xor %8, %13 : i32
    %15 = llvm.mlir.constant(4 : i32) : i32
    %16 = llvm.and %4, %15 : i32
    %17 = llvm.lshr %16, %9 : i32
    %18 = llvm.mlir.constant(288 : i32) : i32
    %19 = llvm.mul %17, %18 : i32
    %20 = llvm.xor %14, %19 : i32
    %21 = llvm.mlir.constant(8 : i32) : i32
    %22 = llvm.and %4, %21 : i32
    %23 = llvm.shl %22, %7 : i32
    %24 = llvm.xor %20, %23 : i32
    %25 = llvm.mlir.constant(16 : i32) : i32
    %26 = llvm.and %4, %25 : i32
    %27 = llvm.xor %24, %26 : i32
    %28 = llvm.mlir.constant(32 : i32) : i32
    %29 = llvm.xor %27, %28 : i32
    %30 = llvm.mlir.constant(0 : i32) : i32
    %31 = llvm.mul %a0, %0 : i32
    %32 = llvm.add %31, %2 : i32
    %33 = llvm.add %29, %32 : i32
    %34, %35, %36, %37 = cute_nvgpu.arch.copy.ldsm %33 {atom = !cute_nvgpu.atom.ldsm<"8x8 x4">, offset = 0 : i64} : (i32) -> (i32, i32, i32, i32)
    %38 = llvm.bitcast %34 : i32 to vector<2xf16>
    %39 = llvm.extractelement %38[%30 : i32] : vector<2xf16>
    %40 = llvm.extractelement %38[%5 : i32] : vector<2xf16>
    %41 = llvm.bitcast %35 : i32 to vector<2xf16>
    %42 = llvm.extractelement %41[%30 : i32] : vector<2xf16>
    %43 = llvm.extractelement %41[%5 : i32] : vector<2xf16>
    %44 = llvm.bitcast %36 : i32 to vector<2xf16>
    %45 = llvm.extractelement %44[%30 : i32] : vector<2xf16>
    %46 = llvm.extractelement %44[%5 : i32] : vector<2xf16>
    %47 = llvm.bitcast %37 : i32 to vector<2xf16>
    %48 = llvm.extractelement %47[%30 : i32] : vector<2xf16>
    %49 = llvm.extractelement %47[%5 : i32] : vector<2xf16>
    %50 = llvm.fadd %39, %39 : f16
    %51 = llvm.fadd %40, %40 : f16
    %52 = llvm.fadd %42, %42 : f16
    %53 = llvm.fadd %43, %43 : f16
    %54 = llvm.fadd %45, %45 : f16
    %55 = llvm.fadd %46, %46 : f16
    %56 = llvm.fadd %48, %48 : f16
    %57 = llvm.fadd %49, %49 : f16
    llvm.return
  }
}
