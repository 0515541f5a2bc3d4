// Tiles of another shape: mostly other names of the same registers.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- splat_range_broadcast_and_view
!row = tensor<32xi32, #cute.layout<(32), (32,1,1):(1,0,0)>>
!rows = tensor<1x32xi32, #cute.layout<(1,32), (32,1,1):(1,0,0)>>
!tile = tensor<2x32xi32, #cute.layout<(2,32), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%n: i32):
  %x = nv_tileas.make_range : !row
  %y = nv_tileas.view %x : (!row) -> !rows
  %z = nv_tileas.broadcast %y : (!rows) -> !tile
  %s = nv_tileas.splat %n : (i32) -> !tile
  %r = arith.addi %z, %s : !tile
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.add %3, %a0 : i32
    llvm.return
  }
}

// ---- permute_and_cat
!tile = tensor<2x32xi32, #cute.layout<(2,32), (32,1,2):(1,0,32)>>
!turned = tensor<32x2xi32, #cute.layout<(32,2), (32,1,2):(2,0,1)>>
!both = tensor<4x32xi32, #cute.layout<(4,32), (32,1,4):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%n: i32, %m: i32):
  %x = nv_tileas.splat %n : (i32) -> !tile
  %y = nv_tileas.splat %m : (i32) -> !tile
  %p = nv_tileas.permute %x {permutation = array<i32: 1, 0>} : (!tile) -> !turned
  %a = arith.addi %p, %p : !turned
  %c = nv_tileas.cat %x, %y {dim = 0 : i64} : (!tile, !tile) -> !both
  %b = arith.muli %c, %c : !both
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 4, \22role\22: \22scalar\22, \22argument\22: 1}], \22param_sizes\22: [4, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: i32, %a1: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.add %a0, %a0 : i32
    %1 = llvm.mul %a0, %a0 : i32
    %2 = llvm.mul %a1, %a1 : i32
    llvm.return
  }
}

// ---- a_slice_goes_through_shared_memory
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(2,0,1)>>
!part = tensor<32xi32, #cute.layout<(32), (32,1,1):(1,0,0)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 512 : i32} {
^bb0(%n: i32):
  %x = nv_tileas.make_range : !tile
  %y = nv_tileas.extract_slice %x indices(%n) {scratch_bytes = 256 : i32, scratch_offset = 0 : i32} : (!tile, i32) -> !part
  %z = nv_tileas.insert_slice %y, %x indices(%n) {scratch_bytes = 256 : i32, scratch_offset = 256 : i32} : (!part, !tile, i32) -> !tile
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 512, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<512 x i8>
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.shl %3, %4 : i32
    %6 = llvm.mlir.constant(16 : i32) : i32
    %7 = llvm.and %1, %6 : i32
    %8 = llvm.shl %7, %4 : i32
    %9 = llvm.mlir.constant(32 : i32) : i32
    %10 = llvm.mlir.constant(3 : i32) : i32
    %11 = llvm.shl %3, %10 : i32
    %12 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %13 = llvm.ptrtoint %12 : !llvm.ptr<3> to i32
    %14 = llvm.add %11, %13 : i32
    %15 = llvm.mlir.constant(-1 : i32) : i32
    %16 = llvm.mlir.constant(4 : i32) : i32
    %17 = llvm.mlir.constant(2 : i32) : i32
    %18 = llvm.shl %3, %17 : i32
    %19 = llvm.add %5, %4 : i32
    %20 = llvm.mul %a0, %9 : i32
    %21 = llvm.icmp "eq" %8, %20 : i32
    nvvm.st %14 values(%5, %19) predicate(%21) {space = "shared"} : (i32, i32, i32, i1) -> ()
    nvvm.bar.warp.sync %15 : (i32) -> ()
    %22 = llvm.mul %20, %16 : i32
    %23 = llvm.add %22, %13 : i32
    %24 = llvm.add %23, %18 : i32
    %25 = nvvm.ld %24 {space = "shared"} : i32
    nvvm.st %14 values(%5, %19) {offset = 256 : i64, space = "shared"} : (i32, i32, i32) -> ()
    nvvm.bar.warp.sync %15 : (i32) -> ()
    nvvm.st %24 values(%25) {offset = 256 : i64, space = "shared"} : (i32, i32) -> ()
    nvvm.bar.warp.sync %15 : (i32) -> ()
    %26 = nvvm.ld %14 {offset = 256 : i64, space = "shared"} : (i32) -> !llvm.struct<(i32, i32)>
    %27 = llvm.extractvalue %26[0] : !llvm.struct<(i32, i32)>
    %28 = llvm.extractvalue %26[1] : !llvm.struct<(i32, i32)>
    llvm.return
  }
}

// ---- threads_with_elements_of_several_slices_write_all
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
!part = tensor<32xi32, #cute.layout<(32), (32,1,1):(1,0,0)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 256 : i32} {
^bb0(%n: i32):
  %x = nv_tileas.make_range : !tile
  %y = nv_tileas.extract_slice %x indices(%n) {scratch_bytes = 256 : i32, scratch_offset = 0 : i32} : (!tile, i32) -> !part
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 256, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<256 x i8>
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(32 : i32) : i32
    %5 = llvm.mlir.constant(2 : i32) : i32
    %6 = llvm.shl %3, %5 : i32
    %7 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %8 = llvm.ptrtoint %7 : !llvm.ptr<3> to i32
    %9 = llvm.add %6, %8 : i32
    %10 = llvm.mlir.constant(-1 : i32) : i32
    %11 = llvm.mlir.constant(4 : i32) : i32
    %12 = llvm.add %3, %4 : i32
    nvvm.st %9 values(%3) {space = "shared"} : (i32, i32) -> ()
    nvvm.st %9 values(%12) {offset = 128 : i64, space = "shared"} : (i32, i32) -> ()
    nvvm.bar.warp.sync %10 : (i32) -> ()
    %13 = llvm.mul %a0, %4 : i32
    %14 = llvm.mul %13, %11 : i32
    %15 = llvm.add %14, %8 : i32
    %16 = llvm.add %15, %6 : i32
    %17 = nvvm.ld %16 {space = "shared"} : i32
    llvm.return
  }
}
