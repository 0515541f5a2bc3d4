// Loads and stores: consecutive elements at once, masked where a tile may stick out.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- scalars
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %q: !nv_tileaa.ptr<i1>, %m: i1, %z: f32):
  %x, %t = nv_tileas.load %p mask(%m) other(%z) {mem_semantic = "acquire", mem_scope = "device"} : (!nv_tileaa.ptr<f32>, i1, f32) -> (f32, !nv_tileaa.mem_token)
  %t1 = nv_tileas.store %p, %x token(%t) {mem_semantic = "release", mem_scope = "sys"} : (!nv_tileaa.ptr<f32>, f32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %t2 = nv_tileas.store %q, %m {mem_semantic = "weak"} : (!nv_tileaa.ptr<i1>, i1) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22f32\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 8, \22role\22: \22pointer\22, \22argument\22: 1, \22element\22: \22i1\22, \22access\22: \22stored\22}, {\22name\22: \22arg2\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 16, \22role\22: \22scalar\22, \22argument\22: 2}, {\22name\22: \22arg3\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 20, \22role\22: \22scalar\22, \22argument\22: 3}], \22param_sizes\22: [8, 8, 1, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22pointer\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}, {\22name\22: \22arg3\22, \22kind\22: \22scalar\22, \22param\22: 3}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: !llvm.ptr<1>, %a2: i8, %a3: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a2, %0 : i8
    %2 = llvm.mlir.constant(0.000000e+00 : f32) : f32
    %3 = gpu.thread_id x
    %4 = arith.index_cast %3 : index to i32
    %5 = llvm.mlir.constant(0 : i32) : i32
    %6 = llvm.icmp "eq" %4, %5 : i32
    %7 = nvvm.ld %a0 predicate(%1) {fill = 0 : i64, semantics = "acquire", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i1) -> f32
    %8 = llvm.select %1, %7, %a3 : i1, f32
    nvvm.st %a0 values(%8) predicate(%6) {semantics = "release", scope = "sys", space = "global"} : (!llvm.ptr<1>, f32, i1) -> ()
    %9 = llvm.zext %1 : i1 to i8
    nvvm.st %a1 values(%9) predicate(%6) {space = "global"} : (!llvm.ptr<1>, i8, i1) -> ()
    llvm.return
  }
}

// ---- a_tile_of_pointers
!tile = tensor<64xf16, #cute.layout<(64), (32,1,2):(2,0,1)>>
!places = tensor<64xi32, #cute.layout<(64), (32,1,2):(2,0,1)>>
!pointers = tensor<64x!nv_tileaa.ptr<f16>, #cute.layout<(64), (32,1,2):(2,0,1)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>):
  %places = nv_tileas.make_range : !places
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<f16>) -> !pointers
  %all = nv_tileas.addptr %base, %places : (!pointers, !places) -> !pointers
  %x, %t = nv_tileas.load %all {mem_semantic = "weak", vector = 2 : i32} : (!pointers) -> (!tile, !nv_tileaa.mem_token)
  %t1 = nv_tileas.store %all, %x token(%t) {mem_semantic = "weak", vector = 2 : i32} : (!pointers, !tile, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22f16\22, \22access\22: \22updated\22}], \22param_sizes\22: [8], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.shl %3, %4 : i32
    %6 = llvm.add %5, %4 : i32
    %7 = llvm.getelementptr %a0[%5] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i16
    %8 = llvm.getelementptr %a0[%6] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i16
    %9 = nvvm.ld %7 {space = "global"} : (!llvm.ptr<1>) -> !llvm.struct<(f16, f16)>
    %10 = llvm.extractvalue %9[0] : !llvm.struct<(f16, f16)>
    %11 = llvm.extractvalue %9[1] : !llvm.struct<(f16, f16)>
    nvvm.st %7 values(%10, %11) {space = "global"} : (!llvm.ptr<1>, f16, f16) -> ()
    llvm.return
  }
}

