// TMA copies in every rank and with every option, and tensor maps.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- load_rank_1
// seed: nvgpu-gpu-to-nvvm concept-tma tma-async-load tma-ranks tma-absent tma-mode
!map = !nvgpu.tensormap.descriptor<tensor = memref<64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<64xf16, 3>, %c0: index) kernel {
    %z = arith.constant 0 : index
    nvgpu.tma.async.load %m[%c0], %b[%z] to %s : !map, !bar -> memref<64xf16, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %c0: i64) attributes {gpu.kernel, nvvm.kernel} {
    %z = arith.constant 0 : index
    %0 = llvm.trunc %c0 : i64 to i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %m, %b, box[%0] {mode = #nvvm.load_mode<tile>} : !llvm.ptr<3>, !llvm.ptr
    llvm.return
  }
}

// ---- store_rank_1
// seed: nvgpu-gpu-to-nvvm concept-tma tma-async-store tma-ranks tma-store-no-barrier tma-mode
!map = !nvgpu.tensormap.descriptor<tensor = memref<64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<64xf16, 3>, %c0: index) kernel {
    nvgpu.tma.async.store %s to %m[%c0] : memref<64xf16, 3> -> !map
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %s: !llvm.ptr<3>, %c0: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.trunc %c0 : i64 to i32
    nvvm.cp.async.bulk.tensor.global.shared.cta %m, %s, box[%0] {mode = #nvvm.load_mode<tile>} : !llvm.ptr, !llvm.ptr<3>
    llvm.return
  }
}

// ---- load_rank_2
// seed: nvgpu-gpu-to-nvvm concept-tma tma-async-load tma-ranks tma-absent
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<4x64xf16, 3>, %c0: index, %c1: index) kernel {
    %z = arith.constant 0 : index
    nvgpu.tma.async.load %m[%c0, %c1], %b[%z] to %s : !map, !bar -> memref<4x64xf16, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %c0: i64, %c1: i64) attributes {gpu.kernel, nvvm.kernel} {
    %z = arith.constant 0 : index
    %0 = llvm.trunc %c0 : i64 to i32
    %1 = llvm.trunc %c1 : i64 to i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %m, %b, box[%0, %1] {mode = #nvvm.load_mode<tile>} : !llvm.ptr<3>, !llvm.ptr
    llvm.return
  }
}

// ---- store_rank_2
// seed: nvgpu-gpu-to-nvvm concept-tma tma-async-store tma-ranks tma-store-no-barrier
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<4x64xf16, 3>, %c0: index, %c1: index) kernel {
    nvgpu.tma.async.store %s to %m[%c0, %c1] : memref<4x64xf16, 3> -> !map
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %s: !llvm.ptr<3>, %c0: i64, %c1: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.trunc %c0 : i64 to i32
    %1 = llvm.trunc %c1 : i64 to i32
    nvvm.cp.async.bulk.tensor.global.shared.cta %m, %s, box[%0, %1] {mode = #nvvm.load_mode<tile>} : !llvm.ptr, !llvm.ptr<3>
    llvm.return
  }
}

// ---- load_rank_3
// seed: nvgpu-gpu-to-nvvm concept-tma tma-async-load tma-ranks tma-absent
!map = !nvgpu.tensormap.descriptor<tensor = memref<2x4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<2x4x64xf16, 3>, %c0: index, %c1: index, %c2: index) kernel {
    %z = arith.constant 0 : index
    nvgpu.tma.async.load %m[%c0, %c1, %c2], %b[%z] to %s : !map, !bar -> memref<2x4x64xf16, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %c0: i64, %c1: i64, %c2: i64) attributes {gpu.kernel, nvvm.kernel} {
    %z = arith.constant 0 : index
    %0 = llvm.trunc %c0 : i64 to i32
    %1 = llvm.trunc %c1 : i64 to i32
    %2 = llvm.trunc %c2 : i64 to i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %m, %b, box[%0, %1, %2] {mode = #nvvm.load_mode<tile>} : !llvm.ptr<3>, !llvm.ptr
    llvm.return
  }
}

