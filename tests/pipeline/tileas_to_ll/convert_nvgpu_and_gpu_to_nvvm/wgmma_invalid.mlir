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
// shapes_that_do_not_multiply: error[ir-invalid]: the module does not verify: 'nvgpu.warpgroup.mma' op cannot multiply (64, 16) by (64, 16) into (64, 8)

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
// error[wgmma-shape]: 'nvgpu.warpgroup.mma' op needs rows of 64 and a depth of 16, but A has 32 x 16 elements

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
// error[wgmma-shape]: 'nvgpu.warpgroup.mma' op needs a multiple of 8 columns up to 256, but B has 512

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
// error[wgmma-type]: 'nvgpu.warpgroup.mma' op has no row for f64 x f64 in f64; target/mma_atoms.py: WGMMA_ATOMS

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
// error[descriptor-strides]: 'nvgpu.warpgroup.generate.descriptor' op without swizzle needs leading_byte_offset and matrix_stride

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
// error[descriptor-field]: 'nvgpu.warpgroup.generate.descriptor' op matrix_stride 24 is no multiple of 16 below 262144

// ---- a_pattern_that_begins_within_a_row
// seed: nvgpu-gpu-to-nvvm wgmma-descriptor-inputs
gpu.module @m {
  gpu.func @k(%s: !llvm.ptr<3>) kernel {
    %d = nvgpu.warpgroup.generate.descriptor %s {swizzle_base = 64 : i64, swizzle_mode = #nvgpu<swizzle 128B>} : !llvm.ptr<3> -> !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
    gpu.return
  }
}
// ==>
// error[descriptor-field]: 'nvgpu.warpgroup.generate.descriptor' op swizzle_base 64 is no multiple of 128 below 1024

// ---- a_swizzle_of_16_bytes
// seed: nvgpu-gpu-to-nvvm wgmma-descriptor-inputs
gpu.module @m {
  gpu.func @k(%s: !llvm.ptr<3>) kernel {
    %d = nvgpu.warpgroup.generate.descriptor %s {swizzle_mode = #nvgpu<swizzle 16B>} : !llvm.ptr<3> -> !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
    gpu.return
  }
}
// ==>
// a_swizzle_of_16_bytes:4:83: error[ir-invalid]: the module does not verify: a swizzle has 32, 64 or 128 bytes or is none, got 16

// ---- a_descriptor_without_a_swizzle
// seed: nvgpu-gpu-to-nvvm wgmma-descriptor-inputs
gpu.module @m {
  gpu.func @k(%s: !llvm.ptr<3>) kernel {
    %d = nvgpu.warpgroup.generate.descriptor %s {matrix_stride = 64 : i64} : !llvm.ptr<3> -> !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
    gpu.return
  }
}
// ==>
// a_descriptor_without_a_swizzle: error[ir-invalid]: the module does not verify: 'nvgpu.warpgroup.generate.descriptor' op needs a swizzle: a tensor map or swizzle_mode

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
// a_store_of_another_shape: error[ir-invalid]: the module does not verify: 'nvgpu.warpgroup.mma.store' op cannot store vector<64x8xf32> to memref<8x64xf32>

// ---- registers_of_more_rows_than_an_instruction_has
!a = !nvgpu.warpgroup.descriptor<tensor = memref<128x16xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x8xf32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %b, %c {replaces} : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>
// error[wgmma-shape]: 'nvgpu.warpgroup.mma' op takes the registers of 64 rows, not of 128
