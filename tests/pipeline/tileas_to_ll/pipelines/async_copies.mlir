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
  nv_tileas.async_tiled_load %v, %ring, %stage, %on coords(%i, %i) {in_bounds = array<i1: false, false>, layout = #cute.layout<(8,32), (32,1,(4,2)):(4,0,(1,128))>, vector = 4 : i32, ragged} : (!view, i32, i32, !ring, i32, i1) -> ()
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
    %12 = llvm.mlir.constant(8 : i32) : i32
    %13 = llvm.mlir.constant(32 : i32) : i32
    %14 = llvm.mlir.constant(1024 : i32) : i32
    %15 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %16 = llvm.ptrtoint %15 : !llvm.ptr<3> to i32
    %17 = llvm.mlir.constant(31 : i32) : i32
    %18 = llvm.and %3, %17 : i32
    %19 = llvm.mlir.constant(4 : i32) : i32
    %20 = llvm.shl %18, %19 : i32
    %21 = llvm.mlir.constant(0 : i32) : i32
    %22 = llvm.mlir.constant(4) : i64
    %23 = llvm.mlir.constant(-1 : i32) : i32
    %24 = llvm.sext %a3 : i32 to i64
    %25 = llvm.mul %a4, %12 : i32
    %26 = llvm.mul %a4, %13 : i32
    %27 = llvm.mul %a5, %14 : i32
    %28 = llvm.add %27, %16 : i32
    %29 = llvm.add %25, %7 : i32
    %30 = llvm.sext %29 : i32 to i64
    %31 = llvm.mul %30, %24 : i64
    %32 = llvm.add %26, %11 : i32
    %33 = llvm.sext %32 : i32 to i64
    %34 = llvm.add %31, %33 : i64
    %35 = llvm.getelementptr %a0[%34] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %36 = llvm.sub %a2, %32 : i32
    %37 = llvm.sub %a1, %29 : i32
    %38 = llvm.icmp "slt" %21, %37 : i32
    %39 = nvvm.intr.smin %36, %19 : i32
    %40 = nvvm.intr.smax %39, %21 : i32
    %41 = llvm.mul %40, %19 : i32
    %42 = llvm.and %1, %38 : i1
    %43 = llvm.select %42, %41, %21 : i1, i32
    %44 = llvm.add %28, %20 : i32
    nvvm.cp.async.shared.global.fill %44, %35, %43 {size = 16 : i64, offset = 0 : i64, source_offset = 0 : i64} : (i32, !llvm.ptr<1>, i32) -> ()
    %45 = llvm.mul %24, %22 : i64
    %46 = llvm.getelementptr %35[%45] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %47 = llvm.icmp "slt" %19, %37 : i32
    %48 = llvm.and %1, %47 : i1
    %49 = llvm.select %48, %41, %21 : i1, i32
    nvvm.cp.async.shared.global.fill %44, %46, %49 {size = 16 : i64, offset = 512 : i64, source_offset = 0 : i64} : (i32, !llvm.ptr<1>, i32) -> ()
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    nvvm.bar.warp.sync %23 : (i32) -> ()
    %50 = llvm.add %20, %28 : i32
    %51, %52, %53, %54 = cute_nvgpu.arch.copy.ldsm %50 {atom = !cute_nvgpu.atom.ldsm<"8x8 x4">, offset = 0 : i64} : (i32) -> (i32, i32, i32, i32)
    %55 = llvm.bitcast %51 : i32 to f32
    %56 = llvm.bitcast %52 : i32 to f32
    %57 = llvm.bitcast %53 : i32 to f32
    %58 = llvm.bitcast %54 : i32 to f32
    %59, %60, %61, %62 = cute_nvgpu.arch.copy.ldsm %50 {atom = !cute_nvgpu.atom.ldsm<"8x8 x4">, offset = 512 : i64} : (i32) -> (i32, i32, i32, i32)
    %63 = llvm.bitcast %59 : i32 to f32
    %64 = llvm.bitcast %60 : i32 to f32
    %65 = llvm.bitcast %61 : i32 to f32
    %66 = llvm.bitcast %62 : i32 to f32
    %67 = llvm.fmul %55, %55 : f32
    %68 = llvm.fmul %56, %56 : f32
    %69 = llvm.fmul %57, %57 : f32
    %70 = llvm.fmul %58, %58 : f32
    %71 = llvm.fmul %63, %63 : f32
    %72 = llvm.fmul %64, %64 : f32
    %73 = llvm.fmul %65, %65 : f32
    %74 = llvm.fmul %66, %66 : f32
    llvm.return
  }
}