// ---- store_rank_3
// seed: nvgpu-gpu-to-nvvm concept-tma tma-async-store tma-ranks tma-store-no-barrier
!map = !nvgpu.tensormap.descriptor<tensor = memref<2x4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<2x4x64xf16, 3>, %c0: index, %c1: index, %c2: index) kernel {
    nvgpu.tma.async.store %s to %m[%c0, %c1, %c2] : memref<2x4x64xf16, 3> -> !map
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %s: !llvm.ptr<3>, %c0: i64, %c1: i64, %c2: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.trunc %c0 : i64 to i32
    %1 = llvm.trunc %c1 : i64 to i32
    %2 = llvm.trunc %c2 : i64 to i32
    nvvm.cp.async.bulk.tensor.global.shared.cta %m, %s, box[%0, %1, %2] {mode = #nvvm.load_mode<tile>} : !llvm.ptr, !llvm.ptr<3>
    llvm.return
  }
}

// ---- load_rank_4
// seed: nvgpu-gpu-to-nvvm concept-tma tma-async-load tma-ranks tma-absent
!map = !nvgpu.tensormap.descriptor<tensor = memref<2x2x4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<2x2x4x64xf16, 3>, %c0: index, %c1: index, %c2: index, %c3: index) kernel {
    %z = arith.constant 0 : index
    nvgpu.tma.async.load %m[%c0, %c1, %c2, %c3], %b[%z] to %s : !map, !bar -> memref<2x2x4x64xf16, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %c0: i64, %c1: i64, %c2: i64, %c3: i64) attributes {gpu.kernel, nvvm.kernel} {
    %z = arith.constant 0 : index
    %0 = llvm.trunc %c0 : i64 to i32
    %1 = llvm.trunc %c1 : i64 to i32
    %2 = llvm.trunc %c2 : i64 to i32
    %3 = llvm.trunc %c3 : i64 to i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %m, %b, box[%0, %1, %2, %3] {mode = #nvvm.load_mode<tile>} : !llvm.ptr<3>, !llvm.ptr
    llvm.return
  }
}

// ---- store_rank_4
// seed: nvgpu-gpu-to-nvvm concept-tma tma-async-store tma-ranks tma-store-no-barrier
!map = !nvgpu.tensormap.descriptor<tensor = memref<2x2x4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<2x2x4x64xf16, 3>, %c0: index, %c1: index, %c2: index, %c3: index) kernel {
    nvgpu.tma.async.store %s to %m[%c0, %c1, %c2, %c3] : memref<2x2x4x64xf16, 3> -> !map
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %s: !llvm.ptr<3>, %c0: i64, %c1: i64, %c2: i64, %c3: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.trunc %c0 : i64 to i32
    %1 = llvm.trunc %c1 : i64 to i32
    %2 = llvm.trunc %c2 : i64 to i32
    %3 = llvm.trunc %c3 : i64 to i32
    nvvm.cp.async.bulk.tensor.global.shared.cta %m, %s, box[%0, %1, %2, %3] {mode = #nvvm.load_mode<tile>} : !llvm.ptr, !llvm.ptr<3>
    llvm.return
  }
}

// ---- load_rank_5
// seed: nvgpu-gpu-to-nvvm concept-tma tma-async-load tma-ranks tma-absent
!map = !nvgpu.tensormap.descriptor<tensor = memref<1x2x2x4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<1x2x2x4x64xf16, 3>, %c0: index, %c1: index, %c2: index, %c3: index, %c4: index) kernel {
    %z = arith.constant 0 : index
    nvgpu.tma.async.load %m[%c0, %c1, %c2, %c3, %c4], %b[%z] to %s : !map, !bar -> memref<1x2x2x4x64xf16, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %c0: i64, %c1: i64, %c2: i64, %c3: i64, %c4: i64) attributes {gpu.kernel, nvvm.kernel} {
    %z = arith.constant 0 : index
    %0 = llvm.trunc %c0 : i64 to i32
    %1 = llvm.trunc %c1 : i64 to i32
    %2 = llvm.trunc %c2 : i64 to i32
    %3 = llvm.trunc %c3 : i64 to i32
    %4 = llvm.trunc %c4 : i64 to i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %m, %b, box[%0, %1, %2, %3, %4] {mode = #nvvm.load_mode<tile>} : !llvm.ptr<3>, !llvm.ptr
    llvm.return
  }
}

