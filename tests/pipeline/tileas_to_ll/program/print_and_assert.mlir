// Prints and asserts.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- a_print_of_a_scalar
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: i32, %d: f64):
  %t = nv_tileas.print values(%x, %d) {format = "%d is %f\0A"} : (i32, f64) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22f64\22, \22size\22: 8, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}], \22param_sizes\22: [4, 8], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: i32, %a1: f64) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(0 : i32) : i32
    %3 = llvm.icmp "eq" %1, %2 : i32
    llvm.cond_br %3, ^bb1, ^bb2
  ^bb1:
    gpu.printf "%d is %f\0A", %a0, %a1 : i32, f64
    llvm.br ^bb2
  ^bb2:
    llvm.return
  }
}

// ---- a_print_of_a_tile
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  %x = nv_tileas.make_range : !tile
  %t = nv_tileas.print values(%x) {format = "%d\0A"} : (!tile) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22arguments\22: [], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(32 : i32) : i32
    %5 = llvm.add %3, %4 : i32
    gpu.printf "%d\0A", %3 : i32
    gpu.printf "%d\0A", %5 : i32
    llvm.return
  }
}

// ---- a_print_of_tiles_that_every_thread_holds_whole
// The conversions of a tile's elements stand in brackets; no call has more than 32 arguments.
!tile = tensor<4x4xi32, #cute.layout<(4,4), (32,1,16):(0,0,1)>>
!longer = tensor<32xi32, #cute.layout<(32), (32,1,32):(0,0,1)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%n: i32):
  %x = nv_tileas.splat %n : (i32) -> !tile
  %y = nv_tileas.splat %n : (i32) -> !longer
  %t = nv_tileas.print values(%x, %y) {format = "%3d%%, %d\0A"} : (!tile, !longer) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(0 : i32) : i32
    %3 = llvm.icmp "eq" %1, %2 : i32
    llvm.cond_br %3, ^bb1, ^bb2
  ^bb1:
    gpu.printf "[[%3d, %3d, %3d, %3d], [%3d, %3d, %3d, %3d], [%3d, %3d, %3d, %3d], [%3d, %3d, %3d, %3d]]%%, [%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, ", %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0 : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
    gpu.printf "%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d]\0A", %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0, %a0 : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
    llvm.br ^bb2
  ^bb2:
    llvm.return
  }
}

// ---- an_assert_of_a_tile
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
!truth = tensor<64xi1, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%n: i32):
  %x = nv_tileas.make_range : !tile
  %all = nv_tileas.splat %n : (i32) -> !tile
  %c = arith.cmpi %x, %all {predicate = "slt"} : (!tile, !tile) -> !truth
  nv_tileas.assert %c {message = "too long"} : (!truth) -> ()
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(32 : i32) : i32
    %5 = llvm.add %3, %4 : i32
    %6 = llvm.icmp "slt" %3, %a0 : i32
    %7 = llvm.icmp "slt" %5, %a0 : i32
    %8 = llvm.and %6, %7 : i1
    cf.assert %8, "too long"
    llvm.return
  }
}
