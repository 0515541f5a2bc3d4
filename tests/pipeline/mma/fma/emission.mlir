// Matmuls of operands in scratch shared memory.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- a_matmul_by_multiplications
!a = tensor<2x2xf32, #cute.layout<(2,2), (32,1,(2,2)):(0,0,(2,1))>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 32 : i32} {
^bb0(%x: f32, %y: f32, %z: f32):
  %a = nv_tileas.splat %x : (f32) -> !a
  %b = nv_tileas.splat %y : (f32) -> !a
  %c = nv_tileas.splat %z : (f32) -> !a
  %d = nv_tileas.dot %a, %b, %c {scratch_bytes = 32 : i32, scratch_offset = 0 : i32} : (!a, !a, !a) -> !a
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 4, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 2}], \22param_sizes\22: [4, 4, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 32, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<32 x i8>
  llvm.func @k(%a0: f32, %a1: f32, %a2: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(0 : i32) : i32
    %5 = llvm.icmp "eq" %3, %4 : i32
    %6 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %7 = llvm.ptrtoint %6 : !llvm.ptr<3> to i32
    %8 = llvm.mlir.constant(-1 : i32) : i32
    nvvm.st %7 values(%a0, %a0, %a0, %a0) predicate(%5) {space = "shared"} : (i32, f32, f32, f32, f32, i1) -> ()
    nvvm.st %7 values(%a1, %a1, %a1, %a1) predicate(%5) {offset = 128 : i64, space = "shared"} : (i32, f32, f32, f32, f32, i1) -> ()
    nvvm.bar.warp.sync %8 : (i32) -> ()
    %9 = nvvm.ld %7 {space = "shared"} : (i32) -> f32
    %10 = nvvm.ld %7 {offset = 128 : i64, space = "shared"} : (i32) -> f32
    %11 = nvvm.intr.fma %9, %10, %a2 : f32
    %12 = nvvm.ld %7 {offset = 8 : i64, space = "shared"} : (i32) -> f32
    %13 = nvvm.intr.fma %12, %10, %a2 : f32
    %14 = nvvm.ld %7 {offset = 132 : i64, space = "shared"} : (i32) -> f32
    %15 = nvvm.intr.fma %9, %14, %a2 : f32
    %16 = nvvm.intr.fma %12, %14, %a2 : f32
    %17 = nvvm.ld %7 {offset = 4 : i64, space = "shared"} : (i32) -> f32
    %18 = nvvm.ld %7 {offset = 136 : i64, space = "shared"} : (i32) -> f32
    %19 = nvvm.intr.fma %17, %18, %11 : f32
    %20 = nvvm.ld %7 {offset = 12 : i64, space = "shared"} : (i32) -> f32
    %21 = nvvm.intr.fma %20, %18, %13 : f32
    %22 = nvvm.ld %7 {offset = 140 : i64, space = "shared"} : (i32) -> f32
    %23 = nvvm.intr.fma %17, %22, %15 : f32
    %24 = nvvm.intr.fma %20, %22, %16 : f32
    llvm.return
  }
}
