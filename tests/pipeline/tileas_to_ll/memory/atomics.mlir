// Atomic updates: one atom for each element, a loop of compare-and-swap where the GPU has none, one red for consecutive additions.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- an_update_whose_old_value_is_read
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<i32>, %x: i32, %m: i1):
  %old, %t = nv_tileas.atomic_rmw %p, %x mask(%m) {mem_semantic = "acq_rel", mem_scope = "device", mode = "max", scratch_bytes = 4 : i32, scratch_offset = 0 : i32} : (!nv_tileaa.ptr<i32>, i32, i1) -> (i32, !nv_tileaa.mem_token)
  %again, %t2 = nv_tileas.atomic_rmw %p, %old {mem_semantic = "relaxed", mem_scope = "sys", mode = "add", scratch_bytes = 4 : i32, scratch_offset = 4 : i32} : (!nv_tileaa.ptr<i32>, i32) -> (i32, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22i32\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 12, \22role\22: \22scalar\22, \22argument\22: 2}], \22param_sizes\22: [8, 4, 1], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 8, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<8 x i8>
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: i32, %a2: i8) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a2, %0 : i8
    %2 = gpu.thread_id x
    %3 = arith.index_cast %2 : index to i32
    %4 = llvm.mlir.constant(0 : i32) : i32
    %5 = llvm.icmp "eq" %3, %4 : i32
    %6 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %7 = llvm.ptrtoint %6 : !llvm.ptr<3> to i32
    %8 = llvm.mlir.constant(-1 : i32) : i32
    %9 = llvm.and %5, %1 : i1
    %10 = nvvm.atom %a0 values(%a1) predicate(%9) {operation = "max.s32", semantics = "acq_rel", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32, i1) -> i32
    nvvm.st %7 values(%10) predicate(%5) {space = "shared"} : (i32, i32, i1) -> ()
    nvvm.bar.warp.sync %8 : (i32) -> ()
    %11 = nvvm.ld %7 {space = "shared"} : i32
    %12 = nvvm.atom %a0 values(%11) predicate(%5) {operation = "add.u32", semantics = "relaxed", scope = "sys", space = "global"} : (!llvm.ptr<1>, i32, i1) -> i32
    llvm.return
  }
}

// ---- an_update_of_a_tile
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
!pointers = tensor<64x!nv_tileaa.ptr<i32>, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<i32>, %x: i32):
  %places = nv_tileas.make_range : !tile
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<i32>) -> !pointers
  %all = nv_tileas.addptr %base, %places : (!pointers, !tile) -> !pointers
  %values = nv_tileas.splat %x : (i32) -> !tile
  %old, %t = nv_tileas.atomic_rmw %all, %values {mem_semantic = "relaxed", mem_scope = "device", mode = "add"} : (!pointers, !tile) -> (!tile, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22i32\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}], \22param_sizes\22: [8, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(32 : i32) : i32
    %5 = llvm.add %3, %4 : i32
    %6 = llvm.getelementptr %a0[%3] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %7 = llvm.getelementptr %a0[%5] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %8 = nvvm.atom %6 values(%a1) {operation = "add.u32", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32) -> i32
    %9 = nvvm.atom %7 values(%a1) {operation = "add.u32", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32) -> i32
    llvm.return
  }
}

// ---- compare_and_swap
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<i32>, %x: i32, %y: i32, %m: i1):
  %old, %t = nv_tileas.atomic_cas %p, %x, %y mask(%m) {mem_semantic = "acquire", mem_scope = "device", scratch_bytes = 4 : i32, scratch_offset = 0 : i32} : (!nv_tileaa.ptr<i32>, i32, i32, i1) -> (i32, !nv_tileaa.mem_token)
  %last, %t2 = nv_tileas.atomic_rmw %p, %old {mem_semantic = "relaxed", mem_scope = "device", mode = "xchg"} : (!nv_tileaa.ptr<i32>, i32) -> (i32, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22i32\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 12, \22role\22: \22scalar\22, \22argument\22: 2}, {\22name\22: \22arg3\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 16, \22role\22: \22scalar\22, \22argument\22: 3}], \22param_sizes\22: [8, 4, 4, 1], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}, {\22name\22: \22arg3\22, \22kind\22: \22scalar\22, \22param\22: 3}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 8, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<8 x i8>
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: i32, %a2: i32, %a3: i8) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a3, %0 : i8
    %2 = gpu.thread_id x
    %3 = arith.index_cast %2 : index to i32
    %4 = llvm.mlir.constant(0 : i32) : i32
    %5 = llvm.icmp "eq" %3, %4 : i32
    %6 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %7 = llvm.ptrtoint %6 : !llvm.ptr<3> to i32
    %8 = llvm.mlir.constant(-1 : i32) : i32
    %9 = llvm.and %5, %1 : i1
    %10 = nvvm.atom %a0 values(%a1, %a2) predicate(%9) {operation = "cas.b32", semantics = "acquire", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32, i32, i1) -> i32
    nvvm.st %7 values(%10) predicate(%5) {space = "shared"} : (i32, i32, i1) -> ()
    nvvm.bar.warp.sync %8 : (i32) -> ()
    %11 = nvvm.ld %7 {space = "shared"} : i32
    %12 = nvvm.atom %a0 values(%11) predicate(%5) {operation = "exch.b32", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32, i1) -> i32
    llvm.return
  }
}

