// Extents and strides that are computed from constants are those of the memory reference's type.
// run: tileas-fold-constant-shapes sm_90

// ---- a_stride_of_two_constants_and_an_extent_that_only_the_launch_knows
!m = !nv_tileaa.memref<f16, [?, 64], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64, 32], dim_map = [0, 1], steps = [64, 32], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %at: i32):
  %eight = arith.constant 8 : i32
  %rows = arith.constant 128 : i32
  %s = arith.muli %eight, %rows : i32
  %r = nv_tileas.make_memref %p sizes(%n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32) -> !m
  %a = nv_tileas.block_tile %r : (!m) -> !v
  %x, %t0 = nv_tileas.tiled_load %a coords(%at, %at) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<64x32xf16>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, 64], [1024, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 32], dim_map = [0, 1], steps = [64, 32], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %at: i32):
  %eight = arith.constant 8 : i32
  %rows = arith.constant 128 : i32
  %s = arith.constant 1024 : i32
  %r = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f16>, i32) -> !memref0
  %a = nv_tileas.block_tile %r : (!memref0) -> !view0
  %x, %t0 = nv_tileas.tiled_load %a coords(%at, %at) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<64x32xf16>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- comparisons_and_bits_of_constants_and_neutral_elements
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64, 32], dim_map = [0, 1], steps = [64, 32], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %at: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %all = arith.constant -1 : i32
  %wide = arith.constant 64 : i32
  %is = arith.cmpi %all, %zero {predicate = "ugt"} : (i32, i32) -> i1
  %counted = arith.extui %is : (i1) -> i32
  %narrow = arith.trunci %counted : (i32) -> i8
  %again = arith.extui %narrow : (i8) -> i32
  %no = arith.cmpi %all, %zero {predicate = "sgt"} : (i32, i32) -> i1
  %none = arith.extui %no : (i1) -> i32
  %flipped = arith.xori %none, %all : i32
  %bit = arith.andi %flipped, %one : i32
  %columns = arith.muli %again, %wide : i32
  %rows = arith.muli %bit, %n : i32
  %more = arith.addi %none, %rows : i32
  %r = nv_tileas.make_memref %p sizes(%more, %columns) strides(%columns) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %r : (!m) -> !v
  %x, %t0 = nv_tileas.tiled_load %a coords(%at, %at) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<64x32xf16>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, 64], [64, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 32], dim_map = [0, 1], steps = [64, 32], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %at: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %all = arith.constant -1 : i32
  %wide = arith.constant 64 : i32
  %is = arith.constant true
  %counted = arith.constant 1 : i32
  %narrow = arith.constant 1 : i8
  %again = arith.constant 1 : i32
  %no = arith.constant false
  %none = arith.constant 0 : i32
  %flipped = arith.constant -1 : i32
  %bit = arith.constant 1 : i32
  %columns = arith.constant 64 : i32
  %r = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f16>, i32) -> !memref0
  %a = nv_tileas.block_tile %r : (!memref0) -> !view0
  %x, %t0 = nv_tileas.tiled_load %a coords(%at, %at) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<64x32xf16>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- a_multiplication_by_0_in_a_kernel_with_dots
!m = !nv_tileaa.memref<f16, [?, 64], [?, 1]>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %x: tensor<64x32xf16>, %y: tensor<32x64xf16>, %c: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %product = arith.muli %n, %zero : i32
  %s = arith.addi %product, %n : i32
  %r = nv_tileas.make_memref %p sizes(%n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32) -> !m
  %d = nv_tileas.dot %x, %y, %c : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, 64], [?, 1]>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %x: tensor<64x32xf16>, %y: tensor<32x64xf16>, %c: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %r = nv_tileas.make_memref %p sizes(%n) strides(%n) : (!nv_tileaa.ptr<f16>, i32, i32) -> !memref0
  %d = nv_tileas.dot %x, %y, %c : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- a_multiplication_by_0_in_a_kernel_without
!m = !nv_tileaa.memref<f16, [?, 64], [?, 1]>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32):
  %zero = arith.constant 0 : i32
  %product = arith.muli %n, %zero : i32
  %s = arith.addi %product, %n : i32
  %r = nv_tileas.make_memref %p sizes(%n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32) -> !m
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, 64], [?, 1]>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32):
  %zero = arith.constant 0 : i32
  %product = arith.muli %n, %zero : i32
  %s = arith.addi %product, %n : i32
  %r = nv_tileas.make_memref %p sizes(%n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32) -> !memref0
  nv_tileaa.return
}
