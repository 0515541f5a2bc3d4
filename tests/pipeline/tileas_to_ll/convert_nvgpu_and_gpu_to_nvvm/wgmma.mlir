// Warpgroup matmuls: descriptors, the sequence of a matmul, accumulators.
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
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %s: !llvm.ptr<3>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.ptrtoint %s : !llvm.ptr<3> to i64
    %1 = llvm.mlir.constant(262143) : i64
    %2 = llvm.and %0, %1 : i64
    %3 = llvm.mlir.constant(4) : i64
    %4 = llvm.lshr %2, %3 : i64
    %5 = llvm.mlir.constant(4611686293338849280) : i64
    %d = llvm.or %4, %5 : i64
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %s: !llvm.ptr<3>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.ptrtoint %s : !llvm.ptr<3> to i64
    %1 = llvm.mlir.constant(262143) : i64
    %2 = llvm.and %0, %1 : i64
    %3 = llvm.mlir.constant(4) : i64
    %4 = llvm.lshr %2, %3 : i64
    %5 = llvm.mlir.constant(-9223371899399045120) : i64
    %d = llvm.or %4, %5 : i64
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %s: !llvm.ptr<3>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.ptrtoint %s : !llvm.ptr<3> to i64
    %1 = llvm.mlir.constant(262143) : i64
    %2 = llvm.and %0, %1 : i64
    %3 = llvm.mlir.constant(4) : i64
    %4 = llvm.lshr %2, %3 : i64
    %5 = llvm.mlir.constant(-4611685949699522560) : i64
    %d = llvm.or %4, %5 : i64
    llvm.return
  }
}

// ---- descriptor_with_fields_of_its_own
// seed: nvgpu-gpu-to-nvvm wgmma-descriptor-bits
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<64x64xf16, 3>) kernel {
    %d = nvgpu.warpgroup.generate.descriptor %s, %m {leading_byte_offset = 16 : i64, matrix_stride = 64 : i64, swizzle_base = 128 : i64} : memref<64x64xf16, 3>, !map -> !d
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%m: !llvm.ptr, %s: !llvm.ptr<3>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.ptrtoint %s : !llvm.ptr<3> to i64
    %1 = llvm.mlir.constant(262143) : i64
    %2 = llvm.and %0, %1 : i64
    %3 = llvm.mlir.constant(4) : i64
    %4 = llvm.lshr %2, %3 : i64
    %5 = llvm.mlir.constant(562967133356032) : i64
    %d = llvm.or %4, %5 : i64
    llvm.return
  }
}