// ---- store_rank_5
// seed: nvgpu-gpu-to-nvvm concept-tma tma-async-store tma-ranks tma-store-no-barrier
!map = !nvgpu.tensormap.descriptor<tensor = memref<1x2x2x4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<1x2x2x4x64xf16, 3>, %c0: index, %c1: index, %c2: index, %c3: index, %c4: index) kernel {
    nvgpu.tma.async.store %s to %m[%c0, %c1, %c2, %c3, %c4] : memref<1x2x2x4x64xf16, 3> -> !map
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %s: !llvm.ptr<3>, %c0: i64, %c1: i64, %c2: i64, %c3: i64, %c4: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.trunc %c0 : i64 to i32
    %1 = llvm.trunc %c1 : i64 to i32
    %2 = llvm.trunc %c2 : i64 to i32
    %3 = llvm.trunc %c3 : i64 to i32
    %4 = llvm.trunc %c4 : i64 to i32
    nvvm.cp.async.bulk.tensor.global.shared.cta %m, %s, box[%0, %1, %2, %3, %4] {mode = #nvvm.load_mode<tile>} : !llvm.ptr, !llvm.ptr<3>
    llvm.return
  }
}

// ---- load_with_mask_and_hint
// seed: nvgpu-gpu-to-nvvm load-slot-multicast load-slot-hint tma-enable-mask tma-enable-hint
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<4x64xf16, 3>, %i: index, %mask: i16, %hint: i64, %p: i1) kernel {
    %z = arith.constant 0 : index
    nvgpu.tma.async.load %m[%i, %z], %b[%z] to %s multicast_mask = %mask l2_cache_hint = %hint : !map, !bar -> memref<4x64xf16, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %i: i64, %mask: i16, %hint: i64, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    %z = arith.constant 0 : index
    %0 = llvm.trunc %i : i64 to i32
    %1 = llvm.mlir.constant(0 : i32) : i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %m, %b, box[%0, %1] multicast_mask = %mask l2_cache_hint = %hint {multicastEnable, cacheHintEnable, mode = #nvvm.load_mode<tile>} : !llvm.ptr<3>, !llvm.ptr
    llvm.return
  }
}

// ---- load_with_a_mask
// seed: nvgpu-gpu-to-nvvm load-slot-multicast tma-enable-mask tma-absent
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<4x64xf16, 3>, %i: index, %mask: i16, %hint: i64, %p: i1) kernel {
    %z = arith.constant 0 : index
    nvgpu.tma.async.load %m[%i, %z], %b[%z] to %s multicast_mask = %mask : !map, !bar -> memref<4x64xf16, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %i: i64, %mask: i16, %hint: i64, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    %z = arith.constant 0 : index
    %0 = llvm.trunc %i : i64 to i32
    %1 = llvm.mlir.constant(0 : i32) : i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %m, %b, box[%0, %1] multicast_mask = %mask {multicastEnable, mode = #nvvm.load_mode<tile>} : !llvm.ptr<3>, !llvm.ptr
    llvm.return
  }
}

// ---- load_with_a_hint
// seed: nvgpu-gpu-to-nvvm load-slot-hint tma-enable-hint tma-absent load-hint-alone
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<4x64xf16, 3>, %i: index, %mask: i16, %hint: i64, %p: i1) kernel {
    %z = arith.constant 0 : index
    nvgpu.tma.async.load %m[%i, %z], %b[%z] to %s l2_cache_hint = %hint : !map, !bar -> memref<4x64xf16, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %i: i64, %mask: i16, %hint: i64, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    %z = arith.constant 0 : index
    %0 = llvm.trunc %i : i64 to i32
    %1 = llvm.mlir.constant(0 : i32) : i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %m, %b, box[%0, %1] l2_cache_hint = %hint {cacheHintEnable, mode = #nvvm.load_mode<tile>} : !llvm.ptr<3>, !llvm.ptr
    llvm.return
  }
}

