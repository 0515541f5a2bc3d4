// Prints and asserts.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- a_print_of_a_scalar
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: i32, %d: f64):
  %t = nv_tileas.print values(%x, %d) {format = "%d is %f\0A"} : (i32, f64) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 1, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22f64\22, \22size\22: 8, \22offset\22: 8}], \22param_sizes\22: [4, 8], \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal constant @str0("%d is %f\0A\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<10 x i8>
  llvm.func @k(%a0: i32, %a1: f64) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(0 : i32) : i32
    %3 = llvm.icmp "eq" %1, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.alloca %4 x !llvm.array<16 x i8> {alignment = 8 : i64} : (i32) -> !llvm.ptr
    %6 = llvm.mlir.constant(8 : i32) : i32
    %7 = llvm.mlir.addressof @str0 : !llvm.ptr<1>
    llvm.cond_br %3, ^bb1, ^bb2
  ^bb1:
    %8 = llvm.getelementptr %5[%2] : (!llvm.ptr, i32) -> !llvm.ptr, i8
    llvm.store %a0, %8 {alignment = 4 : i64} : i32, !llvm.ptr
    %9 = llvm.getelementptr %5[%6] : (!llvm.ptr, i32) -> !llvm.ptr, i8
    llvm.store %a1, %9 {alignment = 8 : i64} : f64, !llvm.ptr
    %10 = llvm.addrspacecast %7 : !llvm.ptr<1> to !llvm.ptr
    %11 = llvm.call @vprintf(%10, %5) : (!llvm.ptr, !llvm.ptr) -> i32
    llvm.br ^bb2
  ^bb2:
    llvm.return
  }
  llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
}

// ---- a_print_of_a_tile
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  %x = nv_tileas.make_range : !tile
  %t = nv_tileas.print values(%x) {format = "%d\0A"} : (!tile) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 1, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal constant @str0("%d\0A\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<4 x i8>
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(32 : i32) : i32
    %5 = llvm.mlir.constant(1 : i32) : i32
    %6 = llvm.alloca %5 x !llvm.array<8 x i8> {alignment = 8 : i64} : (i32) -> !llvm.ptr
    %7 = llvm.mlir.constant(0 : i32) : i32
    %8 = llvm.mlir.addressof @str0 : !llvm.ptr<1>
    %9 = llvm.add %3, %4 : i32
    %10 = llvm.getelementptr %6[%7] : (!llvm.ptr, i32) -> !llvm.ptr, i8
    llvm.store %3, %10 {alignment = 4 : i64} : i32, !llvm.ptr
    %11 = llvm.addrspacecast %8 : !llvm.ptr<1> to !llvm.ptr
    %12 = llvm.call @vprintf(%11, %6) : (!llvm.ptr, !llvm.ptr) -> i32
    llvm.store %9, %10 {alignment = 4 : i64} : i32, !llvm.ptr
    %13 = llvm.call @vprintf(%11, %6) : (!llvm.ptr, !llvm.ptr) -> i32
    llvm.return
  }
  llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
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
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 1, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0}], \22param_sizes\22: [4], \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal constant @str0("too long\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<9 x i8>
  llvm.mlir.global internal constant @str1("\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<1 x i8>
  llvm.mlir.global internal constant @str2("k\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<2 x i8>
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(32 : i32) : i32
    %5 = llvm.mlir.constant(true) : i1
    %6 = llvm.mlir.addressof @str0 : !llvm.ptr<1>
    %7 = llvm.mlir.addressof @str1 : !llvm.ptr<1>
    %8 = llvm.mlir.addressof @str2 : !llvm.ptr<1>
    %9 = llvm.mlir.constant(0 : i32) : i32
    %10 = llvm.mlir.constant(1) : i64
    %11 = llvm.add %3, %4 : i32
    %12 = llvm.icmp "slt" %3, %a0 : i32
    %13 = llvm.icmp "slt" %11, %a0 : i32
    %14 = llvm.and %12, %13 : i1
    %15 = llvm.xor %14, %5 : i1
    llvm.cond_br %15, ^bb1, ^bb2
  ^bb1:
    %16 = llvm.addrspacecast %6 : !llvm.ptr<1> to !llvm.ptr
    %17 = llvm.addrspacecast %7 : !llvm.ptr<1> to !llvm.ptr
    %18 = llvm.addrspacecast %8 : !llvm.ptr<1> to !llvm.ptr
    llvm.call @__assertfail(%16, %17, %9, %18, %10) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64) -> ()
    llvm.br ^bb2
  ^bb2:
    llvm.return
  }
  llvm.func @__assertfail(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)
}