// ---- descriptor_of_the_document
// seed: nvgpu-gpu-to-nvvm wgmma-descriptor-inputs wgmma-descriptor-bits
gpu.module @m {
  gpu.func @k(%smem_base: !llvm.ptr<3>) kernel {
    %desc = nvgpu.warpgroup.generate.descriptor %smem_base
      { leading_byte_offset = 16 : i64, matrix_stride = 64 : i64,
        swizzle_base = 128 : i64, swizzle_mode = #nvgpu<swizzle 128B> }
      : !llvm.ptr<3> -> !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%smem_base: !llvm.ptr<3>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.ptrtoint %smem_base : !llvm.ptr<3> to i64
    %1 = llvm.mlir.constant(262143) : i64
    %2 = llvm.and %0, %1 : i64
    %3 = llvm.mlir.constant(4) : i64
    %4 = llvm.lshr %2, %3 : i64
    %5 = llvm.mlir.constant(4612248985560743936) : i64
    %desc = llvm.or %4, %5 : i64
    llvm.return
  }
}

// ---- a_matmul_is_fence_mma_commit_wait
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
gpu.module @m {
  llvm.func @k(%a: i64, %b: i64, %c: !llvm.struct<(f32, f32, f32, f32)>) attributes {gpu.kernel, nvvm.kernel} {
    nvvm.wgmma.fence.aligned
    %d = nvvm.wgmma.mma_async %a, %b, %c, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k(%a: i64, %b: i64, %c: !llvm.struct<(f32, f32, f32, f32)>) attributes {gpu.kernel, nvvm.kernel} {
    nvvm.wgmma.fence.aligned
    %d = nvvm.wgmma.mma_async %a, %b, %c, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 1
    llvm.return
  }
}

// ---- a_deep_matmul_advances_its_descriptors
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
gpu.module @m {
  llvm.func @k(%a: i64, %b: i64, %c: !llvm.struct<(f32, f32, f32, f32)>) attributes {gpu.kernel, nvvm.kernel} {
    nvvm.wgmma.fence.aligned
    %0 = nvvm.wgmma.mma_async %a, %b, %c, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <row>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    %1 = llvm.mlir.constant(2) : i64
    %2 = llvm.add %a, %1 : i64
    %3 = llvm.mlir.constant(128) : i64
    %4 = llvm.add %b, %3 : i64
    %d = nvvm.wgmma.mma_async %2, %4, %0, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <row>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k(%a: i64, %b: i64, %c: !llvm.struct<(!llvm.struct<(f32, f32, f32, f32)>, !llvm.struct<(f32, f32, f32, f32)>)>) attributes {gpu.kernel, nvvm.kernel} {
    nvvm.wgmma.fence.aligned
    %0 = llvm.extractvalue %c[0] : !llvm.struct<(!llvm.struct<(f32, f32, f32, f32)>, !llvm.struct<(f32, f32, f32, f32)>)>
    %1 = llvm.extractvalue %c[1] : !llvm.struct<(!llvm.struct<(f32, f32, f32, f32)>, !llvm.struct<(f32, f32, f32, f32)>)>
    %2 = nvvm.wgmma.mma_async %a, %b, %0, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    %3 = llvm.mlir.constant(128) : i64
    %4 = llvm.add %a, %3 : i64
    %5 = nvvm.wgmma.mma_async %4, %b, %1, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    %6 = llvm.mlir.undef : !llvm.struct<(!llvm.struct<(f32, f32, f32, f32)>, !llvm.struct<(f32, f32, f32, f32)>)>
    %7 = llvm.insertvalue %2, %6[0] : !llvm.struct<(!llvm.struct<(f32, f32, f32, f32)>, !llvm.struct<(f32, f32, f32, f32)>)>
    %d = llvm.insertvalue %5, %7[1] : !llvm.struct<(!llvm.struct<(f32, f32, f32, f32)>, !llvm.struct<(f32, f32, f32, f32)>)>
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k(%a: i64, %b: i64, %c: !llvm.struct<(f32, f32, f32, f32)>) attributes {gpu.kernel, nvvm.kernel} {
    nvvm.wgmma.fence.aligned
    %d = nvvm.wgmma.mma_async %a, %b, %c, <m = 64, n = 8, k = 8>, D[<f32>, <one>], A[<tf32>, <one>, <row>], B[<tf32>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k(%a: i64, %b: i64, %c: !llvm.struct<(f32, f32, f32, f32)>) attributes {gpu.kernel, nvvm.kernel} {
    nvvm.wgmma.fence.aligned
    %d = nvvm.wgmma.mma_async %a, %b, %c, <m = 64, n = 8, k = 32>, D[<f32>, <one>], A[<e4m3>, <one>, <row>], B[<e4m3>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k(%a: i64, %b: i64, %c: !llvm.struct<(i32, i32, i32, i32)>) attributes {gpu.kernel, nvvm.kernel} {
    nvvm.wgmma.fence.aligned
    %d = nvvm.wgmma.mma_async %a, %b, %c, <m = 64, n = 8, k = 32>, D[<s32>, <one>], A[<s8>, <one>, <row>], B[<s8>, <one>, <col>] : !llvm.struct<(i32, i32, i32, i32)> -> !llvm.struct<(i32, i32, i32, i32)>
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    llvm.return
  }
}

// ---- a_matmul_that_goes_on_where_another_ends
// seed: nvgpu-gpu-to-nvvm warpgroup-mma
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %b, %c {stepsA = array<i64: 0, 4096>, stepsB = array<i64: 64, 96>, uncommitted, unawaited} : !a, !b, !acc -> !acc
    %e = nvgpu.warpgroup.mma %a, %b, %d {stepsA = array<i64: 4096, 8192>, stepsB = array<i64: 64, 96>, unfenced, unawaited} : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: i64, %b: i64, %c: !llvm.struct<(f32, f32, f32, f32)>) attributes {gpu.kernel, nvvm.kernel} {
    nvvm.wgmma.fence.aligned
    %0 = llvm.mlir.constant(4) : i64
    %1 = llvm.add %b, %0 : i64
    %2 = nvvm.wgmma.mma_async %a, %1, %c, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    %3 = llvm.mlir.constant(256) : i64
    %4 = llvm.add %a, %3 : i64
    %5 = llvm.mlir.constant(6) : i64
    %6 = llvm.add %b, %5 : i64
    %d = nvvm.wgmma.mma_async %4, %6, %2, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    %7 = nvvm.wgmma.mma_async %4, %1, %d, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    %8 = llvm.mlir.constant(512) : i64
    %9 = llvm.add %a, %8 : i64
    %e = nvvm.wgmma.mma_async %9, %6, %7, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    nvvm.wgmma.commit.group.sync.aligned
    llvm.return
  }
}

// ---- accumulators_in_registers
// seed: nvgpu-gpu-to-nvvm warpgroup-mma wgmma-order
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x16xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b, %x: f32, %y: f32) kernel {
    %c = builtin.unrealized_conversion_cast %x, %y, %x, %y : f32, f32, f32, f32 to !acc
    %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !acc -> !acc
    %e = builtin.unrealized_conversion_cast %d : !acc to !llvm.struct<(f32, f32, f32, f32)>
    %f = llvm.extractvalue %e[0] : !llvm.struct<(f32, f32, f32, f32)>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: i64, %b: i64, %x: f32, %y: f32) attributes {gpu.kernel, nvvm.kernel} {
    %d = nvvm.wgmma.group accumulators(%x, %y, %x, %y) inputs(%a, %b) {atom = "wgmma_m64k16_f16_f16_f32", columns = 8 : i64, signed = array<i64: 1, 1>, mn_major = array<i64: 0, 0>, left = array<i64: 0>, right = array<i64: 1>, fence, commit, pending = 0 : i64} : (f32, f32, f32, f32, i64, i64) -> !llvm.struct<(f32, f32, f32, f32)>
    %f = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
    llvm.return
  }
}

// ---- a_left_operand_in_registers
// seed: nvgpu-gpu-to-nvvm warpgroup-mma
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  gpu.func @k(%a: vector<4x2xf16>, %w: i32, %b: !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>, %c: !acc) kernel {
    %d = nvgpu.warpgroup.mma %a, %b, %c : vector<4x2xf16>, !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>, !acc -> !acc
    %v = builtin.unrealized_conversion_cast %w, %w, %w, %w : i32, i32, i32, i32 to vector<4x2xf16>
    %e = nvgpu.warpgroup.mma %v, %b, %d : vector<4x2xf16>, !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>, !acc -> !acc
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: !llvm.array<4 x vector<2xf16>>, %w: i32, %b: i64, %c: !llvm.struct<(f32, f32, f32, f32)>) attributes {gpu.kernel, nvvm.kernel} {
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.array<4 x vector<2xf16>> to vector<4x2xf16>
    %0 = llvm.extractvalue %c[0] : !llvm.struct<(f32, f32, f32, f32)>
    %1 = llvm.extractvalue %c[1] : !llvm.struct<(f32, f32, f32, f32)>
    %2 = llvm.extractvalue %c[2] : !llvm.struct<(f32, f32, f32, f32)>
    %3 = llvm.extractvalue %c[3] : !llvm.struct<(f32, f32, f32, f32)>
    %4 = vector.extract %a_1[0] : vector<2xf16> from vector<4x2xf16>
    %5 = vector.extract %a_1[1] : vector<2xf16> from vector<4x2xf16>
    %6 = vector.extract %a_1[2] : vector<2xf16> from vector<4x2xf16>
    %7 = vector.extract %a_1[3] : vector<2xf16> from vector<4x2xf16>
    %d = nvvm.wgmma.group accumulators(%0, %1, %2, %3) inputs(%4, %5, %6, %7, %b) {atom = "wgmma_m64k16_f16_f16_f32", columns = 8 : i64, signed = array<i64: 1, 1>, mn_major = array<i64: 0, 0>, left = array<i64: 0, 1, 2, 3>, right = array<i64: 4>, fence, commit, pending = 0 : i64} : (f32, f32, f32, f32, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, i64) -> !llvm.struct<(f32, f32, f32, f32)>
    %8 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
    %9 = llvm.extractvalue %d[1] : !llvm.struct<(f32, f32, f32, f32)>
    %10 = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32)>
    %11 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32)>
    %e = nvvm.wgmma.group accumulators(%8, %9, %10, %11) inputs(%w, %b) {atom = "wgmma_m64k16_f16_f16_f32", columns = 8 : i64, signed = array<i64: 1, 1>, mn_major = array<i64: 0, 0>, left = array<i64: 0, 0, 0, 0>, right = array<i64: 1>, fence, commit, pending = 0 : i64} : (f32, f32, f32, f32, i32, i64) -> !llvm.struct<(f32, f32, f32, f32)>
    llvm.return
  }
}

// ---- sums_that_start_at_zero_and_sums_that_start_anew
// seed: nvgpu-gpu-to-nvvm warpgroup-mma
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x16xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<16x8xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b) kernel {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !acc -> !acc
    %e = nvgpu.warpgroup.mma %a, %b, %d {replaces} : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: i64, %b: i64) attributes {gpu.kernel, nvvm.kernel} {
    %c = llvm.mlir.zero : !llvm.struct<(f32, f32, f32, f32)>
    nvvm.wgmma.fence.aligned
    %d = nvvm.wgmma.mma_async %a, %b, %c, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    %0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
    %1 = llvm.extractvalue %d[1] : !llvm.struct<(f32, f32, f32, f32)>
    %2 = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32)>
    %3 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32)>
    %e = nvvm.wgmma.group accumulators(%0, %1, %2, %3) inputs(%a, %b) {atom = "wgmma_m64k16_f16_f16_f32", columns = 8 : i64, signed = array<i64: 1, 1>, mn_major = array<i64: 0, 0>, left = array<i64: 0>, right = array<i64: 1>, first = "added", fence, commit, pending = 0 : i64} : (f32, f32, f32, f32, i64, i64) -> !llvm.struct<(f32, f32, f32, f32)>
    llvm.return
  }
}