// ---- load_under_a_predicate
// seed: nvgpu-gpu-to-nvvm tma-async-load
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<4x64xf16, 3>, %i: index, %mask: i16, %hint: i64, %p: i1) kernel {
    %z = arith.constant 0 : index
    nvgpu.tma.async.load %m[%i, %z], %b[%z] to %s, predicate = %p : !map, !bar -> memref<4x64xf16, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %i: i64, %mask: i16, %hint: i64, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    %z = arith.constant 0 : index
    %0 = llvm.trunc %i : i64 to i32
    %1 = llvm.mlir.constant(0 : i32) : i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %m, %b, box[%0, %1] predicate = %p {mode = #nvvm.load_mode<tile>} : !llvm.ptr<3>, !llvm.ptr
    llvm.return
  }
}

// ---- load_in_generic_form
// seed: nvgpu-gpu-to-nvvm load-slot-destination load-slot-descriptor load-slot-coordinates load-slot-barrier load-slot-multicast load-slot-hint
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<4x64xf16, 3>, %i: index, %mask: i16, %hint: i64, %p: i1) kernel {
    %z = arith.constant 0 : index
    "nvgpu.tma.async.load"(%s, %b, %m, %i, %z, %z, %mask, %hint) <{operandSegmentSizes = array<i32: 1, 1, 1, 2, 1, 1, 1, 0>}> : (memref<4x64xf16, 3>, !bar, !map, index, index, index, i16, i64) -> ()
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %i: i64, %mask: i16, %hint: i64, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    %z = arith.constant 0 : index
    %0 = llvm.trunc %i : i64 to i32
    %1 = llvm.mlir.constant(0 : i32) : i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %m, %b, box[%0, %1] multicast_mask = %mask l2_cache_hint = %hint {multicastEnable, cacheHintEnable, mode = #nvvm.load_mode<tile>} : !llvm.ptr<3>, !llvm.ptr
    llvm.return
  }
}

// ---- store_with_a_hint
// seed: nvgpu-gpu-to-nvvm store-slot-hint tma-enable-hint
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<4x64xf16, 3>, %i: index, %mask: i16, %hint: i64, %p: i1) kernel {
    nvgpu.tma.async.store %s to %m[%i, %i] l2_cache_hint = %hint : memref<4x64xf16, 3> -> !map
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %i: i64, %mask: i16, %hint: i64, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.trunc %i : i64 to i32
    %1 = llvm.trunc %i : i64 to i32
    nvvm.cp.async.bulk.tensor.global.shared.cta %m, %s, box[%0, %1] l2_cache_hint = %hint {cacheHintEnable, mode = #nvvm.load_mode<tile>} : !llvm.ptr, !llvm.ptr<3>
    llvm.return
  }
}

// ---- store_under_a_predicate
// seed: nvgpu-gpu-to-nvvm tma-async-store
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<4x64xf16, 3>, %i: index, %mask: i16, %hint: i64, %p: i1) kernel {
    nvgpu.tma.async.store %s to %m[%i, %i], predicate = %p : memref<4x64xf16, 3> -> !map
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %i: i64, %mask: i16, %hint: i64, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.trunc %i : i64 to i32
    %1 = llvm.trunc %i : i64 to i32
    nvvm.cp.async.bulk.tensor.global.shared.cta %m, %s, box[%0, %1], predicate = %p {mode = #nvvm.load_mode<tile>} : !llvm.ptr, !llvm.ptr<3>
    llvm.return
  }
}

