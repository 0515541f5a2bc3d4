// Stores by TMA: what would pass through shared memory anyway goes on from there by itself.
// run: tileas-use-tma-stores sm_90

// ---- a_tile_that_changes_its_layout_is_stored_by_tma
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
!sums = tensor<128x128xf16, #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>>
!rows = tensor<128x128xf16, #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %view = nv_tileas.block_tile %memref : (!memref) -> !view
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !sums
    %r = nv_tileas.convert_layout %sums : (!sums) -> !rows
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%t) {mem_semantic = "weak", has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view, !rows, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>
!tile_128x128xf16 = tensor<128x128xf16, #layout0>
nv_tileaa.func @k attributes {num_warps = 8 : i32, schedule = {tma_stores = true}} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %view = nv_tileas.block_tile %memref : (!memref0) -> !view0
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %0 = nv_tileas.make_tiled_tma_desc %memref {dims = array<i64: 1, 0>, box = array<i64: 64, 128>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !tile_128x128xf16
    %u = nv_tileas.async.tiled_tma_store %view, %0, %sums coords(%i, %i) token(%t) {placement = #cute.shared<16, swizzle<3,3,3> o (128,(64,2)):(64,(1,8192))>, chunks = 1 : i32, slots = 1 : i32, copy_atom = "stmatrix"} : (!view0, !nv_tileas.tma_desc, !tile_128x128xf16, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.async.tma_store_wait {read}
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_store_after_a_store_waits_until_it_has_written
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
!sums = tensor<128x128xf16, #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>>
!rows = tensor<128x128xf16, #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %view = nv_tileas.block_tile %memref : (!memref) -> !view
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !sums
    %end = nv_tileas.for %i, %n, %i initial(%t) : (i32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token {
    ^bb1(%j: i32, %before: !nv_tileaa.mem_token):
      nv_tileas.barrier
    %r = nv_tileas.convert_layout %sums : (!sums) -> !rows
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%before) {mem_semantic = "weak", has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view, !rows, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
      nv_tileas.continue %u : (!nv_tileaa.mem_token) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>
!tile_128x128xf16 = tensor<128x128xf16, #layout0>
nv_tileaa.func @k attributes {num_warps = 8 : i32, schedule = {tma_stores = true}} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %view = nv_tileas.block_tile %memref : (!memref0) -> !view0
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %0 = nv_tileas.make_tiled_tma_desc %memref {dims = array<i64: 1, 0>, box = array<i64: 64, 128>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !tile_128x128xf16
    %end = nv_tileas.for %i, %n, %i initial(%t) : (i32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token {
    ^bb0(%j: i32, %before: !nv_tileaa.mem_token):
      nv_tileas.async.tma_store_wait
      nv_tileas.barrier
      %u = nv_tileas.async.tiled_tma_store %view, %0, %sums coords(%i, %i) token(%before) {placement = #cute.shared<16, swizzle<3,3,3> o (128,(64,2)):(64,(1,8192))>, chunks = 1 : i32, slots = 1 : i32, copy_atom = "stmatrix"} : (!view0, !nv_tileas.tma_desc, !tile_128x128xf16, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
      nv_tileas.continue %u : (!nv_tileaa.mem_token) -> ()
    }
    nv_tileas.async.tma_store_wait {read}
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_store_after_nothing_does_not_wait_in_a_loop
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
!sums = tensor<128x128xf16, #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>>
!rows = tensor<128x128xf16, #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %view = nv_tileas.block_tile %memref : (!memref) -> !view
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !sums
    %end = nv_tileas.for %i, %n, %i initial(%t) : (i32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token {
    ^bb1(%j: i32, %before: !nv_tileaa.mem_token):
    %r = nv_tileas.convert_layout %sums : (!sums) -> !rows
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%t) {mem_semantic = "weak", has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view, !rows, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
      nv_tileas.continue %before : (!nv_tileaa.mem_token) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>
!tile_128x128xf16 = tensor<128x128xf16, #layout0>
nv_tileaa.func @k attributes {num_warps = 8 : i32, schedule = {tma_stores = true}} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %view = nv_tileas.block_tile %memref : (!memref0) -> !view0
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %0 = nv_tileas.make_tiled_tma_desc %memref {dims = array<i64: 1, 0>, box = array<i64: 64, 128>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !tile_128x128xf16
    %end = nv_tileas.for %i, %n, %i initial(%t) : (i32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token {
    ^bb0(%j: i32, %before: !nv_tileaa.mem_token):
      %u = nv_tileas.async.tiled_tma_store %view, %0, %sums coords(%i, %i) token(%t) {placement = #cute.shared<16, swizzle<3,3,3> o (128,(64,2)):(64,(1,8192))>, chunks = 1 : i32, slots = 1 : i32, copy_atom = "stmatrix"} : (!view0, !nv_tileas.tma_desc, !tile_128x128xf16, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
      nv_tileas.continue %before : (!nv_tileaa.mem_token) -> ()
    }
    nv_tileas.async.tma_store_wait {read}
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_load_after_a_store_waits_and_meets
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
!sums = tensor<128x128xf16, #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>>
!rows = tensor<128x128xf16, #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %view = nv_tileas.block_tile %memref : (!memref) -> !view
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !sums
    %r = nv_tileas.convert_layout %sums : (!sums) -> !rows
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%t) {mem_semantic = "weak", has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view, !rows, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    %v, %w = nv_tileas.tiled_load %view coords(%i, %i) token(%u) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view, i32, i32, !nv_tileaa.mem_token) -> (!rows, !nv_tileaa.mem_token)
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>
!tile_128x128xf16 = tensor<128x128xf16, #layout0>
#layout1 = #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>
!tile_128x128xf16_v1 = tensor<128x128xf16, #layout1>
nv_tileaa.func @k attributes {num_warps = 8 : i32, schedule = {tma_stores = true}} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %view = nv_tileas.block_tile %memref : (!memref0) -> !view0
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %0 = nv_tileas.make_tiled_tma_desc %memref {dims = array<i64: 1, 0>, box = array<i64: 64, 128>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !tile_128x128xf16
    %u = nv_tileas.async.tiled_tma_store %view, %0, %sums coords(%i, %i) token(%t) {placement = #cute.shared<16, swizzle<3,3,3> o (128,(64,2)):(64,(1,8192))>, chunks = 1 : i32, slots = 1 : i32, copy_atom = "stmatrix"} : (!view0, !nv_tileas.tma_desc, !tile_128x128xf16, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.async.tma_store_wait
    nv_tileas.barrier
    %v, %w = nv_tileas.tiled_load %view coords(%i, %i) token(%u) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (!tile_128x128xf16_v1, !nv_tileaa.mem_token)
    nv_tileas.async.tma_store_wait {read}
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_store_after_a_load_fences_all_memory
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
!sums = tensor<128x128xf16, #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>>
!rows = tensor<128x128xf16, #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %view = nv_tileas.block_tile %memref : (!memref) -> !view
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !sums
    %v, %w = nv_tileas.tiled_load %view coords(%i, %i) token(%t) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view, i32, i32, !nv_tileaa.mem_token) -> (!rows, !nv_tileaa.mem_token)
    %r = nv_tileas.convert_layout %sums : (!sums) -> !rows
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%w) {mem_semantic = "weak", has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view, !rows, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>
!tile_128x128xf16 = tensor<128x128xf16, #layout0>
#layout1 = #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>
!tile_128x128xf16_v1 = tensor<128x128xf16, #layout1>
nv_tileaa.func @k attributes {num_warps = 8 : i32, schedule = {tma_stores = true}} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %view = nv_tileas.block_tile %memref : (!memref0) -> !view0
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %0 = nv_tileas.make_tiled_tma_desc %memref {dims = array<i64: 1, 0>, box = array<i64: 64, 128>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !tile_128x128xf16
    %v, %w = nv_tileas.tiled_load %view coords(%i, %i) token(%t) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (!tile_128x128xf16_v1, !nv_tileaa.mem_token)
    %u = nv_tileas.async.tiled_tma_store %view, %0, %sums coords(%i, %i) token(%w) {placement = #cute.shared<16, swizzle<3,3,3> o (128,(64,2)):(64,(1,8192))>, chunks = 1 : i32, slots = 1 : i32, copy_atom = "stmatrix", after_accesses} : (!view0, !nv_tileas.tma_desc, !tile_128x128xf16, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.async.tma_store_wait {read}
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_store_with_an_order_of_its_own_stays
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
!sums = tensor<128x128xf16, #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>>
!rows = tensor<128x128xf16, #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %view = nv_tileas.block_tile %memref : (!memref) -> !view
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !sums
    %r = nv_tileas.convert_layout %sums : (!sums) -> !rows
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%t) {mem_semantic = "relaxed", mem_scope = "device", vector = 1 : i32, in_bounds = array<i1: false, false>} : (!view, !rows, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>
!tile_128x128xf16 = tensor<128x128xf16, #layout0>
#layout1 = #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>
!tile_128x128xf16_v1 = tensor<128x128xf16, #layout1>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %view = nv_tileas.block_tile %memref : (!memref0) -> !view0
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !tile_128x128xf16
    %r = nv_tileas.convert_layout %sums : (!tile_128x128xf16) -> !tile_128x128xf16_v1
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%t) {mem_semantic = "relaxed", mem_scope = "device", vector = 1 : i32, in_bounds = array<i1: false, false>} : (!view0, !tile_128x128xf16_v1, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_store_whose_hint_forbids_tma_stays
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
!sums = tensor<128x128xf16, #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>>
!rows = tensor<128x128xf16, #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %view = nv_tileas.block_tile %memref : (!memref) -> !view
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !sums
    %r = nv_tileas.convert_layout %sums : (!sums) -> !rows
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%t) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false, false>, optimization_hints = #cuda_tile.optimization_hints<default = {allow_tma = false}>} : (!view, !rows, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>
!tile_128x128xf16 = tensor<128x128xf16, #layout0>
#layout1 = #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>
!tile_128x128xf16_v1 = tensor<128x128xf16, #layout1>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %view = nv_tileas.block_tile %memref : (!memref0) -> !view0
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !tile_128x128xf16
    %r = nv_tileas.convert_layout %sums : (!tile_128x128xf16) -> !tile_128x128xf16_v1
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%t) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false, false>, optimization_hints = #cuda_tile.optimization_hints<default = {allow_tma = false}>} : (!view0, !tile_128x128xf16_v1, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_tile_that_is_used_elsewhere_stays
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
!sums = tensor<128x128xf16, #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>>
!rows = tensor<128x128xf16, #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %view = nv_tileas.block_tile %memref : (!memref) -> !view
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !sums
    %r = nv_tileas.convert_layout %sums : (!sums) -> !rows
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%t) {mem_semantic = "weak", has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view, !rows, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    %u2 = nv_tileas.tiled_store %view, %r coords(%n, %i) token(%u) {mem_semantic = "weak", has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view, !rows, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>
!tile_128x128xf16 = tensor<128x128xf16, #layout0>
#layout1 = #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>
!tile_128x128xf16_v1 = tensor<128x128xf16, #layout1>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %view = nv_tileas.block_tile %memref : (!memref0) -> !view0
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !tile_128x128xf16
    %r = nv_tileas.convert_layout %sums : (!tile_128x128xf16) -> !tile_128x128xf16_v1
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%t) {mem_semantic = "weak", has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view0, !tile_128x128xf16_v1, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    %u2 = nv_tileas.tiled_store %view, %r coords(%n, %i) token(%u) {mem_semantic = "weak", has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view0, !tile_128x128xf16_v1, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_stride_that_no_tensor_map_has_stays
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
!sums = tensor<128x128xf16, #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>>
!rows = tensor<128x128xf16, #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<4>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %view = nv_tileas.block_tile %memref : (!memref) -> !view
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !sums
    %r = nv_tileas.convert_layout %sums : (!sums) -> !rows
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%t) {mem_semantic = "weak", has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view, !rows, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>
!tile_128x128xf16 = tensor<128x128xf16, #layout0>
#layout1 = #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>
!tile_128x128xf16_v1 = tensor<128x128xf16, #layout1>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<4>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %view = nv_tileas.block_tile %memref : (!memref0) -> !view0
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !tile_128x128xf16
    %r = nv_tileas.convert_layout %sums : (!tile_128x128xf16) -> !tile_128x128xf16_v1
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%t) {mem_semantic = "weak", has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view0, !tile_128x128xf16_v1, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_kernel_without_partitions_has_no_tensor_maps
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
!sums = tensor<128x128xf16, #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>>
!rows = tensor<128x128xf16, #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %view = nv_tileas.block_tile %memref : (!memref) -> !view
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
    %sums = nv_tileas.splat %x : (f16) -> !sums
    %r = nv_tileas.convert_layout %sums : (!sums) -> !rows
    %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%t) {mem_semantic = "weak", has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view, !rows, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>
!tile_128x128xf16 = tensor<128x128xf16, #layout0>
#layout1 = #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>
!tile_128x128xf16_v1 = tensor<128x128xf16, #layout1>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %view = nv_tileas.block_tile %memref : (!memref0) -> !view0
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %sums = nv_tileas.splat %x : (f16) -> !tile_128x128xf16
  %r = nv_tileas.convert_layout %sums : (!tile_128x128xf16) -> !tile_128x128xf16_v1
  %u = nv_tileas.tiled_store %view, %r coords(%i, %i) token(%t) {mem_semantic = "weak", has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view0, !tile_128x128xf16_v1, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
