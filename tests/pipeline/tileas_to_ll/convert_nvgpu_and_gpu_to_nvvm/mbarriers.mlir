// mbarrier operations become their .shared forms.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- create_refers_to_shared_storage
// seed: nvgpu-gpu-to-nvvm concept-mbarrier mbarrier-create mbarrier-space
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
gpu.module @m {
  gpu.func @k(%i: index) kernel {
    %a = nvgpu.mbarrier.create -> !bar
    %b = nvgpu.mbarrier.create -> !bars
    nvgpu.mbarrier.init %a[%i], %i : !bar
    nvgpu.mbarrier.init %b[%i], %i : !bars
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.mlir.global internal @mbar_storage_0() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<4 x i64>
  llvm.mlir.global internal @mbar_storage() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<1 x i64>
  llvm.func @k(%i: i64) attributes {gpu.kernel, nvvm.kernel} {
    %a = llvm.mlir.addressof @mbar_storage : !llvm.ptr<3>
    %b = llvm.mlir.addressof @mbar_storage_0 : !llvm.ptr<3>
    %0 = llvm.trunc %i : i64 to i32
    nvvm.mbarrier.init.shared %a, %0 : !llvm.ptr<3>, i32
    %1 = llvm.getelementptr %b[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i64
    %2 = llvm.trunc %i : i64 to i32
    nvvm.mbarrier.init.shared %1, %2 : !llvm.ptr<3>, i32
    llvm.return
  }
}

// ---- init_sets_the_count
// seed: nvgpu-gpu-to-nvvm mbarrier-init mbarrier-space
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
gpu.module @m {
  gpu.func @k(%b: !bar, %n: index, %p: i1) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    nvgpu.mbarrier.init %b[%c0], %c32 : !bar
    nvgpu.mbarrier.init %b[%c0], %n, predicate = %p : !bar
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%b: !llvm.ptr<3>, %n: i64, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %0 = llvm.mlir.constant(32 : i32) : i32
    nvvm.mbarrier.init.shared %b, %0 : !llvm.ptr<3>, i32
    %1 = llvm.trunc %n : i64 to i32
    nvvm.mbarrier.init.shared %b, %1, predicate = %p : !llvm.ptr<3>, i32
    llvm.return
  }
}

// ---- get_gives_the_address
// seed: nvgpu-gpu-to-nvvm mbarrier-space
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
gpu.module @m {
  gpu.func @k(%a: !bar, %b: !bars, %i: index, %o: !llvm.ptr<1>) kernel {
    %0 = nvgpu.mbarrier.get %a[%i] : !bar -> i32
    %1 = nvgpu.mbarrier.get %b[%i] : !bars -> i64
    llvm.store %0, %o : i32, !llvm.ptr<1>
    llvm.store %1, %o : i64, !llvm.ptr<1>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: !llvm.ptr<3>, %b: !llvm.ptr<3>, %i: i64, %o: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.ptrtoint %a : !llvm.ptr<3> to i32
    %1 = llvm.getelementptr %b[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i64
    %2 = llvm.ptrtoint %1 : !llvm.ptr<3> to i64
    llvm.store %0, %o : i32, !llvm.ptr<1>
    llvm.store %2, %o : i64, !llvm.ptr<1>
    llvm.return
  }
}

// ---- arrive_forms
// seed: nvgpu-gpu-to-nvvm mbarrier-arrive mbarrier-expect-tx mbarrier-token
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
gpu.module @m {
  gpu.func @k(%b: !bar, %n: index, %p: i1) kernel {
    %c0 = arith.constant 0 : index
    %t = nvgpu.mbarrier.arrive %b[%c0] : !bar -> !nvgpu.mbarrier.token
    %u = nvgpu.mbarrier.arrive.nocomplete %b[%c0], %n : !bar -> !nvgpu.mbarrier.token
    nvgpu.mbarrier.arrive.expect_tx %b[%c0], %n : !bar
    nvgpu.mbarrier.arrive.expect_tx %b[%c0], %n, predicate = %p : !bar
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%b: !llvm.ptr<3>, %n: i64, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = arith.constant 0 : index
    %t = nvvm.mbarrier.arrive.shared %b : !llvm.ptr<3> -> i64
    %0 = llvm.trunc %n : i64 to i32
    %u = nvvm.mbarrier.arrive.nocomplete.shared %b, %0 : !llvm.ptr<3>, i32 -> i64
    %1 = llvm.trunc %n : i64 to i32
    nvvm.mbarrier.arrive.expect_tx.shared %b, %1 : !llvm.ptr<3>, i32
    %2 = llvm.trunc %n : i64 to i32
    nvvm.mbarrier.arrive.expect_tx.shared %b, %2, predicate = %p : !llvm.ptr<3>, i32
    llvm.return
  }
}

// ---- test_wait_takes_the_token
// seed: nvgpu-gpu-to-nvvm mbarrier-test-wait mbarrier-token
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
gpu.module @m {
  gpu.func @k(%b: !bar) kernel {
    %c0 = arith.constant 0 : index
    %t = nvgpu.mbarrier.arrive %b[%c0] : !bar -> !nvgpu.mbarrier.token
    %done = nvgpu.mbarrier.test.wait %b[%c0], %t : !bar, !nvgpu.mbarrier.token
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%b: !llvm.ptr<3>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = arith.constant 0 : index
    %t = nvvm.mbarrier.arrive.shared %b : !llvm.ptr<3> -> i64
    %done = nvvm.mbarrier.test.wait.shared %b, %t : !llvm.ptr<3>, i64 -> i1
    llvm.return
  }
}

// ---- try_wait_by_parity
// seed: nvgpu-gpu-to-nvvm mbarrier-try-wait-parity mbarrier-parity-types parity-integer
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
gpu.module @m {
  gpu.func @k(%b: !bar, %phase: i1, %ticks: index) kernel {
    %c0 = arith.constant 0 : index
    nvgpu.mbarrier.try_wait.parity %b[%c0], %phase, %ticks : !bar
    %done = nvgpu.mbarrier.try_wait.parity %b[%c0], %phase, %ticks : !bar -> i1
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%b: !llvm.ptr<3>, %phase: i1, %ticks: i64) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = arith.constant 0 : index
    %0 = llvm.trunc %ticks : i64 to i32
    %1 = llvm.zext %phase : i1 to i32
    nvvm.mbarrier.try_wait.parity.shared %b, %1, %0 : !llvm.ptr<3>, i32, i32
    %2 = llvm.trunc %ticks : i64 to i32
    %done = nvvm.mbarrier.try_wait.parity.shared %b, %phase, %2 : !llvm.ptr<3>, i1, i32 -> i1
    llvm.return
  }
}

// ---- one_barrier_of_a_group
// seed: nvgpu-gpu-to-nvvm mbarrier-arrive
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
gpu.module @m {
  gpu.func @k(%b: !bars, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %s = nvgpu.mbarrier.arrive %b[%c0] : !bars -> !nvgpu.mbarrier.token
    %t = nvgpu.mbarrier.arrive %b[%c2] : !bars -> !nvgpu.mbarrier.token
    %u = nvgpu.mbarrier.arrive %b[%i] : !bars -> !nvgpu.mbarrier.token
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%b: !llvm.ptr<3>, %i: i64) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %s = nvvm.mbarrier.arrive.shared %b : !llvm.ptr<3> -> i64
    %0 = llvm.mlir.constant(2) : i64
    %1 = llvm.getelementptr %b[%0] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i64
    %t = nvvm.mbarrier.arrive.shared %1 : !llvm.ptr<3> -> i64
    %2 = llvm.getelementptr %b[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i64
    %u = nvvm.mbarrier.arrive.shared %2 : !llvm.ptr<3> -> i64
    llvm.return
  }
}

// ---- arrive_under_a_predicate
// seed: nvgpu-gpu-to-nvvm mbarrier-arrive
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%b: !bar, %p: i1) kernel {
    %c0 = arith.constant 0 : index
    nvgpu.mbarrier.arrive %b[%c0], predicate = %p : !bar
    nvgpu.mbarrier.arrive %b[%c0] : !bar
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%b: !llvm.ptr<3>, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = arith.constant 0 : index
    nvvm.mbarrier.arrive %b predicate(%p) : (i1, !llvm.ptr<3>) -> ()
    nvvm.mbarrier.arrive %b : (!llvm.ptr<3>) -> ()
    llvm.return
  }
}

// ---- values_bridged_from_their_llvm_types
// seed: nvgpu-gpu-to-nvvm mbarrier-try-wait-parity mbarrier-expect-tx parity-integer
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  llvm.func @k(%s: !llvm.ptr<3>, %phase: i32, %bytes: i32, %zero: i64) {
    %b = builtin.unrealized_conversion_cast %s : !llvm.ptr<3> to !bar
    %z = builtin.unrealized_conversion_cast %zero : i64 to index
    %n = builtin.unrealized_conversion_cast %bytes : i32 to index
    %p = builtin.unrealized_conversion_cast %phase : i32 to i1
    nvgpu.mbarrier.arrive.expect_tx %b[%z], %n : !bar
    %done = nvgpu.mbarrier.try_wait.parity %b[%z], %p : !bar -> i1
    llvm.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%s: !llvm.ptr<3>, %phase: i32, %bytes: i32, %zero: i64) {
    nvvm.mbarrier.arrive.expect_tx.shared %s, %bytes : !llvm.ptr<3>, i32
    %done = nvvm.mbarrier.try_wait.parity.shared %s, %phase : !llvm.ptr<3>, i32 -> i1
    llvm.return
  }
}