// ---- a_tile_of_an_array
!memref = !nv_tileaa.memref<f32, [?], [1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128], dim_map = [0], steps = [128], sparse = -1, padding = neg_inf>
!tile = tensor<128xf32, #cute.layout<(128), (32,1,4):(4,0,1)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32, %i: i32):
  %m = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f32>, i32) -> !memref
  %v = nv_tileas.block_tile %m : (!memref) -> !view
  %x, %t = nv_tileas.tiled_load %v coords(%i) {mem_semantic = "weak", has_boundary_tile, vector = 4 : i32, in_bounds = array<i1: false>} : (!view, i32) -> (!tile, !nv_tileaa.mem_token)
  %t1 = nv_tileas.tiled_store %v, %x coords(%i) token(%t) {mem_semantic = "weak", vector = 4 : i32, in_bounds = array<i1: true>} : (!view, !tile, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22f32\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 12, \22role\22: \22scalar\22, \22argument\22: 2}], \22param_sizes\22: [8, 4, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0, \22view\22: {\22extents\22: [null], \22strides\22: [1]}}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
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
    %13 = llvm.mlir.constant(1 : i32) : i32
    %14 = llvm.mlir.constant(3 : i32) : i32
    %15 = llvm.icmp "ult" %a2, %9 : i32
    %16 = llvm.sub %a1, %11 : i32
    %17 = llvm.icmp "sle" %8, %16 : i32
    llvm.cond_br %17, ^bb1, ^bb2
  ^bb1:
    %18 = llvm.add %11, %5 : i32
    %19 = llvm.sext %18 : i32 to i64
    %20 = llvm.getelementptr %a0[%19] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %21 = nvvm.ld %20 {space = "global"} : (!llvm.ptr<1>) -> !llvm.struct<(f32, f32, f32, f32)>
    %22 = llvm.extractvalue %21[0] : !llvm.struct<(f32, f32, f32, f32)>
    %23 = llvm.extractvalue %21[1] : !llvm.struct<(f32, f32, f32, f32)>
    %24 = llvm.extractvalue %21[2] : !llvm.struct<(f32, f32, f32, f32)>
    %25 = llvm.extractvalue %21[3] : !llvm.struct<(f32, f32, f32, f32)>
    llvm.br ^bb3(%22, %23, %24, %25 : f32, f32, f32, f32)
  ^bb2:
    %26 = llvm.add %11, %5 : i32
    %27 = llvm.sub %a1, %26 : i32
    %28 = llvm.icmp "slt" %12, %27 : i32
    %29 = llvm.sext %26 : i32 to i64
    %30 = llvm.getelementptr %a0[%29] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %31 = nvvm.ld %30 predicate(%28) {fill = 4286578688 : i64, space = "global"} : (!llvm.ptr<1>, i1) -> f32
    %32 = llvm.icmp "slt" %13, %27 : i32
    %33 = nvvm.ld %30 predicate(%32) {offset = 4 : i64, fill = 4286578688 : i64, space = "global"} : (!llvm.ptr<1>, i1) -> f32
    %34 = llvm.icmp "slt" %4, %27 : i32
    %35 = nvvm.ld %30 predicate(%34) {offset = 8 : i64, fill = 4286578688 : i64, space = "global"} : (!llvm.ptr<1>, i1) -> f32
    %36 = llvm.icmp "slt" %14, %27 : i32
    %37 = nvvm.ld %30 predicate(%36) {offset = 12 : i64, fill = 4286578688 : i64, space = "global"} : (!llvm.ptr<1>, i1) -> f32
    llvm.br ^bb3(%31, %33, %35, %37 : f32, f32, f32, f32)
  ^bb3(%38: f32, %39: f32, %40: f32, %41: f32):
    %42 = llvm.mul %a2, %8 : i32
    %43 = llvm.add %42, %5 : i32
    %44 = llvm.sext %43 : i32 to i64
    %45 = llvm.getelementptr %a0[%44] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    nvvm.st %45 values(%38, %39, %40, %41) predicate(%15) {space = "global"} : (!llvm.ptr<1>, f32, f32, f32, f32, i1) -> ()
    llvm.return
  }
}
