// TMA copies in every rank and with every option, and tensor maps.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- load_rank_1
// seed: nvgpu-gpu-to-nvvm concept-tma tma-async-load tma-ranks tma-absent
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


// ---- store_rank_1
// seed: nvgpu-gpu-to-nvvm concept-tma tma-async-store tma-ranks tma-store-no-barrier
!map = !nvgpu.tensormap.descriptor<tensor = memref<64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<64xf16, 3>, %c0: index) kernel {
    nvgpu.tma.async.store %s to %m[%c0] : memref<64xf16, 3> -> !map
    gpu.return
  }
}
// ==>


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


// ---- load_with_a_hint
// seed: nvgpu-gpu-to-nvvm load-slot-hint tma-enable-hint tma-absent
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


// ---- rebind_within_a_block
// seed: nvgpu-gpu-to-nvvm rebind-sequence
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %g: !llvm.ptr<1>, %i: index) kernel {
    nvgpu.tma.rebind.descriptor %m, %g dims[%i, %i, %i] strides[%i, %i] : !map, !llvm.ptr<1>
    gpu.return
  }
}
// ==>


// ---- rebind_across_a_cluster
// seed: nvgpu-gpu-to-nvvm rebind-sequence
gpu.module @m {
  gpu.func @k(%m: !llvm.ptr<1>, %g: memref<64xf16, 1>, %i: index) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
    nvgpu.tma.rebind.descriptor %m, %g dims[%i] strides[] : !llvm.ptr<1>, memref<64xf16, 1>
    gpu.return
  }
}
// ==>


// ---- rebind_in_shared_memory
// seed: nvgpu-gpu-to-nvvm rebind-sequence
gpu.module @m {
  gpu.func @k(%m: !llvm.ptr<3>, %g: !llvm.ptr, %i: index) kernel {
    nvgpu.tma.rebind.descriptor %m, %g dims[%i] strides[] {scope = #nvgpu<scope sys>} : !llvm.ptr<3>, !llvm.ptr
    gpu.return
  }
}
// ==>


