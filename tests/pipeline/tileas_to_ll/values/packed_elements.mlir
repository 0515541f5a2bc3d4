// Elements of four bits in global memory: two in a byte.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_90

// ---- both_halves_of_a_byte
!memref = !nv_tileaa.memref<f4E2M1FN, [?], [1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = zero>
!tile = tensor<64xf4E2M1FN, #cute.layout<(64), (32,1,2):(2,0,1)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<f4E2M1FN>, %n: i32, %i: i32):
  %m = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f4E2M1FN>, i32) -> !memref
  %v = nv_tileas.block_tile %m : (!memref) -> !view
  %x, %t = nv_tileas.tiled_load %v coords(%i) {mem_semantic = "weak", ragged, vector = 2 : i32, in_bounds = array<i1: true>} : (!view, i32) -> (!tile, !nv_tileaa.mem_token)
  %t1 = nv_tileas.tiled_store %v, %x coords(%i) token(%t) {mem_semantic = "weak", ragged, vector = 2 : i32, in_bounds = array<i1: true>} : (!view, !tile, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22f4E2M1FN\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 12, \22role\22: \22scalar\22, \22argument\22: 2}], \22param_sizes\22: [8, 4, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0, \22view\22: {\22extents\22: [null], \22strides\22: [1]}}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: i32, %a2: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.shl %3, %4 : i32
    %6 = llvm.mlir.constant(64 : i32) : i32
    %7 = llvm.mlir.constant(1) : i64
    %8 = llvm.mlir.constant(1 : i8) : i8
    %9 = llvm.mlir.constant(2 : i8) : i8
    %10 = llvm.mlir.constant(15 : i8) : i8
    %11 = llvm.mlir.constant(4 : i8) : i8
    %12 = llvm.mul %a2, %6 : i32
    %13 = llvm.add %12, %5 : i32
    %14 = llvm.sext %13 : i32 to i64
    %15 = llvm.ashr %14, %7 : i64
    %16 = llvm.trunc %14 : i64 to i8
    %17 = llvm.and %16, %8 : i8
    %18 = llvm.shl %17, %9 : i8
    %19 = llvm.getelementptr %a0[%15] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %20 = nvvm.ld %19 {space = "global"} : (!llvm.ptr<1>) -> i8
    %21 = llvm.and %20, %10 : i8
    %22 = llvm.lshr %20, %11 : i8
    %23 = llvm.and %21, %10 : i8
    %24 = llvm.shl %22, %11 : i8
    %25 = llvm.or %23, %24 : i8
    nvvm.st %19 values(%25) {space = "global"} : (!llvm.ptr<1>, i8) -> ()
    llvm.return
  }
}

// ---- one_half_at_a_time
!memref = !nv_tileaa.memref<f4E2M1FN, [?], [1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [32], dim_map = [0], steps = [32], sparse = -1, padding = zero>
!tile = tensor<32xf4E2M1FN, #cute.layout<(32), (32,1,1):(1,0,0)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<f4E2M1FN>, %n: i32, %i: i32):
  %m = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f4E2M1FN>, i32) -> !memref
  %v = nv_tileas.block_tile %m : (!memref) -> !view
  %x, %t = nv_tileas.tiled_load %v coords(%i) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: false>} : (!view, i32) -> (!tile, !nv_tileaa.mem_token)
  %t1 = nv_tileas.tiled_store %v, %x coords(%i) token(%t) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: false>} : (!view, !tile, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22f4E2M1FN\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 12, \22role\22: \22scalar\22, \22argument\22: 2}], \22param_sizes\22: [8, 4, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0, \22view\22: {\22extents\22: [null], \22strides\22: [1]}}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: i32, %a2: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(32 : i32) : i32
    %5 = llvm.mlir.constant(0 : i32) : i32
    %6 = llvm.mlir.constant(1) : i64
    %7 = llvm.mlir.constant(1 : i8) : i8
    %8 = llvm.mlir.constant(2 : i8) : i8
    %9 = llvm.mlir.constant(15 : i8) : i8
    %10 = llvm.mlir.constant(-4) : i64
    %11 = llvm.mlir.constant(3 : i32) : i32
    %12 = llvm.mlir.constant(8 : i32) : i32
    %13 = llvm.mlir.constant(15 : i32) : i32
    %14 = llvm.mlir.constant(-1 : i32) : i32
    %15 = llvm.mul %a2, %4 : i32
    %16 = llvm.add %15, %3 : i32
    %17 = llvm.sub %a1, %16 : i32
    %18 = llvm.icmp "slt" %5, %17 : i32
    %19 = llvm.sext %16 : i32 to i64
    %20 = llvm.ashr %19, %6 : i64
    %21 = llvm.trunc %19 : i64 to i8
    %22 = llvm.and %21, %7 : i8
    %23 = llvm.shl %22, %8 : i8
    %24 = llvm.getelementptr %a0[%20] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %25 = nvvm.ld %24 predicate(%18) {fill = 0 : i64, space = "global"} : (!llvm.ptr<1>, i1) -> i8
    %26 = llvm.lshr %25, %23 : i8
    %27 = llvm.and %26, %9 : i8
    %28 = llvm.ptrtoint %24 : !llvm.ptr<1> to i64
    %29 = llvm.and %28, %10 : i64
    %30 = llvm.inttoptr %29 : i64 to !llvm.ptr<1>
    %31 = llvm.trunc %28 : i64 to i32
    %32 = llvm.and %31, %11 : i32
    %33 = llvm.mul %32, %12 : i32
    %34 = llvm.zext %23 : i8 to i32
    %35 = llvm.add %33, %34 : i32
    %36 = llvm.and %27, %9 : i8
    %37 = llvm.zext %36 : i8 to i32
    %38 = llvm.shl %13, %35 : i32
    %39 = llvm.xor %38, %14 : i32
    %40 = llvm.shl %37, %35 : i32
    nvvm.red %30, %39 predicate(%18) {operation = "and.b32", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32, i1) -> ()
    nvvm.red %30, %40 predicate(%18) {operation = "or.b32", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32, i1) -> ()
    llvm.return
  }
}
