// Every operation of nv_tileaa gets its counterpart, with its operands, attributes and regions; the kernel stays.
// run: convert-tileaa-to-tileas sm_90

// ---- operands_and_attributes_stay
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32):
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %m = nv_tileaa.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.memref<f32, [?], [1]>
  %v = nv_tileaa.block_tile %m : (!nv_tileaa.memref<f32, [?], [1]>) -> !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f32, [?], [1]>, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = zero>
  %x, %u = nv_tileaa.tiled_load %v coords(%n) token(%t) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f32, [?], [1]>, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = zero>, i32, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  %y = nv_tileaa.addf %x, %x {rounding_mode = "zero"} : tensor<64xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32):
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %m = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f32>, i32) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %x, %u = nv_tileas.tiled_load %v coords(%n) token(%t) {mem_semantic = "weak"} : (!view0, i32, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  %y = nv_tileas.addf %x, %x {rounding_mode = "zero"} : tensor<64xf32>
  nv_tileaa.return
}

// ---- regions_move
nv_tileaa.func @k {
^bb0(%c: i1, %x: tensor<64xf32>):
  %r = nv_tileaa.if %c : (i1) -> tensor<64xf32> {
    %y = nv_tileaa.exp2 %x : tensor<64xf32>
    nv_tileaa.yield %y : (tensor<64xf32>) -> ()
  } {
    nv_tileaa.yield %x : (tensor<64xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%c: i1, %x: tensor<64xf32>):
  %r = nv_tileas.if %c : (i1) -> tensor<64xf32> {
    %y = nv_tileas.exp2 %x : tensor<64xf32>
    nv_tileas.yield %y : (tensor<64xf32>) -> ()
  } {
    nv_tileas.yield %x : (tensor<64xf32>) -> ()
  }
  nv_tileaa.return
}