// ---- an_addition_that_the_gpu_has_no_instruction_for
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<bf16>, %x: bf16):
  %old, %t = nv_tileas.atomic_rmw %p, %x {mem_semantic = "relaxed", mem_scope = "device", mode = "addf", reduce_atom = "atom.cas"} : (!nv_tileaa.ptr<bf16>, bf16) -> (bf16, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22bf16\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22bf16\22, \22size\22: 2, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}], \22param_sizes\22: [8, 2], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: bf16) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(0 : i32) : i32
    %3 = llvm.icmp "eq" %1, %2 : i32
    %4 = llvm.bitcast %a1 : bf16 to i16
    %5 = nvvm.atom.loop %a0, %4 predicate(%3) {operation = "add.bf16", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i16, i1) -> i16
    %6 = llvm.bitcast %5 : i16 to bf16
    llvm.return
  }
}

// ---- fences_around_the_updates_of_a_thread
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_90
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
!pointers = tensor<64x!nv_tileaa.ptr<i32>, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<i32>, %x: i32):
  %places = nv_tileas.make_range : !tile
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<i32>) -> !pointers
  %all = nv_tileas.addptr %base, %places : (!pointers, !tile) -> !pointers
  %values = nv_tileas.splat %x : (i32) -> !tile
  %old, %t = nv_tileas.atomic_rmw %all, %values {mem_semantic = "acq_rel", mem_scope = "device", mode = "add"} : (!pointers, !tile) -> (!tile, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22i32\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}], \22param_sizes\22: [8, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(32 : i32) : i32
    %5 = llvm.add %3, %4 : i32
    %6 = llvm.getelementptr %a0[%3] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %7 = llvm.getelementptr %a0[%5] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    nvvm.fence {semantics = "release", scope = "gpu"}
    %8 = nvvm.atom %6 values(%a1) {operation = "add.u32", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32) -> i32
    %9 = nvvm.atom %7 values(%a1) {operation = "add.u32", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32) -> i32
    nvvm.fence {semantics = "acquire", scope = "gpu"}
    llvm.return
  }
}

// ---- a_fence_of_both_ways_where_none_is_one_way
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
!pointers = tensor<64x!nv_tileaa.ptr<i32>, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<i32>, %x: i32):
  %places = nv_tileas.make_range : !tile
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<i32>) -> !pointers
  %all = nv_tileas.addptr %base, %places : (!pointers, !tile) -> !pointers
  %values = nv_tileas.splat %x : (i32) -> !tile
  %old, %t = nv_tileas.atomic_rmw %all, %values {mem_semantic = "acquire", mem_scope = "device", mode = "add"} : (!pointers, !tile) -> (!tile, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22i32\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}], \22param_sizes\22: [8, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(32 : i32) : i32
    %5 = llvm.add %3, %4 : i32
    %6 = llvm.getelementptr %a0[%3] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %7 = llvm.getelementptr %a0[%5] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %8 = nvvm.atom %6 values(%a1) {operation = "add.u32", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32) -> i32
    %9 = nvvm.atom %7 values(%a1) {operation = "add.u32", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32) -> i32
    nvvm.fence {semantics = "acq_rel", scope = "gpu"}
    llvm.return
  }
}

