// Slices of tiles that pass through shared memory in parts: a thread writes what is in the part, and takes what it wants.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- one_of_two_halves_is_written
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(2,0,1)>>
!part = tensor<32xi32, #cute.layout<(32), (32,1,1):(1,0,0)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 128 : i32} {
^bb0(%n: i32):
  %x = nv_tileas.make_range : !tile
  %y = nv_tileas.extract_slice %x indices(%n) {scratch_bytes = 128 : i32, scratch_offset = 0 : i32, chunk_bits = 32 : i32} : (!tile, i32) -> !part
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 128, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<128 x i8>
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.shl %3, %4 : i32
    %6 = llvm.mlir.constant(32 : i32) : i32
    %7 = llvm.mlir.constant(16 : i32) : i32
    %8 = llvm.and %1, %7 : i32
    %9 = llvm.shl %8, %4 : i32
    %10 = llvm.mlir.constant(0 : i32) : i32
    %11 = llvm.mlir.constant(15 : i32) : i32
    %12 = llvm.and %1, %11 : i32
    %13 = llvm.mlir.constant(3 : i32) : i32
    %14 = llvm.shl %12, %13 : i32
    %15 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %16 = llvm.ptrtoint %15 : !llvm.ptr<3> to i32
    %17 = llvm.mlir.constant(4 : i32) : i32
    %18 = llvm.mlir.constant(-1 : i32) : i32
    %19 = llvm.mlir.constant(2 : i32) : i32
    %20 = llvm.shl %3, %19 : i32
    %21 = llvm.add %5, %4 : i32
    %22 = llvm.mul %a0, %6 : i32
    %23 = llvm.and %22, %6 : i32
    %24 = llvm.xor %9, %23 : i32
    %25 = llvm.icmp "eq" %24, %10 : i32
    %26 = llvm.add %14, %16 : i32
    nvvm.st %26 values(%5) predicate(%25) {space = "shared"} : (i32, i32, i1) -> ()
    %27 = llvm.xor %14, %17 : i32
    %28 = llvm.add %27, %16 : i32
    nvvm.st %28 values(%21) predicate(%25) {space = "shared"} : (i32, i32, i1) -> ()
    nvvm.bar.warp.sync %18 : (i32) -> ()
    %29 = llvm.add %20, %16 : i32
    %30 = nvvm.ld %29 {space = "shared"} : i32
    llvm.return
  }
}

// ---- a_slice_in_two_parts
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(2,0,1)>>
!part = tensor<32xi32, #cute.layout<(32), (32,1,1):(1,0,0)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 64 : i32} {
^bb0(%n: i32):
  %x = nv_tileas.make_range : !tile
  %y = nv_tileas.extract_slice %x indices(%n) {scratch_bytes = 64 : i32, scratch_offset = 0 : i32, chunk_bits = 48 : i32} : (!tile, i32) -> !part
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 64, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<64 x i8>
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.shl %3, %4 : i32
    %6 = llvm.mlir.constant(32 : i32) : i32
    %7 = llvm.mlir.constant(48 : i32) : i32
    %8 = llvm.mlir.constant(24 : i32) : i32
    %9 = llvm.and %1, %8 : i32
    %10 = llvm.shl %9, %4 : i32
    %11 = llvm.mlir.constant(0 : i32) : i32
    %12 = llvm.mlir.constant(7 : i32) : i32
    %13 = llvm.and %1, %12 : i32
    %14 = llvm.mlir.constant(3 : i32) : i32
    %15 = llvm.shl %13, %14 : i32
    %16 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %17 = llvm.ptrtoint %16 : !llvm.ptr<3> to i32
    %18 = llvm.mlir.constant(4 : i32) : i32
    %19 = llvm.mlir.constant(-1 : i32) : i32
    %20 = llvm.mlir.constant(16 : i32) : i32
    %21 = llvm.and %1, %20 : i32
    %22 = llvm.mlir.constant(15 : i32) : i32
    %23 = llvm.and %1, %22 : i32
    %24 = llvm.mlir.constant(2 : i32) : i32
    %25 = llvm.shl %23, %24 : i32
    %26 = llvm.add %5, %4 : i32
    %27 = llvm.mul %a0, %6 : i32
    %28 = llvm.and %27, %7 : i32
    %29 = llvm.xor %10, %28 : i32
    %30 = llvm.icmp "eq" %29, %11 : i32
    %31 = llvm.add %15, %17 : i32
    nvvm.st %31 values(%5) predicate(%30) {space = "shared"} : (i32, i32, i1) -> ()
    %32 = llvm.xor %15, %18 : i32
    %33 = llvm.add %32, %17 : i32
    nvvm.st %33 values(%26) predicate(%30) {space = "shared"} : (i32, i32, i1) -> ()
    nvvm.bar.warp.sync %19 : (i32) -> ()
    %34 = llvm.add %25, %17 : i32
    %35 = nvvm.ld %34 {space = "shared"} : i32
    nvvm.bar.warp.sync %19 : (i32) -> ()
    %36 = llvm.or %28, %20 : i32
    %37 = llvm.xor %10, %36 : i32
    %38 = llvm.icmp "eq" %37, %11 : i32
    nvvm.st %31 values(%5) predicate(%38) {space = "shared"} : (i32, i32, i1) -> ()
    nvvm.st %33 values(%26) predicate(%38) {space = "shared"} : (i32, i32, i1) -> ()
    nvvm.bar.warp.sync %19 : (i32) -> ()
    %39 = llvm.xor %21, %20 : i32
    %40 = nvvm.ld %34 {space = "shared"} : i32
    %41 = llvm.icmp "eq" %39, %11 : i32
    %42 = llvm.select %41, %40, %35 : i1, i32
    llvm.return
  }
}

