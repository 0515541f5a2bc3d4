// Storage on the device's heap: one thread asks for it, and frees it where its block ends.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- storage_of_a_kernel
nv_tileaa.func @k attributes {num_warps = 2 : i32, shared_bytes = 8 : i32} {
^bb0(%x: f32):
  %p = nv_tileas.alloca {num_elem = 100 : i64, alignment = 16 : i64, shared_offset = 0 : i32, global} : !nv_tileaa.ptr<f32>
  %t = nv_tileas.store %p, %x {mem_semantic = "weak"} : (!nv_tileaa.ptr<f32>, f32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 64, \22shared_memory\22: {\22static\22: 8, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<8 x i8>
  llvm.func @k(%a0: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>} {
    %0 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %1 = llvm.ptrtoint %0 : !llvm.ptr<3> to i32
    %2 = gpu.thread_id x
    %3 = arith.index_cast %2 : index to i32
    %4 = llvm.mlir.constant(0 : i32) : i32
    %5 = llvm.icmp "eq" %3, %4 : i32
    %6 = llvm.mlir.constant(415) : i64
    %7 = llvm.mlir.constant(0) : i64
    %8 = llvm.mlir.constant(15) : i64
    %9 = llvm.mlir.constant(-16) : i64
    %10 = llvm.inttoptr %1 : i32 to !llvm.ptr<3>
    llvm.cond_br %5, ^bb1, ^bb2
  ^bb1:
    %11 = llvm.call @malloc(%6) : (i64) -> !llvm.ptr
    %12 = llvm.ptrtoint %11 : !llvm.ptr to i64
    llvm.store %12, %10 {alignment = 8 : i64} : i64, !llvm.ptr<3>
    llvm.br ^bb2
  ^bb2:
    gpu.barrier
    %13 = llvm.load %10 {alignment = 8 : i64} : !llvm.ptr<3> -> i64
    %14 = llvm.icmp "eq" %13, %7 : i64
    llvm.cond_br %14, ^bb3, ^bb4
  ^bb3:
    nvvm.intr.trap
    llvm.br ^bb4
  ^bb4:
    %15 = llvm.add %13, %8 : i64
    %16 = llvm.and %15, %9 : i64
    %17 = llvm.inttoptr %16 : i64 to !llvm.ptr<1>
    nvvm.st %17 values(%a0) predicate(%5) {space = "global"} : (!llvm.ptr<1>, f32, i1) -> ()
    gpu.barrier
    llvm.cond_br %5, ^bb5, ^bb6
  ^bb5:
    %18 = llvm.inttoptr %13 : i64 to !llvm.ptr
    llvm.call @free(%18) : (!llvm.ptr) -> ()
    llvm.br ^bb6
  ^bb6:
    llvm.return
  }
  llvm.func @malloc(i64) -> !llvm.ptr
  llvm.func @free(!llvm.ptr)
}
