// Warpgroup operations that the hardware cannot do.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- shapes_that_do_not_multiply
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x16xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  gpu.func @k(%a: !a, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %a, %c : !a, !a, !acc -> !acc
    gpu.return
  }
}
// ==>


// ---- rows_that_are_no_multiple_of_64
!a = !nvgpu.warpgroup.descriptor<tensor = memref<32x16xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<32x8xf32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>


// ---- too_many_columns
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x16xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x512xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x512xf32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>


// ---- a_type_without_instruction
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x16xf64, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf64, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf64>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>


// ---- no_swizzle_and_no_strides
// seed: nvgpu-gpu-to-nvvm wgmma-descriptor-bits
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<64x64xf16, 3>) kernel {
    %d = nvgpu.warpgroup.generate.descriptor %s, %m : memref<64x64xf16, 3>, !map -> !d
    gpu.return
  }
}
// ==>


// ---- a_stride_that_is_no_multiple_of_16
// seed: nvgpu-gpu-to-nvvm wgmma-descriptor-bits
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<64x64xf16, 3>) kernel {
    %d = nvgpu.warpgroup.generate.descriptor %s, %m {matrix_stride = 24 : i64} : memref<64x64xf16, 3>, !map -> !d
    gpu.return
  }
}
// ==>


// ---- a_store_of_another_shape
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x16xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  gpu.func @k(%c: !acc, %o: memref<8x64xf32>) kernel {
    nvgpu.warpgroup.mma.store %c, %o : !acc to memref<8x64xf32>
    gpu.return
  }
}
// ==>


