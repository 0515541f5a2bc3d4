// A tile that two dots of an iteration, or of no loop, read as it is, one of them its transpose, is loaded for each of them.
// run: tileas-load-for-each-dot sm_100

// ---- as_it_is_and_transposed
!m = !nv_tileaa.memref<bf16, [?, ?], [4096, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
!t = tensor<64x64xbf16>
!sum = tensor<64x64xf32>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<bf16>, %n: i32, %left: !t, %zeros: !sum):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<bf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = nv_tileas.make_memref %base sizes(%n, %n) strides() : (!nv_tileaa.ptr<bf16>, i32, i32) -> !m
  %a = nv_tileas.block_tile %r : (!m) -> !v
  %sums, %others = nv_tileas.for %zero, %n, %one initial(%zeros, %zeros) : (i32, i32, i32, !sum, !sum) -> (!sum, !sum) {
  ^bb1(%i: i32, %c: !sum, %d: !sum):
    %x, %t0 = nv_tileas.tiled_load %a coords(%i, %zero) {mem_semantic = "weak"} : (!v, i32, i32) -> (!t, !nv_tileaa.mem_token)
    %y = nv_tileas.permute %x {permutation = array<i32: 1, 0>} : (!t) -> !t
    %e = nv_tileas.dot %left, %x, %c : (!t, !t, !sum) -> !sum
    %f = nv_tileas.dot %left, %y, %d : (!t, !t, !sum) -> !sum
    nv_tileas.continue %e, %f : (!sum, !sum) -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<bf16, [?, ?], [4096, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<bf16>, %n: i32, %left: tensor<64x64xbf16>, %zeros: tensor<64x64xf32>):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<bf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = nv_tileas.make_memref %base sizes(%n, %n) : (!nv_tileaa.ptr<bf16>, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %r : (!memref0) -> !view0
  %sums, %others = nv_tileas.for %zero, %n, %one initial(%zeros, %zeros) : (i32, i32, i32, tensor<64x64xf32>, tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  ^bb0(%i: i32, %c: tensor<64x64xf32>, %d: tensor<64x64xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%i, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<64x64xbf16>, !nv_tileaa.mem_token)
    %0, %1 = nv_tileas.tiled_load %a coords(%i, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<64x64xbf16>, !nv_tileaa.mem_token)
    %2 = nv_tileas.permute %0 {permutation = array<i32: 1, 0>} : tensor<64x64xbf16>
    %e = nv_tileas.dot %left, %x, %c : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %f = nv_tileas.dot %left, %2, %d : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileas.continue %e, %f : (tensor<64x64xf32>, tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- threads_read_the_tile_too
!m = !nv_tileaa.memref<bf16, [?, ?], [4096, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
!t = tensor<64x64xbf16>
!sum = tensor<64x64xf32>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<bf16>, %n: i32, %left: !t, %zeros: !sum):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<bf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = nv_tileas.make_memref %base sizes(%n, %n) strides() : (!nv_tileaa.ptr<bf16>, i32, i32) -> !m
  %a = nv_tileas.block_tile %r : (!m) -> !v
  %sums = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, !sum) -> !sum {
  ^bb1(%i: i32, %c: !sum):
    %x, %t0 = nv_tileas.tiled_load %a coords(%i, %zero) {mem_semantic = "weak"} : (!v, i32, i32) -> (!t, !nv_tileaa.mem_token)
    %y = nv_tileas.addf %x, %x {rounding_mode = "nearest_even"} : (!t, !t) -> !t
    %e = nv_tileas.dot %left, %x, %c : (!t, !t, !sum) -> !sum
    %f = nv_tileas.dot %y, %x, %e : (!t, !t, !sum) -> !sum
    nv_tileas.continue %f : (!sum) -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<bf16, [?, ?], [4096, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<bf16>, %n: i32, %left: tensor<64x64xbf16>, %zeros: tensor<64x64xf32>):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<bf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = nv_tileas.make_memref %base sizes(%n, %n) : (!nv_tileaa.ptr<bf16>, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %r : (!memref0) -> !view0
  %sums = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%i: i32, %c: tensor<64x64xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%i, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<64x64xbf16>, !nv_tileaa.mem_token)
    %0, %1 = nv_tileas.tiled_load %a coords(%i, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<64x64xbf16>, !nv_tileaa.mem_token)
    %2, %3 = nv_tileas.tiled_load %a coords(%i, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<64x64xbf16>, !nv_tileaa.mem_token)
    %y = nv_tileas.addf %x, %x {rounding_mode = "nearest_even"} : tensor<64x64xbf16>
    %e = nv_tileas.dot %left, %2, %c : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %f = nv_tileas.dot %y, %0, %e : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileas.continue %f : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- two_dots_in_no_loop
!m = !nv_tileaa.memref<bf16, [?, ?], [4096, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
!t = tensor<64x64xbf16>
!sum = tensor<64x64xf32>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<bf16>, %n: i32, %right: !t, %zeros: !sum):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<bf16>
  %zero = arith.constant 0 : i32
  %r = nv_tileas.make_memref %base sizes(%n, %n) strides() : (!nv_tileaa.ptr<bf16>, i32, i32) -> !m
  %a = nv_tileas.block_tile %r : (!m) -> !v
  %x, %t0 = nv_tileas.tiled_load %a coords(%n, %zero) {mem_semantic = "weak"} : (!v, i32, i32) -> (!t, !nv_tileaa.mem_token)
  %e = nv_tileas.dot %x, %right, %zeros : (!t, !t, !sum) -> !sum
  %f = nv_tileas.dot %x, %right, %e : (!t, !t, !sum) -> !sum
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<bf16, [?, ?], [4096, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<bf16>, %n: i32, %right: tensor<64x64xbf16>, %zeros: tensor<64x64xf32>):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<bf16>
  %zero = arith.constant 0 : i32
  %r = nv_tileas.make_memref %base sizes(%n, %n) : (!nv_tileaa.ptr<bf16>, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %r : (!memref0) -> !view0
  %x, %t0 = nv_tileas.tiled_load %a coords(%n, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<64x64xbf16>, !nv_tileaa.mem_token)
  %0, %1 = nv_tileas.tiled_load %a coords(%n, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<64x64xbf16>, !nv_tileaa.mem_token)
  %e = nv_tileas.dot %0, %right, %zeros : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %f = nv_tileas.dot %x, %right, %e : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- scales_of_two_dots_are_copied_for_each
!m = !nv_tileaa.memref<f8E8M0FNU, [?, ?], [4096, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [128, 4], dim_map = [0, 1], steps = [128, 4], sparse = -1, padding = zero>
!t = tensor<128x128xf8E4M3FN>
!s = tensor<128x4xf8E8M0FNU>
!u = tensor<4x128xf8E8M0FNU>
!sum = tensor<128x128xf32>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f8E8M0FNU>, %n: i32, %left: !t, %right: !t, %w: !u, %zeros: !sum):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E8M0FNU>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = nv_tileas.make_memref %base sizes(%n, %n) strides() : (!nv_tileaa.ptr<f8E8M0FNU>, i32, i32) -> !m
  %a = nv_tileas.block_tile %r : (!m) -> !v
  %sums, %others = nv_tileas.for %zero, %n, %one initial(%zeros, %zeros) : (i32, i32, i32, !sum, !sum) -> (!sum, !sum) {
  ^bb1(%i: i32, %c: !sum, %d: !sum):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %i) {mem_semantic = "weak"} : (!v, i32, i32) -> (!s, !nv_tileaa.mem_token)
    %e = nv_tileas.dot %left, %right, %c lhs_scale(%x) rhs_scale(%w) : (!t, !t, !sum, !s, !u) -> !sum
    %f = nv_tileas.dot %left, %left, %d lhs_scale(%x) rhs_scale(%w) : (!t, !t, !sum, !s, !u) -> !sum
    nv_tileas.continue %e, %f : (!sum, !sum) -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f8E8M0FNU, [?, ?], [4096, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 4], dim_map = [0, 1], steps = [128, 4], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f8E8M0FNU>, %n: i32, %left: tensor<128x128xf8E4M3FN>, %right: tensor<128x128xf8E4M3FN>, %w: tensor<4x128xf8E8M0FNU>, %zeros: tensor<128x128xf32>):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E8M0FNU>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = nv_tileas.make_memref %base sizes(%n, %n) : (!nv_tileaa.ptr<f8E8M0FNU>, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %r : (!memref0) -> !view0
  %sums, %others = nv_tileas.for %zero, %n, %one initial(%zeros, %zeros) : (i32, i32, i32, tensor<128x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
  ^bb0(%i: i32, %c: tensor<128x128xf32>, %d: tensor<128x128xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %i) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<128x4xf8E8M0FNU>, !nv_tileaa.mem_token)
    %0, %1 = nv_tileas.tiled_load %a coords(%zero, %i) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<128x4xf8E8M0FNU>, !nv_tileaa.mem_token)
    %e = nv_tileas.dot %left, %right, %c lhs_scale(%0) rhs_scale(%w) : (tensor<128x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<128x128xf32>, tensor<128x4xf8E8M0FNU>, tensor<4x128xf8E8M0FNU>) -> tensor<128x128xf32>
    %f = nv_tileas.dot %left, %left, %d lhs_scale(%x) rhs_scale(%w) : (tensor<128x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<128x128xf32>, tensor<128x4xf8E8M0FNU>, tensor<4x128xf8E8M0FNU>) -> tensor<128x128xf32>
    nv_tileas.continue %e, %f : (tensor<128x128xf32>, tensor<128x128xf32>) -> ()
  }
  nv_tileaa.return
}