// ---- only_the_inserted_slice_is_written
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(2,0,1)>>
!part = tensor<32xi32, #cute.layout<(32), (32,1,1):(1,0,0)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 128 : i32} {
^bb0(%n: i32):
  %x = nv_tileas.make_range : !tile
  %y = nv_tileas.make_range : !part
  %z = nv_tileas.insert_slice %y, %x indices(%n) {scratch_bytes = 128 : i32, scratch_offset = 0 : i32, chunk_bits = 32 : i32, sync_before} : (!part, !tile, i32) -> !tile
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 128, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<128 x i8>
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.shl %3, %4 : i32
    %6 = llvm.mlir.constant(32 : i32) : i32
    %7 = llvm.mlir.constant(-1 : i32) : i32
    %8 = llvm.mlir.constant(2 : i32) : i32
    %9 = llvm.shl %3, %8 : i32
    %10 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %11 = llvm.ptrtoint %10 : !llvm.ptr<3> to i32
    %12 = llvm.mlir.constant(16 : i32) : i32
    %13 = llvm.and %1, %12 : i32
    %14 = llvm.shl %13, %4 : i32
    %15 = llvm.mlir.constant(15 : i32) : i32
    %16 = llvm.and %1, %15 : i32
    %17 = llvm.mlir.constant(3 : i32) : i32
    %18 = llvm.shl %16, %17 : i32
    %19 = llvm.mlir.constant(0 : i32) : i32
    %20 = llvm.mlir.constant(4 : i32) : i32
    %21 = llvm.add %5, %4 : i32
    %22 = llvm.mul %a0, %6 : i32
    nvvm.bar.warp.sync %7 : (i32) -> ()
    %23 = llvm.add %9, %11 : i32
    nvvm.st %23 values(%3) {space = "shared"} : (i32, i32) -> ()
    nvvm.bar.warp.sync %7 : (i32) -> ()
    %24 = llvm.xor %14, %22 : i32
    %25 = llvm.add %18, %11 : i32
    %26 = nvvm.ld %25 {space = "shared"} : i32
    %27 = llvm.icmp "eq" %24, %19 : i32
    %28 = llvm.select %27, %26, %5 : i1, i32
    %29 = llvm.xor %18, %20 : i32
    %30 = llvm.add %29, %11 : i32
    %31 = nvvm.ld %30 {space = "shared"} : i32
    %32 = llvm.select %27, %31, %21 : i1, i32
    llvm.return
  }
}
