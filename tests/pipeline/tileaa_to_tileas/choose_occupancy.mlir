// The hint occupancy is obeyed as far as registers reach.
// run: tileas-choose-occupancy sm_90

// ---- two_blocks_fit
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 2}>} {
^bb0(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %zeros: tensor<64x64xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<64x64xf32>) -> (tensor<64x64xf32>) {
  ^bb1(%i: i32, %total: tensor<64x64xf32>):
    %more = nv_tileas.dot %a, %b, %total : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileas.continue %more : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 2}>, occupancy = 2 : i32} {
^bb0(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %zeros: tensor<64x64xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%i: i32, %total: tensor<64x64xf32>):
    %more = nv_tileas.dot %a, %b, %total : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileas.continue %more : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- four_of_large_sums_do_not
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 4}>} {
^bb0(%a: tensor<128x64xf16>, %b: tensor<64x128xf16>, %zeros: tensor<128x128xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<128x128xf32>) -> (tensor<128x128xf32>) {
  ^bb1(%i: i32, %total: tensor<128x128xf32>):
    %more = nv_tileas.dot %a, %b, %total : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    nv_tileas.continue %more : (tensor<128x128xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 4}>, occupancy = 1 : i32, requested_occupancy = 4 : i32} {
^bb0(%a: tensor<128x64xf16>, %b: tensor<64x128xf16>, %zeros: tensor<128x128xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32> {
  ^bb0(%i: i32, %total: tensor<128x128xf32>):
    %more = nv_tileas.dot %a, %b, %total : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    nv_tileas.continue %more : (tensor<128x128xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- without_matmuls_what_is_asked
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 16}>} {
^bb0(%a: tensor<128x128xf32>):
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 16}>, occupancy = 16 : i32} {
^bb0(%a: tensor<128x128xf32>):
  nv_tileaa.return
}

// ---- a_load_behind_a_reduction_has_registers
!pointers = tensor<16384x!nv_tileaa.ptr<f32>>
!tile = tensor<16384xf32>
nv_tileaa.func @k attributes {} {
^bb0(%x: !pointers, %y: !pointers):
  %row = nv_tileas.load %x {mem_semantic = "weak"} : (!pointers) -> !tile
  %total = nv_tileas.reduce %row attributes {axis = 0 : i32} : (!tile) -> f32 {
  ^bb1(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    nv_tileas.yield %sum : (f32) -> ()
  }
  %factors = nv_tileas.load %y {mem_semantic = "weak"} : (!pointers) -> !tile
  %scaled = nv_tileas.mulf %row, %factors {rounding_mode = "nearest_even"} : !tile
  nv_tileas.store %y, %scaled {mem_semantic = "weak"} : (!pointers, !tile) -> ()
  nv_tileaa.return
}
// ==>
// a_load_behind_a_reduction_has_registers:8:23: error[parse-failed]: cannot parse: Operation arith.addf is not registered

// ---- a_row_alone_has_what_ptxas_takes
!pointers = tensor<16384x!nv_tileaa.ptr<f32>>
!tile = tensor<16384xf32>
nv_tileaa.func @k attributes {} {
^bb0(%x: !pointers, %y: !pointers):
  %row = nv_tileas.load %x {mem_semantic = "weak"} : (!pointers) -> !tile
  %total = nv_tileas.reduce %row attributes {axis = 0 : i32} : (!tile) -> f32 {
  ^bb1(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    nv_tileas.yield %sum : (f32) -> ()
  }
  nv_tileas.store %y, %row {mem_semantic = "weak"} : (!pointers, !tile) -> ()
  nv_tileaa.return
}
// ==>
// a_row_alone_has_what_ptxas_takes:8:23: error[parse-failed]: cannot parse: Operation arith.addf is not registered
