// Warpgroup products: descriptors, the sequence of a product, accumulators.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- descriptor_swizzle_128b
// seed: nvgpu-gpu-to-nvvm concept-warpgroup warpgroup-generate-descriptor wgmma-descriptor-bits
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<64x64xf16, 3>) kernel {
    %d = nvgpu.warpgroup.generate.descriptor %s, %m : memref<64x64xf16, 3>, !map -> !d
    gpu.return
  }
}
// ==>


// ---- descriptor_swizzle_64b
// seed: nvgpu-gpu-to-nvvm concept-warpgroup warpgroup-generate-descriptor wgmma-descriptor-bits
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_64b, l2promo = none, oob = zero, interleave = none>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<64x64xf16, 3>) kernel {
    %d = nvgpu.warpgroup.generate.descriptor %s, %m : memref<64x64xf16, 3>, !map -> !d
    gpu.return
  }
}
// ==>


// ---- descriptor_swizzle_32b
// seed: nvgpu-gpu-to-nvvm concept-warpgroup warpgroup-generate-descriptor wgmma-descriptor-bits
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_32b, l2promo = none, oob = zero, interleave = none>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<64x64xf16, 3>) kernel {
    %d = nvgpu.warpgroup.generate.descriptor %s, %m : memref<64x64xf16, 3>, !map -> !d
    gpu.return
  }
}
// ==>


// ---- descriptor_with_fields_of_its_own
// seed: nvgpu-gpu-to-nvvm wgmma-descriptor-bits
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<64x64xf16, 3>) kernel {
    %d = nvgpu.warpgroup.generate.descriptor %s, %m {leading_byte_offset = 16 : i64, matrix_stride = 64 : i64, swizzle_base = 1 : i64} : memref<64x64xf16, 3>, !map -> !d
    gpu.return
  }
}
// ==>


// ---- a_product_is_fence_mma_commit_wait
// seed: nvgpu-gpu-to-nvvm concept-warpgroup warpgroup-mma wgmma-order wgmma-sequence
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x16xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>


// ---- groups_may_stay_in_flight
// seed: nvgpu-gpu-to-nvvm warpgroup-mma
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x16xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %b, %c {waitGroup = 1 : i32} : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>


// ---- a_deep_product_advances_its_descriptors
// seed: nvgpu-gpu-to-nvvm warpgroup-mma wgmma-order
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %b, %c {transposeB} : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>


// ---- two_blocks_of_rows
// seed: nvgpu-gpu-to-nvvm warpgroup-mma
!a = !nvgpu.warpgroup.descriptor<tensor = memref<128x16xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x8xf32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>


// ---- tf32_bytes_and_integers
// seed: nvgpu-gpu-to-nvvm warpgroup-mma
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x8xf32, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<8x8xf32, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>


// ---- eight_bit_floats
// seed: nvgpu-gpu-to-nvvm warpgroup-mma
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf8E4M3FN, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x8xf8E4M3FN, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>


// ---- eight_bit_integers
// seed: nvgpu-gpu-to-nvvm warpgroup-mma
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xi8, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x8xi8, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xi32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>


// ---- an_accumulator_of_zeros
// seed: nvgpu-gpu-to-nvvm warpgroup-mma-init
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x16xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  gpu.func @k() kernel {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    gpu.return
  }
}
// ==>


// ---- each_thread_stores_its_fragment
// seed: nvgpu-gpu-to-nvvm warpgroup-mma-store
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x16xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x16xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x16xf32>>
gpu.module @m {
  gpu.func @k(%c: !acc, %o: memref<64x16xf32>) kernel {
    nvgpu.warpgroup.mma.store %c, %o : !acc to memref<64x16xf32>
    gpu.return
  }
}
// ==>


// ---- halves_are_stored_in_pairs
// seed: nvgpu-gpu-to-nvvm warpgroup-mma-store
!a = !nvgpu.warpgroup.descriptor<tensor = memref<128x16xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x8xf16>>
gpu.module @m {
  gpu.func @k(%c: !acc, %o: memref<128x8xf16>) kernel {
    nvgpu.warpgroup.mma.store %c, %o : !acc to memref<128x8xf16>
    gpu.return
  }
}
// ==>