// ---- prefetch
// seed: nvgpu-gpu-to-nvvm tma-prefetch-descriptor descriptor-separate
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<4x64xf16, 3>, %i: index, %mask: i16, %hint: i64, %p: i1) kernel {
    nvgpu.tma.prefetch.descriptor %m : !map
    nvgpu.tma.prefetch.descriptor %m, predicate = %p : !map
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %i: i64, %mask: i16, %hint: i64, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    nvvm.prefetch.tensormap %m : !llvm.ptr
    nvvm.prefetch.tensormap %m, predicate = %p : !llvm.ptr
    llvm.return
  }
}

// ---- fence
// seed: nvgpu-gpu-to-nvvm tma-fence-descriptor tma-fence-acquire descriptor-separate
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<4x64xf16, 3>, %i: index, %mask: i16, %hint: i64, %p: i1) kernel {
    nvgpu.tma.fence.descriptor %m : !map
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<3>, %i: i64, %mask: i16, %hint: i64, %p: i1) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(128 : i32) : i32
    nvvm.fence.proxy.acquire #nvvm.mem_scope<sys> %m, %0
    llvm.return
  }
}

// ---- create_fills_the_fields
// seed: nvgpu-gpu-to-nvvm tma-create-descriptor descriptor-fields descriptor-separate
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%g: memref<128x256xf16>) kernel {
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %m = nvgpu.tma.create.descriptor %g box[%c4, %c64] : memref<128x256xf16> -> !map
    nvgpu.tma.prefetch.descriptor %m : !map
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%g: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(1 : i32) : i32
    %m = llvm.alloca %0 x !llvm.array<128 x i8> {alignment = 128 : i64} : (i32) -> !llvm.ptr
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %1 = llvm.getelementptr %m[0, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %g, %1 : !llvm.ptr, !llvm.ptr
    %2 = llvm.mlir.constant(256) : i64
    %3 = llvm.mlir.constant(128) : i64
    %4 = llvm.getelementptr %m[0, 1, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %2, %4 : i64, !llvm.ptr
    %5 = llvm.getelementptr %m[0, 1, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %3, %5 : i64, !llvm.ptr
    %6 = llvm.mlir.constant(512) : i64
    %7 = llvm.getelementptr %m[0, 2, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %6, %7 : i64, !llvm.ptr
    %8 = llvm.mlir.constant(64 : i32) : i32
    %9 = llvm.mlir.constant(4 : i32) : i32
    %10 = llvm.getelementptr %m[0, 3, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %8, %10 : i32, !llvm.ptr
    %11 = llvm.getelementptr %m[0, 3, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %9, %11 : i32, !llvm.ptr
    %12 = llvm.mlir.constant(6 : i32) : i32
    %13 = llvm.getelementptr %m[0, 4] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %12, %13 : i32, !llvm.ptr
    %14 = llvm.mlir.constant(2 : i32) : i32
    %15 = llvm.getelementptr %m[0, 5] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %14, %15 : i32, !llvm.ptr
    %16 = llvm.mlir.constant(3 : i32) : i32
    %17 = llvm.getelementptr %m[0, 6] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %16, %17 : i32, !llvm.ptr
    %18 = llvm.mlir.constant(0 : i32) : i32
    %19 = llvm.getelementptr %m[0, 7] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %18, %19 : i32, !llvm.ptr
    %20 = llvm.mlir.constant(0 : i32) : i32
    %21 = llvm.getelementptr %m[0, 8] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %20, %21 : i32, !llvm.ptr
    %22 = llvm.mlir.constant(0 : i32) : i32
    %23 = llvm.getelementptr %m[0, 9] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %22, %23 : i32, !llvm.ptr
    nvvm.prefetch.tensormap %m : !llvm.ptr
    llvm.return
  }
}

// ---- rebind_within_a_block
// seed: nvgpu-gpu-to-nvvm rebind-sequence rebind-counts
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %g: !llvm.ptr<1>, %i: index) kernel {
    nvgpu.tma.rebind.descriptor %m, %g dims[%i, %i, %i] strides[%i, %i] : !map, !llvm.ptr<1>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %g: !llvm.ptr<1>, %i: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.ptrtoint %g : !llvm.ptr<1> to i64
    %1 = llvm.mlir.constant(128 : i32) : i32
    nvvm.fence.proxy.acquire #nvvm.mem_scope<cta> %m, %1
    nvvm.tensormap.replace %m, %0 {field = "global_address"} : (!llvm.ptr, i64) -> ()
    %2 = llvm.trunc %i : i64 to i32
    nvvm.tensormap.replace %m, %2 {field = "global_dim", index = 0 : i64} : (!llvm.ptr, i32) -> ()
    %3 = llvm.trunc %i : i64 to i32
    nvvm.tensormap.replace %m, %3 {field = "global_dim", index = 1 : i64} : (!llvm.ptr, i32) -> ()
    %4 = llvm.trunc %i : i64 to i32
    nvvm.tensormap.replace %m, %4 {field = "global_dim", index = 2 : i64} : (!llvm.ptr, i32) -> ()
    nvvm.tensormap.replace %m, %i {field = "global_stride", index = 0 : i64} : (!llvm.ptr, i64) -> ()
    nvvm.tensormap.replace %m, %i {field = "global_stride", index = 1 : i64} : (!llvm.ptr, i64) -> ()
    nvvm.fence.proxy.release #nvvm.mem_scope<cta>
    llvm.return
  }
}

// ---- rebind_across_a_cluster
// seed: nvgpu-gpu-to-nvvm rebind-sequence rebind-scope
gpu.module @m {
  gpu.func @k(%m: !llvm.ptr<1>, %g: memref<64xf16, 1>, %i: index) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
    nvgpu.tma.rebind.descriptor %m, %g dims[%i] strides[] : !llvm.ptr<1>, memref<64xf16, 1>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr<1>, %g: !llvm.ptr<1>, %i: i64) attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>, gpu.kernel, nvvm.kernel} {
    %0 = llvm.ptrtoint %g : !llvm.ptr<1> to i64
    %1 = llvm.addrspacecast %m : !llvm.ptr<1> to !llvm.ptr
    %2 = llvm.mlir.constant(128 : i32) : i32
    nvvm.fence.proxy.acquire #nvvm.mem_scope<gpu> %1, %2
    nvvm.tensormap.replace %m, %0 {field = "global_address"} : (!llvm.ptr<1>, i64) -> ()
    %3 = llvm.trunc %i : i64 to i32
    nvvm.tensormap.replace %m, %3 {field = "global_dim", index = 0 : i64} : (!llvm.ptr<1>, i32) -> ()
    nvvm.fence.proxy.release #nvvm.mem_scope<gpu>
    llvm.return
  }
}

// ---- rebind_in_shared_memory
// seed: nvgpu-gpu-to-nvvm rebind-sequence
gpu.module @m {
  gpu.func @k(%m: !llvm.ptr<3>, %g: !llvm.ptr, %i: index) kernel {
    nvgpu.tma.rebind.descriptor %m, %g dims[%i] strides[] {scope = #nvgpu<scope sys>} : !llvm.ptr<3>, !llvm.ptr
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr<3>, %g: !llvm.ptr, %i: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.ptrtoint %g : !llvm.ptr to i64
    %1 = llvm.addrspacecast %m : !llvm.ptr<3> to !llvm.ptr
    %2 = llvm.mlir.constant(128 : i32) : i32
    nvvm.fence.proxy.acquire #nvvm.mem_scope<sys> %1, %2
    nvvm.tensormap.replace %m, %0 {field = "global_address"} : (!llvm.ptr<3>, i64) -> ()
    %3 = llvm.trunc %i : i64 to i32
    nvvm.tensormap.replace %m, %3 {field = "global_dim", index = 0 : i64} : (!llvm.ptr<3>, i32) -> ()
    nvvm.fence.proxy.release #nvvm.mem_scope<sys>
    llvm.return
  }
}

// ---- load_to_the_cluster
// seed: nvgpu-gpu-to-nvvm load-slot-multicast tma-enable-mask
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<4x64xf16, 7>, %i: index, %mask: i16) kernel {
    %z = arith.constant 0 : index
    nvgpu.tma.async.load %m[%i, %z], %b[%z] to %s multicast_mask = %mask {pair} : !map, !bar -> memref<4x64xf16, 7>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %b: !llvm.ptr<3>, %s: !llvm.ptr<7>, %i: i64, %mask: i16) attributes {gpu.kernel, nvvm.kernel} {
    %z = arith.constant 0 : index
    %0 = llvm.trunc %i : i64 to i32
    %1 = llvm.mlir.constant(0 : i32) : i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %m, %b, box[%0, %1] multicast_mask = %mask {multicastEnable, pair, mode = #nvvm.load_mode<tile>} : !llvm.ptr<7>, !llvm.ptr
    llvm.return
  }
}

// ---- a_map_of_a_loop_is_one_object
// run: cse convert-nvgpu-and-gpu-to-nvvm sm_90
// seed: nvgpu-gpu-to-nvvm descriptor-hoisted descriptor-separate
!map = !nvgpu.tensormap.descriptor<tensor = memref<64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
gpu.module @m {
  gpu.func @k(%t: memref<64xf16>, %c: i1) kernel {
    %n = arith.constant 64 : index
    cf.br ^loop
  ^loop:
    %first = nvgpu.tma.create.descriptor %t box[%n] : memref<64xf16> -> !map
    %again = nvgpu.tma.create.descriptor %t box[%n] : memref<64xf16> -> !map
    nvgpu.tma.prefetch.descriptor %first : !map
    nvgpu.tma.fence.descriptor %again : !map
    cf.cond_br %c, ^loop, ^end
  ^end:
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%t: !llvm.ptr, %c: i1) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(1 : i32) : i32
    %first = llvm.alloca %0 x !llvm.array<128 x i8> {alignment = 128 : i64} : (i32) -> !llvm.ptr
    %n = arith.constant 64 : index
    cf.br ^loop
  ^loop:
    %1 = llvm.getelementptr %first[0, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %t, %1 : !llvm.ptr, !llvm.ptr
    %2 = llvm.mlir.constant(64) : i64
    %3 = llvm.getelementptr %first[0, 1, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %2, %3 : i64, !llvm.ptr
    %4 = llvm.mlir.constant(64 : i32) : i32
    %5 = llvm.getelementptr %first[0, 3, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %4, %5 : i32, !llvm.ptr
    %6 = llvm.mlir.constant(6 : i32) : i32
    %7 = llvm.getelementptr %first[0, 4] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %6, %7 : i32, !llvm.ptr
    %8 = llvm.mlir.constant(1 : i32) : i32
    %9 = llvm.getelementptr %first[0, 5] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %8, %9 : i32, !llvm.ptr
    %10 = llvm.mlir.constant(0 : i32) : i32
    %11 = llvm.getelementptr %first[0, 6] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %10, %11 : i32, !llvm.ptr
    %12 = llvm.mlir.constant(0 : i32) : i32
    %13 = llvm.getelementptr %first[0, 7] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %12, %13 : i32, !llvm.ptr
    %14 = llvm.mlir.constant(0 : i32) : i32
    %15 = llvm.getelementptr %first[0, 8] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %14, %15 : i32, !llvm.ptr
    %16 = llvm.mlir.constant(0 : i32) : i32
    %17 = llvm.getelementptr %first[0, 9] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(!llvm.ptr, !llvm.array<5 x i64>, !llvm.array<4 x i64>, !llvm.array<5 x i32>, i32, i32, i32, i32, i32, i32)>
    llvm.store %16, %17 : i32, !llvm.ptr
    nvvm.prefetch.tensormap %first : !llvm.ptr
    %18 = llvm.mlir.constant(128 : i32) : i32
    nvvm.fence.proxy.acquire #nvvm.mem_scope<sys> %first, %18
    cf.cond_br %c, ^loop, ^end
  ^end:
    llvm.return
  }
}
