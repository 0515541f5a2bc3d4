// A program's place in the grid, its tokens and barriers.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- where_a_program_is
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<i32>):
  %x = nv_tileas.get_program_id {axis = 0 : i32} : i32
  %z = nv_tileas.get_program_id {axis = 2 : i32} : i32
  %n = nv_tileas.get_num_programs {axis = 1 : i32} : i32
  %a = arith.addi %x, %z : i32
  %b = arith.muli %a, %n : i32
  %t = nv_tileas.store %p, %b {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22i32\22, \22access\22: \22stored\22}], \22param_sizes\22: [8], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0}], \22grid\22: {\22axes\22: [0, 1, 2]}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.block_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = gpu.block_id z
    %3 = arith.index_cast %2 : index to i32
    %4 = gpu.grid_dim y
    %5 = arith.index_cast %4 : index to i32
    %6 = llvm.add %1, %3 : i32
    %7 = llvm.mul %6, %5 : i32
    nvvm.st %a0 values(%7) {space = "global"} : (!llvm.ptr<1>, i32) -> ()
    llvm.return
  }
}

// ---- tokens_leave_nothing_and_barriers_one_instruction
nv_tileaa.func @k attributes {num_warps = 2 : i32} {
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %u = nv_tileas.join_mem_token %t, %t : !nv_tileaa.mem_token
  nv_tileas.barrier
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22arguments\22: [], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 64, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>} {
    gpu.barrier
    llvm.return
  }
}

// ---- a_barrier_of_one_warp
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  nv_tileas.barrier
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22arguments\22: [], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    nvvm.bar.warp.sync %0 : (i32) -> ()
    llvm.return
  }
}

// ---- a_program_of_two_ctas_counts_clusters
nv_tileaa.func @k attributes {num_warps = 1 : i32, num_ctas = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<i32>):
  %x = nv_tileas.get_program_id {axis = 0 : i32} : i32
  %y = nv_tileas.get_program_id {axis = 1 : i32} : i32
  %n = nv_tileas.get_num_programs {axis = 0 : i32} : i32
  %a = arith.addi %x, %y : i32
  %b = arith.muli %a, %n : i32
  %t = nv_tileas.store %p, %b {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22i32\22, \22access\22: \22stored\22}], \22param_sizes\22: [8], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0}], \22grid\22: {\22axes\22: [0, 1]}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.block_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(2 : i32) : i32
    %3 = llvm.udiv %1, %2 : i32
    %4 = gpu.block_id y
    %5 = arith.index_cast %4 : index to i32
    %6 = gpu.grid_dim x
    %7 = arith.index_cast %6 : index to i32
    %8 = llvm.udiv %7, %2 : i32
    %9 = llvm.add %3, %5 : i32
    %10 = llvm.mul %9, %8 : i32
    nvvm.st %a0 values(%10) {space = "global"} : (!llvm.ptr<1>, i32) -> ()
    llvm.return
  }
}
