// The barrier, device assertions and printf.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- the_barrier_is_aligned_and_stays_in_place
// seed: lowering-overview role-gpu
// seed: nvgpu-gpu-to-nvvm concept-barrier barrier-aligned
gpu.module @m {
  gpu.func @k() kernel {
    %a = gpu.thread_id x
    gpu.barrier
    %b = gpu.thread_id y
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.tid.x : i32
    %a = arith.index_cast %0 : i32 to index
    nvvm.barrier0
    %1 = nvvm.read.ptx.sreg.tid.y : i32
    %b = arith.index_cast %1 : i32 to index
    llvm.return
  }
}

// ---- an_assertion_guards_its_call
// seed: nvgpu-gpu-to-nvvm concept-assert assert-globals assert-guard assert-signature assert-preserved
gpu.module @m {
  gpu.func @k(%cond: i1) kernel {
    cf.assert %cond, "out of range" loc("kernel.py":12:5)
    %a = gpu.thread_id x
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.mlir.global internal constant @".assert_func"("k\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<2 x i8>
  llvm.mlir.global internal constant @".assert_file"("kernel.py\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<10 x i8>
  llvm.mlir.global internal constant @".assert_msg"("out of range\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<13 x i8>
  llvm.func @__assertfail(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)
  llvm.func @k(%cond: i1) attributes {gpu.kernel, nvvm.kernel} {
    llvm.cond_br %cond, ^bb2, ^bb1
  ^bb1:
    %0 = llvm.mlir.addressof @".assert_msg" : !llvm.ptr<1>
    %1 = llvm.addrspacecast %0 : !llvm.ptr<1> to !llvm.ptr
    %2 = llvm.mlir.addressof @".assert_file" : !llvm.ptr<1>
    %3 = llvm.addrspacecast %2 : !llvm.ptr<1> to !llvm.ptr
    %4 = llvm.mlir.addressof @".assert_func" : !llvm.ptr<1>
    %5 = llvm.addrspacecast %4 : !llvm.ptr<1> to !llvm.ptr
    %6 = llvm.mlir.constant(12 : i32) : i32
    %7 = llvm.mlir.constant(1) : i64
    llvm.call @__assertfail(%1, %3, %6, %5, %7) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64) -> ()
    llvm.br ^bb2
  ^bb2:
    %8 = nvvm.read.ptx.sreg.tid.x : i32
    %a = arith.index_cast %8 : i32 to index
    llvm.return
  }
}

// ---- assertions_share_their_strings
// seed: nvgpu-gpu-to-nvvm assert-globals
gpu.module @m {
  gpu.func @k(%cond: i1) kernel {
    cf.assert %cond, "first"
    cf.assert %cond, "second"
    cf.assert %cond, "first"
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.mlir.global internal constant @".assert_msg_0"("second\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<7 x i8>
  llvm.mlir.global internal constant @".assert_func"("k\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<2 x i8>
  llvm.mlir.global internal constant @".assert_file"("(unknown)\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<10 x i8>
  llvm.mlir.global internal constant @".assert_msg"("first\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<6 x i8>
  llvm.func @__assertfail(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)
  llvm.func @k(%cond: i1) attributes {gpu.kernel, nvvm.kernel} {
    llvm.cond_br %cond, ^bb2, ^bb1
  ^bb1:
    %0 = llvm.mlir.addressof @".assert_msg" : !llvm.ptr<1>
    %1 = llvm.addrspacecast %0 : !llvm.ptr<1> to !llvm.ptr
    %2 = llvm.mlir.addressof @".assert_file" : !llvm.ptr<1>
    %3 = llvm.addrspacecast %2 : !llvm.ptr<1> to !llvm.ptr
    %4 = llvm.mlir.addressof @".assert_func" : !llvm.ptr<1>
    %5 = llvm.addrspacecast %4 : !llvm.ptr<1> to !llvm.ptr
    %6 = llvm.mlir.constant(0 : i32) : i32
    %7 = llvm.mlir.constant(1) : i64
    llvm.call @__assertfail(%1, %3, %6, %5, %7) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64) -> ()
    llvm.br ^bb2
  ^bb2:
    llvm.cond_br %cond, ^bb4, ^bb3
  ^bb3:
    %8 = llvm.mlir.addressof @".assert_msg_0" : !llvm.ptr<1>
    %9 = llvm.addrspacecast %8 : !llvm.ptr<1> to !llvm.ptr
    %10 = llvm.mlir.addressof @".assert_file" : !llvm.ptr<1>
    %11 = llvm.addrspacecast %10 : !llvm.ptr<1> to !llvm.ptr
    %12 = llvm.mlir.addressof @".assert_func" : !llvm.ptr<1>
    %13 = llvm.addrspacecast %12 : !llvm.ptr<1> to !llvm.ptr
    %14 = llvm.mlir.constant(0 : i32) : i32
    %15 = llvm.mlir.constant(1) : i64
    llvm.call @__assertfail(%9, %11, %14, %13, %15) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64) -> ()
    llvm.br ^bb4
  ^bb4:
    llvm.cond_br %cond, ^bb6, ^bb5
  ^bb5:
    %16 = llvm.mlir.addressof @".assert_msg" : !llvm.ptr<1>
    %17 = llvm.addrspacecast %16 : !llvm.ptr<1> to !llvm.ptr
    %18 = llvm.mlir.addressof @".assert_file" : !llvm.ptr<1>
    %19 = llvm.addrspacecast %18 : !llvm.ptr<1> to !llvm.ptr
    %20 = llvm.mlir.addressof @".assert_func" : !llvm.ptr<1>
    %21 = llvm.addrspacecast %20 : !llvm.ptr<1> to !llvm.ptr
    %22 = llvm.mlir.constant(0 : i32) : i32
    %23 = llvm.mlir.constant(1) : i64
    llvm.call @__assertfail(%17, %19, %22, %21, %23) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64) -> ()
    llvm.br ^bb6
  ^bb6:
    llvm.return
  }
}

// ---- an_assertion_in_a_branch
// seed: nvgpu-gpu-to-nvvm assert-guard
gpu.module @m {
  gpu.func @kernel(%c: i1, %d: i1) kernel {
    cf.cond_br %c, ^one, ^two
  ^one:
    cf.assert %d, "one"
    cf.br ^two
  ^two:
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.mlir.global internal constant @".assert_func"("kernel\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<7 x i8>
  llvm.mlir.global internal constant @".assert_file"("(unknown)\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<10 x i8>
  llvm.mlir.global internal constant @".assert_msg"("one\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<4 x i8>
  llvm.func @__assertfail(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)
  llvm.func @kernel(%c: i1, %d: i1) attributes {gpu.kernel, nvvm.kernel} {
    cf.cond_br %c, ^one, ^two
  ^one:
    llvm.cond_br %d, ^bb3, ^bb2
  ^bb2:
    %0 = llvm.mlir.addressof @".assert_msg" : !llvm.ptr<1>
    %1 = llvm.addrspacecast %0 : !llvm.ptr<1> to !llvm.ptr
    %2 = llvm.mlir.addressof @".assert_file" : !llvm.ptr<1>
    %3 = llvm.addrspacecast %2 : !llvm.ptr<1> to !llvm.ptr
    %4 = llvm.mlir.addressof @".assert_func" : !llvm.ptr<1>
    %5 = llvm.addrspacecast %4 : !llvm.ptr<1> to !llvm.ptr
    %6 = llvm.mlir.constant(0 : i32) : i32
    %7 = llvm.mlir.constant(1) : i64
    llvm.call @__assertfail(%1, %3, %6, %5, %7) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64) -> ()
    llvm.br ^bb3
  ^bb3:
    cf.br ^two
  ^two:
    llvm.return
  }
}

// ---- printf_promotes_its_arguments
// seed: lowering-overview role-gpu
// seed: nvgpu-gpu-to-nvvm concept-printf
gpu.module @m {
  gpu.func @k(%a: i8, %b: i32, %c: f16, %d: f32, %e: index, %p: !llvm.ptr, %t: i1) kernel {
    gpu.printf "%d %d %f %f %lld %p %u\n", %a, %b, %c, %d, %e, %p, %t : i8, i32, f16, f32, index, !llvm.ptr, i1
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.mlir.global internal constant @".printf_format"("%d %d %f %f %lld %p %u\0A\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<24 x i8>
  llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
  llvm.func @k(%a: i8, %b: i32, %c: f16, %d: f32, %e: i64, %p: !llvm.ptr, %t: i1) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(1 : i32) : i32
    %1 = llvm.alloca %0 x !llvm.struct<(i32, i32, f64, f64, i64, !llvm.ptr, i32)> {alignment = 8 : i64} : (i32) -> !llvm.ptr
    %2 = llvm.mlir.addressof @".printf_format" : !llvm.ptr<1>
    %3 = llvm.addrspacecast %2 : !llvm.ptr<1> to !llvm.ptr
    %4 = llvm.sext %a : i8 to i32
    %5 = llvm.fpext %c : f16 to f64
    %6 = llvm.fpext %d : f32 to f64
    %7 = llvm.zext %t : i1 to i32
    %8 = llvm.getelementptr %1[0, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, i32, f64, f64, i64, !llvm.ptr, i32)>
    llvm.store %4, %8 : i32, !llvm.ptr
    %9 = llvm.getelementptr %1[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, i32, f64, f64, i64, !llvm.ptr, i32)>
    llvm.store %b, %9 : i32, !llvm.ptr
    %10 = llvm.getelementptr %1[0, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, i32, f64, f64, i64, !llvm.ptr, i32)>
    llvm.store %5, %10 : f64, !llvm.ptr
    %11 = llvm.getelementptr %1[0, 3] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, i32, f64, f64, i64, !llvm.ptr, i32)>
    llvm.store %6, %11 : f64, !llvm.ptr
    %12 = llvm.getelementptr %1[0, 4] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, i32, f64, f64, i64, !llvm.ptr, i32)>
    llvm.store %e, %12 : i64, !llvm.ptr
    %13 = llvm.getelementptr %1[0, 5] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, i32, f64, f64, i64, !llvm.ptr, i32)>
    llvm.store %p, %13 : !llvm.ptr, !llvm.ptr
    %14 = llvm.getelementptr %1[0, 6] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, i32, f64, f64, i64, !llvm.ptr, i32)>
    llvm.store %7, %14 : i32, !llvm.ptr
    %15 = llvm.call @vprintf(%3, %1) : (!llvm.ptr, !llvm.ptr) -> i32
    llvm.return
  }
}

// ---- printf_without_arguments
// seed: nvgpu-gpu-to-nvvm concept-printf
gpu.module @m {
  gpu.func @k() kernel {
    gpu.printf "hello\n"
    gpu.printf "hello\n"
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.mlir.global internal constant @".printf_format"("hello\0A\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<7 x i8>
  llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.addressof @".printf_format" : !llvm.ptr<1>
    %1 = llvm.addrspacecast %0 : !llvm.ptr<1> to !llvm.ptr
    %2 = llvm.mlir.zero : !llvm.ptr
    %3 = llvm.call @vprintf(%1, %2) : (!llvm.ptr, !llvm.ptr) -> i32
    %4 = llvm.mlir.addressof @".printf_format" : !llvm.ptr<1>
    %5 = llvm.addrspacecast %4 : !llvm.ptr<1> to !llvm.ptr
    %6 = llvm.mlir.zero : !llvm.ptr
    %7 = llvm.call @vprintf(%5, %6) : (!llvm.ptr, !llvm.ptr) -> i32
    llvm.return
  }
}

// ---- prints_of_equal_types_share_their_buffer
gpu.module @m {
  gpu.func @k(%a: i32, %b: i32, %c: i1) kernel {
    cf.cond_br %c, ^print, ^end
  ^print:
    gpu.printf "%d\n", %a : i32
    gpu.printf "%d\n", %b : i32
    cf.br ^end
  ^end:
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.mlir.global internal constant @".printf_format"("%d\0A\00") {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<4 x i8>
  llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
  llvm.func @k(%a: i32, %b: i32, %c: i1) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(1 : i32) : i32
    %1 = llvm.alloca %0 x !llvm.struct<(i32)> {alignment = 8 : i64} : (i32) -> !llvm.ptr
    cf.cond_br %c, ^print, ^end
  ^print:
    %2 = llvm.mlir.addressof @".printf_format" : !llvm.ptr<1>
    %3 = llvm.addrspacecast %2 : !llvm.ptr<1> to !llvm.ptr
    %4 = llvm.getelementptr %1[0, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32)>
    llvm.store %a, %4 : i32, !llvm.ptr
    %5 = llvm.call @vprintf(%3, %1) : (!llvm.ptr, !llvm.ptr) -> i32
    %6 = llvm.mlir.addressof @".printf_format" : !llvm.ptr<1>
    %7 = llvm.addrspacecast %6 : !llvm.ptr<1> to !llvm.ptr
    %8 = llvm.getelementptr %1[0, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32)>
    llvm.store %b, %8 : i32, !llvm.ptr
    %9 = llvm.call @vprintf(%7, %1) : (!llvm.ptr, !llvm.ptr) -> i32
    cf.br ^end
  ^end:
    llvm.return
  }
}
