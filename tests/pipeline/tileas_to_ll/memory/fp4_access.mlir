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
  %x, %t = nv_tileas.tiled_load %v coords(%i) {mem_semantic = "weak", has_boundary_tile, vector = 2 : i32, in_bounds = array<i1: true>} : (!view, i32) -> (!tile, !nv_tileaa.mem_token)
  %t1 = nv_tileas.tiled_store %v, %x coords(%i) token(%t) {mem_semantic = "weak", has_boundary_tile, vector = 2 : i32, in_bounds = array<i1: true>} : (!view, !tile, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
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
    %7 = llvm.mlir.constant(63 : i32) : i32
    %8 = llvm.add %a1, %7 : i32
    %9 = llvm.udiv %8, %6 : i32
    %10 = llvm.icmp "ult" %a2, %9 : i32
    %11 = llvm.mlir.constant(1) : i64
    %12 = llvm.mlir.constant(1 : i8) : i8
    %13 = llvm.mlir.constant(2 : i8) : i8
    %14 = llvm.mlir.constant(15 : i8) : i8
    %15 = llvm.mlir.constant(4 : i8) : i8
    %16 = llvm.mul %a2, %6 : i32
    %17 = llvm.add %16, %5 : i32
    %18 = llvm.sext %17 : i32 to i64
    %19 = llvm.ashr %18, %11 : i64
    %20 = llvm.trunc %18 : i64 to i8
    %21 = llvm.and %20, %12 : i8
    %22 = llvm.shl %21, %13 : i8
    %23 = llvm.getelementptr %a0[%19] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %24 = nvvm.ld %23 predicate(%10) {fill = 0 : i64, space = "global"} : (!llvm.ptr<1>, i1) -> i8
    %25 = llvm.and %24, %14 : i8
    %26 = llvm.lshr %24, %15 : i8
    %27 = llvm.and %25, %14 : i8
    %28 = llvm.shl %26, %15 : i8
    %29 = llvm.or %27, %28 : i8
    nvvm.st %23 values(%29) predicate(%10) {space = "global"} : (!llvm.ptr<1>, i8, i1) -> ()
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
    %4 = llvm.add %a1, %2 : i32
    %5 = llvm.mlir.constant(32 : i32) : i32
    %6 = llvm.udiv %4, %5 : i32
    %7 = nvvm.intr.umin %a2, %6 : i32
    %8 = llvm.mul %7, %5 : i32
    %9 = llvm.mlir.constant(0 : i32) : i32
    %10 = llvm.mlir.constant(1) : i64
    %11 = llvm.mlir.constant(1 : i8) : i8
    %12 = llvm.mlir.constant(2 : i8) : i8
    %13 = llvm.mlir.constant(15 : i8) : i8
    %14 = llvm.mlir.constant(-4) : i64
    %15 = llvm.mlir.constant(3 : i32) : i32
    %16 = llvm.mlir.constant(8 : i32) : i32
    %17 = llvm.mlir.constant(15 : i32) : i32
    %18 = llvm.mlir.constant(-1 : i32) : i32
    %19 = llvm.add %8, %3 : i32
    %20 = llvm.sub %a1, %19 : i32
    %21 = llvm.icmp "slt" %9, %20 : i32
    %22 = llvm.sext %19 : i32 to i64
    %23 = llvm.ashr %22, %10 : i64
    %24 = llvm.trunc %22 : i64 to i8
    %25 = llvm.and %24, %11 : i8
    %26 = llvm.shl %25, %12 : i8
    %27 = llvm.getelementptr %a0[%23] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %28 = nvvm.ld %27 predicate(%21) {fill = 0 : i64, space = "global"} : (!llvm.ptr<1>, i1) -> i8
    %29 = llvm.lshr %28, %26 : i8
    %30 = llvm.and %29, %13 : i8
    %31 = llvm.ptrtoint %27 : !llvm.ptr<1> to i64
    %32 = llvm.and %31, %14 : i64
    %33 = llvm.inttoptr %32 : i64 to !llvm.ptr<1>
    %34 = llvm.trunc %31 : i64 to i32
    %35 = llvm.and %34, %15 : i32
    %36 = llvm.mul %35, %16 : i32
    %37 = llvm.zext %26 : i8 to i32
    %38 = llvm.add %36, %37 : i32
    %39 = llvm.and %30, %13 : i8
    %40 = llvm.zext %39 : i8 to i32
    %41 = llvm.shl %17, %38 : i32
    %42 = llvm.xor %41, %18 : i32
    %43 = llvm.shl %40, %38 : i32
    nvvm.red %33 values(%42) predicate(%21) {operation = "and.b32", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32, i1) -> ()
    nvvm.red %33 values(%43) predicate(%21) {operation = "or.b32", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32, i1) -> ()
    llvm.return
  }
}
