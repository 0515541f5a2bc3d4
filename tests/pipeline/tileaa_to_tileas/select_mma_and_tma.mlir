// Matmuls that warpgroups make of what TMA fetches, and in how many accumulators.
// run: tileas-select-mma-and-tma sm_90

// ---- fp8_in_parts
!m = !nv_tileaa.memref<f8E4M3FN, [?, ?], [?, 1]>
!va = !nv_tileaa.tiled_view<partition, !m, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !m, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f8E4M3FN>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E4M3FN>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f8E4M3FN>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !va
  %b = nv_tileas.block_tile %mem : (!m) -> !vb
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x128xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32> {
  ^bb1(%k: i32, %c: tensor<128x128xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<128x128xf8E4M3FN>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%zero, %k) {mem_semantic = "weak"} : (!vb, i32, i32) -> (tensor<128x128xf8E4M3FN>, !nv_tileaa.mem_token)
    %r = nv_tileas.permute %y {permutation = array<i32: 1, 0>} : (tensor<128x128xf8E4M3FN>) -> tensor<128x128xf8E4M3FN>
    %d = nv_tileas.dot %x, %r, %c : (tensor<128x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<128x128xf32>) -> tensor<128x128xf32>
    nv_tileas.continue %d : (tensor<128x128xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f8E4M3FN, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f8E4M3FN>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E4M3FN>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f8E4M3FN>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x128xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32> {
  ^bb0(%k: i32, %c: tensor<128x128xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak", tma} : (!view0, i32, i32) -> (tensor<128x128xf8E4M3FN>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%zero, %k) {mem_semantic = "weak", tma} : (!view0, i32, i32) -> (tensor<128x128xf8E4M3FN>, !nv_tileaa.mem_token)
    %r = nv_tileas.permute %y {permutation = array<i32: 1, 0>} : tensor<128x128xf8E4M3FN>
    %d = nv_tileas.dot %x, %r, %c {mma = "wgmma_m64k32_f8E4M3FN_f8E4M3FN_f32", promotion = array<i32: 128, 1, 128>} : (tensor<128x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<128x128xf32>) -> tensor<128x128xf32>
    nv_tileas.continue %d : (tensor<128x128xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : tensor<128x128xf32>
  nv_tileaa.return
}

// ---- fp8_in_parts_that_fit_beside_a_large_sum
!m = !nv_tileaa.memref<f8E5M2, [?, ?], [?, 1]>
!va = !nv_tileaa.tiled_view<partition, !m, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !m, tile = [256, 64], dim_map = [0, 1], steps = [256, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f8E5M2>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E5M2>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f8E5M2>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !va
  %b = nv_tileas.block_tile %mem : (!m) -> !vb
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x256xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x256xf32>) -> tensor<128x256xf32> {
  ^bb1(%k: i32, %c: tensor<128x256xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<128x64xf8E5M2>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%zero, %k) {mem_semantic = "weak"} : (!vb, i32, i32) -> (tensor<256x64xf8E5M2>, !nv_tileaa.mem_token)
    %r = nv_tileas.permute %y {permutation = array<i32: 1, 0>} : (tensor<256x64xf8E5M2>) -> tensor<64x256xf8E5M2>
    %d = nv_tileas.dot %x, %r, %c : (tensor<128x64xf8E5M2>, tensor<64x256xf8E5M2>, tensor<128x256xf32>) -> tensor<128x256xf32>
    nv_tileas.continue %d : (tensor<128x256xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : (tensor<128x256xf32>, tensor<128x256xf32>) -> tensor<128x256xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f8E5M2, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [256, 64], dim_map = [0, 1], steps = [256, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f8E5M2>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E5M2>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f8E5M2>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x256xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x256xf32>) -> tensor<128x256xf32> {
  ^bb0(%k: i32, %c: tensor<128x256xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak", tma} : (!view0, i32, i32) -> (tensor<128x64xf8E5M2>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%zero, %k) {mem_semantic = "weak", tma} : (!view1, i32, i32) -> (tensor<256x64xf8E5M2>, !nv_tileaa.mem_token)
    %r = nv_tileas.permute %y {permutation = array<i32: 1, 0>} : (tensor<256x64xf8E5M2>) -> tensor<64x256xf8E5M2>
    %d = nv_tileas.dot %x, %r, %c {mma = "wgmma_m64k32_f8E5M2_f8E5M2_f32", promotion = array<i32: 128, 1, 128>} : (tensor<128x64xf8E5M2>, tensor<64x256xf8E5M2>, tensor<128x256xf32>) -> tensor<128x256xf32>
    nv_tileas.continue %d : (tensor<128x256xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : tensor<128x256xf32>
  nv_tileaa.return
}

// ---- a_sum_of_f16_is_one
!m = !nv_tileaa.memref<f8E4M3FN, [?, ?], [?, 1]>
!va = !nv_tileaa.tiled_view<partition, !m, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !m, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f8E4M3FN>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E4M3FN>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f8E4M3FN>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !va
  %b = nv_tileas.block_tile %mem : (!m) -> !vb
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f16
  %acc = nv_tileas.splat %none : (f16) -> tensor<128x128xf16>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x128xf16>) -> tensor<128x128xf16> {
  ^bb1(%k: i32, %c: tensor<128x128xf16>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<128x64xf8E4M3FN>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%zero, %k) {mem_semantic = "weak"} : (!vb, i32, i32) -> (tensor<128x64xf8E4M3FN>, !nv_tileaa.mem_token)
    %r = nv_tileas.permute %y {permutation = array<i32: 1, 0>} : (tensor<128x64xf8E4M3FN>) -> tensor<64x128xf8E4M3FN>
    %d = nv_tileas.dot %x, %r, %c : (tensor<128x64xf8E4M3FN>, tensor<64x128xf8E4M3FN>, tensor<128x128xf16>) -> tensor<128x128xf16>
    nv_tileas.continue %d : (tensor<128x128xf16>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f8E4M3FN, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f8E4M3FN>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E4M3FN>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f8E4M3FN>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f16
  %acc = nv_tileas.splat %none : (f16) -> tensor<128x128xf16>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x128xf16>) -> tensor<128x128xf16> {
  ^bb0(%k: i32, %c: tensor<128x128xf16>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak", tma} : (!view0, i32, i32) -> (tensor<128x64xf8E4M3FN>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%zero, %k) {mem_semantic = "weak", tma} : (!view0, i32, i32) -> (tensor<128x64xf8E4M3FN>, !nv_tileaa.mem_token)
    %r = nv_tileas.permute %y {permutation = array<i32: 1, 0>} : (tensor<128x64xf8E4M3FN>) -> tensor<64x128xf8E4M3FN>
    %d = nv_tileas.dot %x, %r, %c {mma = "wgmma_m64k32_f8E4M3FN_f8E4M3FN_f16"} : (tensor<128x64xf8E4M3FN>, tensor<64x128xf8E4M3FN>, tensor<128x128xf16>) -> tensor<128x128xf16>
    nv_tileas.continue %d : (tensor<128x128xf16>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : tensor<128x128xf16>
  nv_tileaa.return
}

// ---- f16_is_one_sum
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!va = !nv_tileaa.tiled_view<partition, !m, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !m, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !va
  %b = nv_tileas.block_tile %mem : (!m) -> !vb
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x128xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32> {
  ^bb1(%k: i32, %c: tensor<128x128xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%zero, %k) {mem_semantic = "weak"} : (!vb, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %r = nv_tileas.permute %y {permutation = array<i32: 1, 0>} : (tensor<128x64xf16>) -> tensor<64x128xf16>
    %d = nv_tileas.dot %x, %r, %c : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    nv_tileas.continue %d : (tensor<128x128xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x128xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32> {
  ^bb0(%k: i32, %c: tensor<128x128xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak", tma} : (!view0, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%zero, %k) {mem_semantic = "weak", tma} : (!view0, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %r = nv_tileas.permute %y {permutation = array<i32: 1, 0>} : (tensor<128x64xf16>) -> tensor<64x128xf16>
    %d = nv_tileas.dot %x, %r, %c {mma = "wgmma_m64k16_f16_f16_f32"} : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    nv_tileas.continue %d : (tensor<128x128xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : tensor<128x128xf32>
  nv_tileaa.return
}

// ---- a_right_operand_that_threads_compute_and_write_to_shared_memory
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!va = !nv_tileaa.tiled_view<partition, !m, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !m, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !va
  %b = nv_tileas.block_tile %mem : (!m) -> !vb
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x128xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32> {
  ^bb1(%k: i32, %c: tensor<128x128xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%zero, %k) {mem_semantic = "weak"} : (!vb, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %w = nv_tileas.addf %y, %y {rounding_mode = "nearest_even"} : (tensor<128x64xf16>, tensor<128x64xf16>) -> tensor<128x64xf16>
    %r = nv_tileas.permute %w {permutation = array<i32: 1, 0>} : (tensor<128x64xf16>) -> tensor<64x128xf16>
    %d = nv_tileas.dot %x, %r, %c : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    nv_tileas.continue %d : (tensor<128x128xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x128xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32> {
  ^bb0(%k: i32, %c: tensor<128x128xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak", tma} : (!view0, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%zero, %k) {mem_semantic = "weak", tma, read_by_threads} : (!view0, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %w = nv_tileas.addf %y, %y {rounding_mode = "nearest_even"} : tensor<128x64xf16>
    %r = nv_tileas.permute %w {permutation = array<i32: 1, 0>} : (tensor<128x64xf16>) -> tensor<64x128xf16>
    %d = nv_tileas.dot %x, %r, %c {mma = "wgmma_m64k16_f16_f16_f32", stored = array<i32: 1>} : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    nv_tileas.continue %d : (tensor<128x128xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : tensor<128x128xf32>
  nv_tileaa.return
}
