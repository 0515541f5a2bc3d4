// A tile that all CTAs of a cluster fetch from one place: each fetches a share for all of them.
// run: tileas-multicast-loads sm_90

// ---- half_of_the_lines_of_a_box
nv_tileaa.func @k attributes {num_ctas = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !nv_tileaa.memref<f16, [?, ?], [?, 1]>
  %v = nv_tileas.block_tile %m : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
  %d = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 32>, swizzle_mode = "128B"} : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 4096 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.async.tiled_tma_load %v, %d, %b, %q, %zero coords(%zero, %zero) : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {num_ctas = 2 : i32, schedule = {multicast = true}} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %0 = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 16>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 4096 : i32, ctas = 2 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.async.tiled_tma_load %v, %0, %b, %q, %zero coords(%zero, %zero) {multicast = 0 : i32} : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
  nv_tileaa.return
}

// ---- one_of_two_boxes
nv_tileaa.func @k attributes {num_ctas = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !nv_tileaa.memref<f16, [?, ?], [?, 1]>
  %v = nv_tileas.block_tile %m : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [32, 128], dim_map = [0, 1], steps = [32, 128], sparse = -1, padding = zero>
  %d = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 32>, swizzle_mode = "128B"} : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,(64,2)):(64,(1,2048))>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 8192 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.async.tiled_tma_load %v, %d, %b, %q, %zero coords(%zero, %zero) : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [32, 128], dim_map = [0, 1], steps = [32, 128], sparse = -1, padding = zero>, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,(64,2)):(64,(1,2048))>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 128], dim_map = [0, 1], steps = [32, 128], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {num_ctas = 2 : i32, schedule = {multicast = true}} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %d = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 32>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,(64,2)):(64,(1,2048))>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 8192 : i32, ctas = 2 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.async.tiled_tma_load %v, %d, %b, %q, %zero coords(%zero, %zero) {multicast = 1 : i32} : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,(64,2)):(64,(1,2048))>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
  nv_tileaa.return
}

// ---- a_loop_that_all_ctas_run_alike
nv_tileaa.func @k attributes {num_ctas = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !nv_tileaa.memref<f16, [?, ?], [?, 1]>
  %v = nv_tileas.block_tile %m : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
  %d = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 32>, swizzle_mode = "128B"} : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 4096 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.for %zero, %n, %one initial() : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    nv_tileas.async.tiled_tma_load %v, %d, %b, %q, %zero coords(%i, %zero) : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
    nv_tileas.continue
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {num_ctas = 2 : i32, schedule = {multicast = true}} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %0 = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 16>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 4096 : i32, ctas = 2 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.for %zero, %n, %one : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    nv_tileas.async.tiled_tma_load %v, %0, %b, %q, %zero coords(%i, %zero) {multicast = 0 : i32} : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
    nv_tileas.continue
  }
  nv_tileaa.return
}

// ---- each_cta_its_own_tile
nv_tileaa.func @k attributes {num_ctas = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %row = arith.addi %n, %rank : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !nv_tileaa.memref<f16, [?, ?], [?, 1]>
  %v = nv_tileas.block_tile %m : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
  %d = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 32>, swizzle_mode = "128B"} : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 4096 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.async.tiled_tma_load %v, %d, %b, %q, %zero coords(%row, %zero) : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {num_ctas = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %row = arith.addi %n, %rank : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %d = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 32>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 4096 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.async.tiled_tma_load %v, %d, %b, %q, %zero coords(%row, %zero) : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
  nv_tileaa.return
}

// ---- less_than_a_swizzle_pattern_for_each
nv_tileaa.func @k attributes {num_ctas = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !nv_tileaa.memref<f16, [?, ?], [?, 1]>
  %v = nv_tileas.block_tile %m : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 64], dim_map = [0, 1], steps = [8, 64], sparse = -1, padding = zero>
  %d = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 8>, swizzle_mode = "128B"} : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (8,64):(64,1)>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 1024 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.async.tiled_tma_load %v, %d, %b, %q, %zero coords(%zero, %zero) : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 64], dim_map = [0, 1], steps = [8, 64], sparse = -1, padding = zero>, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (8,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [8, 64], dim_map = [0, 1], steps = [8, 64], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {num_ctas = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %d = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 8>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (8,64):(64,1)>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 1024 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.async.tiled_tma_load %v, %d, %b, %q, %zero coords(%zero, %zero) : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (8,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
  nv_tileaa.return
}

// ---- a_kernel_of_single_ctas
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !nv_tileaa.memref<f16, [?, ?], [?, 1]>
  %v = nv_tileas.block_tile %m : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
  %d = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 32>, swizzle_mode = "128B"} : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 4096 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.async.tiled_tma_load %v, %d, %b, %q, %zero coords(%zero, %zero) : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %d = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 32>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 4096 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.async.tiled_tma_load %v, %d, %b, %q, %zero coords(%zero, %zero) : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
  nv_tileaa.return
}

// ---- a_target_whose_multicast_is_slow
// run: tileas-multicast-loads sm_120
nv_tileaa.func @k attributes {num_ctas = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !nv_tileaa.memref<f16, [?, ?], [?, 1]>
  %v = nv_tileas.block_tile %m : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
  %d = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 32>, swizzle_mode = "128B"} : (!nv_tileaa.memref<f16, [?, ?], [?, 1]>) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 4096 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.async.tiled_tma_load %v, %d, %b, %q, %zero coords(%zero, %zero) : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {num_ctas = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %rank = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %d = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 64, 32>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %q = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 4096 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.async.tiled_tma_load %v, %d, %b, %q, %zero coords(%zero, %zero) : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
  nv_tileaa.return
}
