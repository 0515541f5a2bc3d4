// Accesses of all copies of a multicast object: vectors of f32 and of pairs of halves, single integers.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_90

// ---- halves_of_a_tile_that_may_end_past_the_array
!memref = !nv_tileaa.memref<f16, [?], [1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128], dim_map = [0], steps = [128], sparse = -1, padding = none>
!tile = tensor<128xf16, #cute.layout<(128), (32,1,4):(4,0,1)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %i: i32):
  %m = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f16>, i32) -> !memref
  %v = nv_tileas.block_tile %m : (!memref) -> !view
  %x, %t = nv_tileas.multimem_load_reduce %v coords(%i) {mem_semantic = "acquire", mem_scope = "sys", mode = "add", has_boundary_tile, vector = 4 : i32, in_bounds = array<i1: false>} : (!view, i32) -> (!tile, !nv_tileaa.mem_token)
  %t1 = nv_tileas.multimem_reduce %v, %x coords(%i) token(%t) {mem_semantic = "relaxed", mem_scope = "sys", mode = "max", vector = 2 : i32, in_bounds = array<i1: true>} : (!view, !tile, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22f16\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 12, \22role\22: \22scalar\22, \22argument\22: 2}], \22param_sizes\22: [8, 4, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0, \22view\22: {\22extents\22: [null], \22strides\22: [1]}}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: i32, %a2: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(2 : i32) : i32
    %5 = llvm.shl %3, %4 : i32
    %6 = llvm.mlir.constant(127 : i32) : i32
    %7 = llvm.add %a1, %6 : i32
    %8 = llvm.mlir.constant(128 : i32) : i32
    %9 = llvm.udiv %7, %8 : i32
    %10 = nvvm.intr.umin %a2, %9 : i32
    %11 = llvm.mul %10, %8 : i32
    %12 = llvm.mlir.constant(0 : i32) : i32
    %13 = llvm.icmp "ult" %a2, %9 : i32
    %14 = llvm.sub %a1, %11 : i32
    %15 = llvm.icmp "sle" %8, %14 : i32
    llvm.cond_br %15, ^bb1, ^bb2
  ^bb1:
    %16 = llvm.add %11, %5 : i32
    %17 = llvm.sext %16 : i32 to i64
    %18 = llvm.getelementptr %a0[%17] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i16
    %19 = nvvm.multimem.ld_reduce %18 {semantics = "acquire", scope = "sys", space = "global", operation = "add.acc::f32", word = "f16x2"} : (!llvm.ptr<1>) -> !llvm.struct<(f16, f16, f16, f16)>
    %20 = llvm.extractvalue %19[0] : !llvm.struct<(f16, f16, f16, f16)>
    %21 = llvm.extractvalue %19[1] : !llvm.struct<(f16, f16, f16, f16)>
    %22 = llvm.extractvalue %19[2] : !llvm.struct<(f16, f16, f16, f16)>
    %23 = llvm.extractvalue %19[3] : !llvm.struct<(f16, f16, f16, f16)>
    llvm.br ^bb3(%20, %21, %22, %23 : f16, f16, f16, f16)
  ^bb2:
    %24 = llvm.add %11, %5 : i32
    %25 = llvm.sub %a1, %24 : i32
    %26 = llvm.icmp "slt" %12, %25 : i32
    %27 = llvm.sext %24 : i32 to i64
    %28 = llvm.getelementptr %a0[%27] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i16
    %29 = nvvm.multimem.ld_reduce %28 predicate(%26) {fill = 0 : i64, semantics = "acquire", scope = "sys", space = "global", operation = "add.acc::f32", word = "f16x2"} : (!llvm.ptr<1>, i1) -> !llvm.struct<(f16, f16)>
    %30 = llvm.extractvalue %29[0] : !llvm.struct<(f16, f16)>
    %31 = llvm.extractvalue %29[1] : !llvm.struct<(f16, f16)>
    %32 = llvm.icmp "slt" %4, %25 : i32
    %33 = nvvm.multimem.ld_reduce %28 predicate(%32) {offset = 4 : i64, fill = 0 : i64, semantics = "acquire", scope = "sys", space = "global", operation = "add.acc::f32", word = "f16x2"} : (!llvm.ptr<1>, i1) -> !llvm.struct<(f16, f16)>
    %34 = llvm.extractvalue %33[0] : !llvm.struct<(f16, f16)>
    %35 = llvm.extractvalue %33[1] : !llvm.struct<(f16, f16)>
    llvm.br ^bb3(%30, %31, %34, %35 : f16, f16, f16, f16)
  ^bb3(%36: f16, %37: f16, %38: f16, %39: f16):
    %40 = llvm.mul %a2, %8 : i32
    %41 = llvm.add %40, %5 : i32
    %42 = llvm.sext %41 : i32 to i64
    %43 = llvm.getelementptr %a0[%42] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i16
    nvvm.multimem.red %43 values(%36, %37) predicate(%13) {semantics = "relaxed", scope = "sys", space = "global", operation = "max", word = "f16x2"} : (!llvm.ptr<1>, f16, f16, i1) -> ()
    nvvm.multimem.red %43 values(%38, %39) predicate(%13) {offset = 4 : i64, semantics = "relaxed", scope = "sys", space = "global", operation = "max", word = "f16x2"} : (!llvm.ptr<1>, f16, f16, i1) -> ()
    llvm.return
  }
}

