// Asynchronous copies of sm_80 and their groups.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- copy_of_four_bytes
// seed: nvgpu-gpu-to-nvvm concept-async device-async-copy
gpu.module @m {
  gpu.func @k(%g: memref<64x64xf16>, %s: memref<64x64xf16, 3>, %i: index, %j: index, %n: index) kernel {
    %t = nvgpu.device_async_copy %g[%i, %j], %s[%i, %j], 2 : memref<64x64xf16> to memref<64x64xf16, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%g: !llvm.ptr, %s: !llvm.ptr<3>, %i: i64, %j: i64, %n: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(64) : i64
    %1 = llvm.mul %i, %0 : i64
    %2 = llvm.add %1, %j : i64
    %3 = llvm.getelementptr %s[%2] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f16
    %4 = llvm.mlir.constant(64) : i64
    %5 = llvm.mul %i, %4 : i64
    %6 = llvm.add %5, %j : i64
    %7 = llvm.getelementptr %g[%6] : (!llvm.ptr, i64) -> !llvm.ptr, f16
    %8 = llvm.addrspacecast %7 : !llvm.ptr to !llvm.ptr<1>
    nvvm.cp.async.shared.global %3, %8, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.return
  }
}

// ---- copy_of_sixteen_bytes_past_l1
// seed: nvgpu-gpu-to-nvvm device-async-copy
gpu.module @m {
  gpu.func @k(%g: memref<64x64xf16>, %s: memref<64x64xf16, 3>, %i: index, %j: index, %n: index) kernel {
    %t = nvgpu.device_async_copy %g[%i, %j], %s[%i, %j], 8 {bypassL1} : memref<64x64xf16> to memref<64x64xf16, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%g: !llvm.ptr, %s: !llvm.ptr<3>, %i: i64, %j: i64, %n: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(64) : i64
    %1 = llvm.mul %i, %0 : i64
    %2 = llvm.add %1, %j : i64
    %3 = llvm.getelementptr %s[%2] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f16
    %4 = llvm.mlir.constant(64) : i64
    %5 = llvm.mul %i, %4 : i64
    %6 = llvm.add %5, %j : i64
    %7 = llvm.getelementptr %g[%6] : (!llvm.ptr, i64) -> !llvm.ptr, f16
    %8 = llvm.addrspacecast %7 : !llvm.ptr to !llvm.ptr<1>
    nvvm.cp.async.shared.global %3, %8, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.return
  }
}

// ---- copy_of_fewer_source_elements
// seed: nvgpu-gpu-to-nvvm device-async-copy
gpu.module @m {
  gpu.func @k(%g: memref<64x64xf32>, %s: memref<64x64xf32, 3>, %i: index, %j: index, %n: index) kernel {
    %t = nvgpu.device_async_copy %g[%i, %j], %s[%i, %j], 4, %n : memref<64x64xf32> to memref<64x64xf32, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%g: !llvm.ptr, %s: !llvm.ptr<3>, %i: i64, %j: i64, %n: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.trunc %n : i64 to i32
    %1 = llvm.mlir.constant(32 : i32) : i32
    %2 = llvm.mul %0, %1 : i32
    %3 = llvm.mlir.constant(3 : i32) : i32
    %4 = llvm.lshr %2, %3 : i32
    %5 = llvm.mlir.constant(64) : i64
    %6 = llvm.mul %i, %5 : i64
    %7 = llvm.add %6, %j : i64
    %8 = llvm.getelementptr %s[%7] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
    %9 = llvm.mlir.constant(64) : i64
    %10 = llvm.mul %i, %9 : i64
    %11 = llvm.add %10, %j : i64
    %12 = llvm.getelementptr %g[%11] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %13 = llvm.addrspacecast %12 : !llvm.ptr to !llvm.ptr<1>
    nvvm.cp.async.shared.global %8, %13, 16, cache = ca, %4 : !llvm.ptr<3>, !llvm.ptr<1>, i32
    llvm.return
  }
}