// ---- unsigned_integers
// seed: nvgpu-gpu-to-nvvm warpgroup-mma
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xi8, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x8xi8, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xi32>>
gpu.module @m {
  gpu.func @k(%a: !a, %b: !b) kernel {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = nvgpu.warpgroup.mma %a, %b, %c {unsignedA} : !a, !b, !acc -> !acc
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: i64, %b: i64) attributes {gpu.kernel, nvvm.kernel} {
    %c = llvm.mlir.zero : !llvm.struct<(i32, i32, i32, i32)>
    nvvm.wgmma.fence.aligned
    %d = nvvm.wgmma.mma_async %a, %b, %c, <m = 64, n = 8, k = 32>, D[<s32>, <one>], A[<u8>, <one>, <row>], B[<s8>, <one>, <col>] : !llvm.struct<(i32, i32, i32, i32)> -> !llvm.struct<(i32, i32, i32, i32)>
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    llvm.return
  }
}

// ---- a_descriptor_without_a_tensor_map
// seed: nvgpu-gpu-to-nvvm wgmma-descriptor-bits
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @m {
  gpu.func @k(%x: i32) kernel {
    %s = builtin.unrealized_conversion_cast %x : i32 to memref<64x64xf16, 3>
    %d = nvgpu.warpgroup.generate.descriptor %s {leading_byte_offset = 0 : i64, matrix_stride = 1024 : i64, swizzle_mode = #nvgpu<swizzle 128B>} : memref<64x64xf16, 3> -> !d
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%x: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(262143 : i32) : i32
    %1 = llvm.and %x, %0 : i32
    %2 = llvm.mlir.constant(4 : i32) : i32
    %3 = llvm.lshr %1, %2 : i32
    %4 = llvm.zext %3 : i32 to i64
    %5 = llvm.mlir.constant(4611686293305294848) : i64
    %d = llvm.or %4, %5 : i64
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %c = llvm.mlir.zero : !llvm.struct<(f32, f32, f32, f32)>
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k(%c: !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>, %o: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.tid.x : i32
    %1 = llvm.mlir.constant(127 : i32) : i32
    %2 = llvm.and %0, %1 : i32
    %3 = llvm.mlir.constant(5 : i32) : i32
    %4 = llvm.lshr %2, %3 : i32
    %5 = llvm.mlir.constant(31 : i32) : i32
    %6 = llvm.and %0, %5 : i32
    %7 = llvm.mlir.constant(16 : i32) : i32
    %8 = llvm.mul %4, %7 : i32
    %9 = llvm.mlir.constant(2 : i32) : i32
    %10 = llvm.lshr %6, %9 : i32
    %11 = llvm.add %8, %10 : i32
    %12 = llvm.mlir.constant(3 : i32) : i32
    %13 = llvm.and %6, %12 : i32
    %14 = llvm.mlir.constant(2 : i32) : i32
    %15 = llvm.mul %13, %14 : i32
    %16 = llvm.zext %11 : i32 to i64
    %17 = llvm.mlir.constant(16) : i64
    %18 = llvm.mul %16, %17 : i64
    %19 = llvm.zext %15 : i32 to i64
    %20 = llvm.mlir.constant(1) : i64
    %21 = llvm.mul %19, %20 : i64
    %22 = llvm.add %18, %21 : i64
    %23 = llvm.getelementptr %o[%22] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %24 = llvm.extractvalue %c[0] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
    llvm.store %24, %23 : f32, !llvm.ptr
    %25 = llvm.getelementptr %23[1] : (!llvm.ptr) -> !llvm.ptr, f32
    %26 = llvm.extractvalue %c[1] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
    llvm.store %26, %25 : f32, !llvm.ptr
    %27 = llvm.getelementptr %23[128] : (!llvm.ptr) -> !llvm.ptr, f32
    %28 = llvm.extractvalue %c[2] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
    llvm.store %28, %27 : f32, !llvm.ptr
    %29 = llvm.getelementptr %23[129] : (!llvm.ptr) -> !llvm.ptr, f32
    %30 = llvm.extractvalue %c[3] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
    llvm.store %30, %29 : f32, !llvm.ptr
    %31 = llvm.getelementptr %23[8] : (!llvm.ptr) -> !llvm.ptr, f32
    %32 = llvm.extractvalue %c[4] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
    llvm.store %32, %31 : f32, !llvm.ptr
    %33 = llvm.getelementptr %23[9] : (!llvm.ptr) -> !llvm.ptr, f32
    %34 = llvm.extractvalue %c[5] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
    llvm.store %34, %33 : f32, !llvm.ptr
    %35 = llvm.getelementptr %23[136] : (!llvm.ptr) -> !llvm.ptr, f32
    %36 = llvm.extractvalue %c[6] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
    llvm.store %36, %35 : f32, !llvm.ptr
    %37 = llvm.getelementptr %23[137] : (!llvm.ptr) -> !llvm.ptr, f32
    %38 = llvm.extractvalue %c[7] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
    llvm.store %38, %37 : f32, !llvm.ptr
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k(%c: !llvm.struct<(!llvm.struct<(i32, i32)>, !llvm.struct<(i32, i32)>)>, %o: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.tid.x : i32
    %1 = llvm.mlir.constant(127 : i32) : i32
    %2 = llvm.and %0, %1 : i32
    %3 = llvm.mlir.constant(5 : i32) : i32
    %4 = llvm.lshr %2, %3 : i32
    %5 = llvm.mlir.constant(31 : i32) : i32
    %6 = llvm.and %0, %5 : i32
    %7 = llvm.mlir.constant(16 : i32) : i32
    %8 = llvm.mul %4, %7 : i32
    %9 = llvm.mlir.constant(2 : i32) : i32
    %10 = llvm.lshr %6, %9 : i32
    %11 = llvm.add %8, %10 : i32
    %12 = llvm.mlir.constant(3 : i32) : i32
    %13 = llvm.and %6, %12 : i32
    %14 = llvm.mlir.constant(2 : i32) : i32
    %15 = llvm.mul %13, %14 : i32
    %16 = llvm.zext %11 : i32 to i64
    %17 = llvm.mlir.constant(8) : i64
    %18 = llvm.mul %16, %17 : i64
    %19 = llvm.zext %15 : i32 to i64
    %20 = llvm.mlir.constant(1) : i64
    %21 = llvm.mul %19, %20 : i64
    %22 = llvm.add %18, %21 : i64
    %23 = llvm.getelementptr %o[%22] : (!llvm.ptr, i64) -> !llvm.ptr, f16
    %24 = llvm.extractvalue %c[0] : !llvm.struct<(!llvm.struct<(i32, i32)>, !llvm.struct<(i32, i32)>)>
    %25 = llvm.extractvalue %c[1] : !llvm.struct<(!llvm.struct<(i32, i32)>, !llvm.struct<(i32, i32)>)>
    %26 = llvm.extractvalue %24[0] : !llvm.struct<(i32, i32)>
    llvm.store %26, %23 : i32, !llvm.ptr
    %27 = llvm.getelementptr %23[64] : (!llvm.ptr) -> !llvm.ptr, f16
    %28 = llvm.extractvalue %24[1] : !llvm.struct<(i32, i32)>
    llvm.store %28, %27 : i32, !llvm.ptr
    %29 = llvm.getelementptr %23[512] : (!llvm.ptr) -> !llvm.ptr, f16
    %30 = llvm.extractvalue %25[0] : !llvm.struct<(i32, i32)>
    llvm.store %30, %29 : i32, !llvm.ptr
    %31 = llvm.getelementptr %23[576] : (!llvm.ptr) -> !llvm.ptr, f16
    %32 = llvm.extractvalue %25[1] : !llvm.struct<(i32, i32)>
    llvm.store %32, %31 : i32, !llvm.ptr
    llvm.return
  }
}

// ---- equal_descriptors_are_packed_once
// run: cse convert-nvgpu-and-gpu-to-nvvm sm_90
// seed: nvgpu-gpu-to-nvvm wgmma-descriptor-pure
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @m {
  llvm.func @k(%s: !llvm.ptr<3>, %o: !llvm.ptr<1>) {
    %first = nvgpu.warpgroup.generate.descriptor %s {swizzle_mode = #nvgpu<swizzle 64B>} : !llvm.ptr<3> -> !d
    %again = nvgpu.warpgroup.generate.descriptor %s {swizzle_mode = #nvgpu<swizzle 64B>} : !llvm.ptr<3> -> !d
    %other = nvgpu.warpgroup.generate.descriptor %s {swizzle_mode = #nvgpu<swizzle 32B>} : !llvm.ptr<3> -> !d
    %a = builtin.unrealized_conversion_cast %first : !d to i64
    %b = builtin.unrealized_conversion_cast %again : !d to i64
    %c = builtin.unrealized_conversion_cast %other : !d to i64
    llvm.store %a, %o : i64, !llvm.ptr<1>
    llvm.store %b, %o : i64, !llvm.ptr<1>
    llvm.store %c, %o : i64, !llvm.ptr<1>
    llvm.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%s: !llvm.ptr<3>, %o: !llvm.ptr<1>) {
    %0 = llvm.ptrtoint %s : !llvm.ptr<3> to i64
    %1 = llvm.mlir.constant(262143) : i64
    %2 = llvm.and %0, %1 : i64
    %3 = llvm.mlir.constant(4) : i64
    %4 = llvm.lshr %2, %3 : i64
    %5 = llvm.mlir.constant(-9223371899399045120) : i64
    %first = llvm.or %4, %5 : i64
    %6 = llvm.ptrtoint %s : !llvm.ptr<3> to i64
    %7 = llvm.mlir.constant(262143) : i64
    %8 = llvm.and %6, %7 : i64
    %9 = llvm.mlir.constant(4) : i64
    %10 = llvm.lshr %8, %9 : i64
    %11 = llvm.mlir.constant(-4611685949699522560) : i64
    %other = llvm.or %10, %11 : i64
    llvm.store %first, %o : i64, !llvm.ptr<1>
    llvm.store %first, %o : i64, !llvm.ptr<1>
    llvm.store %other, %o : i64, !llvm.ptr<1>
    llvm.return
  }
}