// ---- integers_one_by_one
!memref = !nv_tileaa.memref<i32, [?], [1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = none>
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(2,0,1)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<i32>, %n: i32, %i: i32):
  %m = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<i32>, i32) -> !memref
  %v = nv_tileas.block_tile %m : (!memref) -> !view
  %x, %t = nv_tileas.multimem_load_reduce %v coords(%i) {mem_semantic = "weak", mode = "umin", vector = 1 : i32, in_bounds = array<i1: true>} : (!view, i32) -> (!tile, !nv_tileaa.mem_token)
  %t1 = nv_tileas.multimem_reduce %v, %x coords(%i) token(%t) {mem_semantic = "release", mem_scope = "sys", mode = "xor", vector = 1 : i32, in_bounds = array<i1: true>} : (!view, !tile, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %t2 = nv_tileas.multimem_store %v, %x coords(%i) token(%t1) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: true>} : (!view, !tile, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22i32\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 12, \22role\22: \22scalar\22, \22argument\22: 2}], \22param_sizes\22: [8, 4, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0, \22view\22: {\22extents\22: [null], \22strides\22: [1]}}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
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
    %11 = llvm.mul %a2, %6 : i32
    %12 = llvm.add %11, %5 : i32
    %13 = llvm.sext %12 : i32 to i64
    %14 = llvm.getelementptr %a0[%13] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %15 = nvvm.multimem.ld_reduce %14 predicate(%10) {fill = 0 : i64, space = "global", operation = "min", word = "u32"} : (!llvm.ptr<1>, i1) -> i32
    %16 = nvvm.multimem.ld_reduce %14 predicate(%10) {offset = 4 : i64, fill = 0 : i64, space = "global", operation = "min", word = "u32"} : (!llvm.ptr<1>, i1) -> i32
    nvvm.multimem.red %14 values(%15) predicate(%10) {semantics = "release", scope = "sys", space = "global", operation = "xor", word = "b32"} : (!llvm.ptr<1>, i32, i1) -> ()
    nvvm.multimem.red %14 values(%16) predicate(%10) {offset = 4 : i64, semantics = "release", scope = "sys", space = "global", operation = "xor", word = "b32"} : (!llvm.ptr<1>, i32, i1) -> ()
    nvvm.multimem.st %14 values(%15) predicate(%10) {space = "global", word = "b32"} : (!llvm.ptr<1>, i32, i1) -> ()
    nvvm.multimem.st %14 values(%16) predicate(%10) {offset = 4 : i64, space = "global", word = "b32"} : (!llvm.ptr<1>, i32, i1) -> ()
    llvm.return
  }
}