// ---- copies_that_may_be_ignored_or_left_out
// seed: nvgpu-gpu-to-nvvm device-async-copy
gpu.module @m {
  gpu.func @k(%g: memref<64x64xf16, 1>, %s: memref<64x64xf16, 3>, %i: index, %n: i32, %p: i1) kernel {
    %c = arith.constant 2 : index
    %t = nvgpu.device_async_copy %g[%c, %c], %s[%c, %c], 8 ignored = %p {bypassL1} : memref<64x64xf16, 1> to memref<64x64xf16, 3>
    %u = nvgpu.device_async_copy %g[%i, %c], %s[%c, %i], 4 predicate = %p : memref<64x64xf16, 1> to memref<64x64xf16, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%g: !llvm.ptr<1>, %s: !llvm.ptr<3>, %i: i64, %n: i32, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    %c = arith.constant 2 : index
    nvvm.cp.async.shared.global.fill %s, %g, %p {size = 16 : i64, offset = 260 : i64, source_offset = 260 : i64, bypass} : (!llvm.ptr<3>, !llvm.ptr<1>, i1) -> ()
    %0 = llvm.mlir.constant(128) : i64
    %1 = llvm.add %i, %0 : i64
    %2 = llvm.mlir.constant(128) : i64
    %3 = llvm.add %i, %2 : i64
    %4 = llvm.getelementptr %s[%3] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f16
    %5 = llvm.mlir.constant(64) : i64
    %6 = llvm.mul %i, %5 : i64
    %7 = llvm.mlir.constant(2) : i64
    %8 = llvm.add %6, %7 : i64
    %9 = llvm.mlir.constant(64) : i64
    %10 = llvm.mul %i, %9 : i64
    %11 = llvm.mlir.constant(2) : i64
    %12 = llvm.add %10, %11 : i64
    %13 = llvm.getelementptr %g[%12] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %14 = llvm.mlir.constant(8 : i32) : i32
    nvvm.cp.async.shared.global.fill %4, %13, %14 predicate(%p) {size = 8 : i64, offset = 0 : i64, source_offset = 0 : i64} : (!llvm.ptr<3>, !llvm.ptr<1>, i32, i1) -> ()
    llvm.return
  }
}

// ---- bytes_to_an_address_of_32_bits
// seed: nvgpu-gpu-to-nvvm device-async-copy
gpu.module @m {
  gpu.func @k(%g: !llvm.ptr<1>, %s: i32, %n: i32, %p: i1) kernel {
    %c = llvm.mlir.constant(32 : i32) : i32
    %i = builtin.unrealized_conversion_cast %c : i32 to index
    %m = builtin.unrealized_conversion_cast %n : i32 to index
    %from = builtin.unrealized_conversion_cast %g : !llvm.ptr<1> to memref<?xi8, 1>
    %to = builtin.unrealized_conversion_cast %s : i32 to memref<?xi8, 3>
    %t = nvgpu.device_async_copy %from[%i], %to[%i], 16, %m predicate = %p {bypassL1} : memref<?xi8, 1> to memref<?xi8, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%g: !llvm.ptr<1>, %s: i32, %n: i32, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    %c = llvm.mlir.constant(32 : i32) : i32
    nvvm.cp.async.shared.global.fill %s, %g, %n predicate(%p) {size = 16 : i64, offset = 32 : i64, source_offset = 32 : i64, bypass} : (i32, !llvm.ptr<1>, i32, i1) -> ()
    llvm.return
  }
}

// ---- a_group_discards_its_tokens
// seed: nvgpu-gpu-to-nvvm device-async-create-group async-token
gpu.module @m {
  gpu.func @k(%g: memref<64xf32, 1>, %s: memref<64xf32, 3>, %i: index) kernel {
    %t = nvgpu.device_async_copy %g[%i], %s[%i], 4 : memref<64xf32, 1> to memref<64xf32, 3>
    %u = nvgpu.device_async_create_group %t, %t
    nvgpu.device_async_wait %u
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%g: !llvm.ptr<1>, %s: !llvm.ptr<3>, %i: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.getelementptr %s[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
    %1 = llvm.getelementptr %g[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    nvvm.cp.async.shared.global %0, %1, 16, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    %t = llvm.mlir.constant(0 : i32) : i32
    nvvm.cp.async.commit.group
    %u = llvm.mlir.constant(0 : i32) : i32
    nvvm.cp.async.wait.group 0
    llvm.return
  }
}

// ---- a_wait_for_all_but_two_groups
// seed: nvgpu-gpu-to-nvvm device-async-wait async-wait-count
gpu.module @m {
  gpu.func @k() kernel {
    %u = nvgpu.device_async_create_group
    nvgpu.device_async_wait %u {numGroups = 2 : i32}
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    nvvm.cp.async.commit.group
    %u = llvm.mlir.constant(0 : i32) : i32
    nvvm.cp.async.wait.group 2
    llvm.return
  }
}