// ---- a_red_of_pairs
!tile = tensor<128xf16, #cute.layout<(128), (32,1,(2,2)):(2,0,(1,64))>>
!places = tensor<128xi32, #cute.layout<(128), (32,1,(2,2)):(2,0,(1,64))>>
!pointers = tensor<128x!nv_tileaa.ptr<f16>, #cute.layout<(128), (32,1,(2,2)):(2,0,(1,64))>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %x: f16):
  %places = nv_tileas.make_range : !places
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<f16>) -> !pointers
  %all = nv_tileas.addptr %base, %places : (!pointers, !places) -> !pointers
  %values = nv_tileas.splat %x : (f16) -> !tile
  %old, %t = nv_tileas.atomic_rmw %all, %values {mem_semantic = "release", mem_scope = "device", mode = "addf", vector = 2 : i32} : (!pointers, !tile) -> (!tile, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22f16\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22f16\22, \22size\22: 2, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}], \22param_sizes\22: [8, 2], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: f16) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.shl %3, %4 : i32
    %6 = llvm.mlir.constant(64 : i32) : i32
    %7 = llvm.mlir.constant(65 : i32) : i32
    %8 = llvm.add %5, %4 : i32
    %9 = llvm.add %5, %6 : i32
    %10 = llvm.add %5, %7 : i32
    %11 = llvm.getelementptr %a0[%5] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i16
    %12 = llvm.getelementptr %a0[%8] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i16
    %13 = llvm.getelementptr %a0[%9] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i16
    %14 = llvm.getelementptr %a0[%10] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i16
    nvvm.fence {semantics = "acq_rel", scope = "gpu"}
    %15 = nvvm.mov.b32.pack %a1, %a1 : (f16, f16) -> i32
    nvvm.red %11 values(%15) {operation = "add.noftz.f16x2", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32) -> ()
    nvvm.red %13 values(%15) {operation = "add.noftz.f16x2", semantics = "relaxed", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32) -> ()
    llvm.return
  }
}

// ---- an_atom_of_a_vector_that_acquires
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_90
!tile = tensor<128xf32, #cute.layout<(128), (32,1,4):(4,0,1)>>
!places = tensor<128xi32, #cute.layout<(128), (32,1,4):(4,0,1)>>
!masks = tensor<128xi1, #cute.layout<(128), (32,1,4):(4,0,1)>>
!pointers = tensor<128x!nv_tileaa.ptr<f32>, #cute.layout<(128), (32,1,4):(4,0,1)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %x: f32, %m: i1):
  %places = nv_tileas.make_range : !places
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<f32>) -> !pointers
  %all = nv_tileas.addptr %base, %places : (!pointers, !places) -> !pointers
  %values = nv_tileas.splat %x : (f32) -> !tile
  %masks = nv_tileas.splat %m : (i1) -> !masks
  %old, %t = nv_tileas.atomic_rmw %all, %values mask(%masks) {mem_semantic = "acquire", mem_scope = "device", mode = "addf", vector = 4 : i32} : (!pointers, !tile, !masks) -> (!tile, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22f32\22, \22access\22: \22updated\22}, {\22name\22: \22arg1\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 12, \22role\22: \22scalar\22, \22argument\22: 2}], \22param_sizes\22: [8, 4, 1], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: f32, %a2: i8) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a2, %0 : i8
    %2 = gpu.thread_id x
    %3 = arith.index_cast %2 : index to i32
    %4 = llvm.mlir.constant(31 : i32) : i32
    %5 = llvm.and %3, %4 : i32
    %6 = llvm.mlir.constant(2 : i32) : i32
    %7 = llvm.shl %5, %6 : i32
    %8 = llvm.mlir.constant(1 : i32) : i32
    %9 = llvm.mlir.constant(3 : i32) : i32
    %10 = llvm.add %7, %8 : i32
    %11 = llvm.add %7, %6 : i32
    %12 = llvm.add %7, %9 : i32
    %13 = llvm.getelementptr %a0[%7] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %14 = llvm.getelementptr %a0[%10] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %15 = llvm.getelementptr %a0[%11] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %16 = llvm.getelementptr %a0[%12] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %17 = llvm.bitcast %a1 : f32 to i32
    nvvm.red %13 values(%17, %17, %17, %17) predicate(%1) {operation = "add.v4.f32", reads, semantics = "acquire", scope = "gpu", space = "global"} : (!llvm.ptr<1>, i32, i32, i32, i32, i1) -> ()
    llvm.return
  }
}
