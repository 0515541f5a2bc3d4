// Tiles that threads load for a result of an MMA are loaded, and converted, before they wait for it.
// run: tileas-load-before-waits sm_100

// ---- a_load_behind_the_reading_of_an_accumulator_but_not_one_that_a_token_orders_behind_a_store
#row = #cute.layout<(128,16), (32,4,16):(1,32,128)>
#line = #cute.layout<(128,16), (32,4,(8,2)):(8,256,(1,1024))>
!view = !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f32, [?, ?], [?, 1]>, tile = [128, 16], dim_map = [0, 1], steps = [128, 16], sparse = -1, padding = zero>
!tile = tensor<128x16xf32, #row>
!loaded = tensor<128x16xf32, #line>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%n: i32, %view: !view, %other: !view):
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %memory = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<32>>
  %sum = nv_tileas.alloc_tmem %memory {column = 0 : i32} : (!nv_tileas.tmem<#builtin.int<32>>) -> !nv_tileas.tmem<#builtin.int<16>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %u, %s = nv_tileas.for %zero, %n, %one initial(%zero, %t) : (i32, i32, i32, i32, !nv_tileaa.mem_token) -> (i32, !nv_tileaa.mem_token) {
    ^bb1(%i: i32, %k: i32, %before: !nv_tileaa.mem_token):
      nv_tileas.async.pipeline.consumer_wait %ready, %k : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %next = nv_tileas.async.pipeline.advance %ready, %k : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %part = nv_tileas.tmem_load %sum : (!nv_tileas.tmem<#builtin.int<16>>) -> !tile
      %j = arith.addi %i, %one : i32
      %a, %t0 = nv_tileas.tiled_load %view coords(%zero, %j) token(%t) {mem_semantic = "weak"} : (!view, i32, i32, !nv_tileaa.mem_token) -> (!loaded, !nv_tileaa.mem_token)
      %b = nv_tileas.convert_layout %a : (!loaded) -> !tile
      %c = nv_tileas.addf %part, %b {rounding_mode = "nearest_even"} : !tile
      %t1 = nv_tileas.tiled_store %other, %c coords(%zero, %i) token(%before) {mem_semantic = "weak"} : (!view, !tile, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
      nv_tileas.async.pipeline.consumer_wait %ready, %next : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %more = nv_tileas.tmem_load %sum : (!nv_tileas.tmem<#builtin.int<16>>) -> !tile
      %d, %t2 = nv_tileas.tiled_load %other coords(%zero, %i) token(%t1) {mem_semantic = "weak"} : (!view, i32, i32, !nv_tileaa.mem_token) -> (!tile, !nv_tileaa.mem_token)
      %e, %t3 = nv_tileas.tiled_load %other coords(%zero, %j) token(%t2) {mem_semantic = "weak"} : (!view, i32, i32, !nv_tileaa.mem_token) -> (!tile, !nv_tileaa.mem_token)
      %f = nv_tileas.addf %d, %e {rounding_mode = "nearest_even"} : !tile
      %g = nv_tileas.addf %f, %more {rounding_mode = "nearest_even"} : !tile
      %t4 = nv_tileas.tiled_store %other, %g coords(%one, %i) token(%t3) {mem_semantic = "weak"} : (!view, !tile, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
      nv_tileas.continue %next, %t4 : (i32, !nv_tileaa.mem_token) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 16], dim_map = [0, 1], steps = [128, 16], sparse = -1, padding = zero>
#layout0 = #cute.layout<(128,16), (32,4,(8,2)):(8,256,(1,1024))>
!tile_128x16xf32 = tensor<128x16xf32, #layout0>
#layout1 = #cute.layout<(128,16), (32,4,16):(1,32,128)>
!tile_128x16xf32_v1 = tensor<128x16xf32, #layout1>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%n: i32, %view: !view0, %other: !view0):
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %memory = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<32>>
  %sum = nv_tileas.alloc_tmem %memory {column = 0 : i32} : (!nv_tileas.tmem<#builtin.int<32>>) -> !nv_tileas.tmem<#builtin.int<16>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %u, %s = nv_tileas.for %zero, %n, %one initial(%zero, %t) : (i32, i32, i32, i32, !nv_tileaa.mem_token) -> (i32, !nv_tileaa.mem_token) {
    ^bb0(%i: i32, %k: i32, %before: !nv_tileaa.mem_token):
      %j = arith.addi %i, %one : i32
      %a, %t0 = nv_tileas.tiled_load %view coords(%zero, %j) token(%t) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (!tile_128x16xf32, !nv_tileaa.mem_token)
      %b = nv_tileas.convert_layout %a : (!tile_128x16xf32) -> !tile_128x16xf32_v1
      nv_tileas.async.pipeline.consumer_wait %ready, %k : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %next = nv_tileas.async.pipeline.advance %ready, %k : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %part = nv_tileas.tmem_load %sum : (!nv_tileas.tmem<#builtin.int<16>>) -> !tile_128x16xf32_v1
      %c = nv_tileas.addf %part, %b {rounding_mode = "nearest_even"} : !tile_128x16xf32_v1
      %t1 = nv_tileas.tiled_store %other, %c coords(%zero, %i) token(%before) {mem_semantic = "weak"} : (!view0, !tile_128x16xf32_v1, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
      nv_tileas.async.pipeline.consumer_wait %ready, %next : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %more = nv_tileas.tmem_load %sum : (!nv_tileas.tmem<#builtin.int<16>>) -> !tile_128x16xf32_v1
      %d, %t2 = nv_tileas.tiled_load %other coords(%zero, %i) token(%t1) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (!tile_128x16xf32_v1, !nv_tileaa.mem_token)
      %e, %t3 = nv_tileas.tiled_load %other coords(%zero, %j) token(%t2) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (!tile_128x16xf32_v1, !nv_tileaa.mem_token)
      %f = nv_tileas.addf %d, %e {rounding_mode = "nearest_even"} : !tile_128x16xf32_v1
      %g = nv_tileas.addf %f, %more {rounding_mode = "nearest_even"} : !tile_128x16xf32_v1
      %t4 = nv_tileas.tiled_store %other, %g coords(%one, %i) token(%t3) {mem_semantic = "weak"} : (!view0, !tile_128x16xf32_v1, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
      nv_tileas.continue %next, %t4 : (i32, !nv_tileaa.mem_token) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}
