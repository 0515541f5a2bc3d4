// Decompose prints: every operand as C's varargs take it, by its type and by the letter of its conversion.
// run: tileas-decompose-prints sm_90

// ---- scalars_of_every_width
// seed: lowering-overview phase-1-print
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%a: i1, %b: i8, %c: i16, %d: i32, %e: i64, %f: f16, %g: bf16, %h: f32, %i: f64, %p: !nv_tileaa.ptr<f32>):
  %t = nv_tileas.print values(%a, %b, %b, %c, %d, %e, %f, %g, %h, %i, %p) {format = "%d %d %u %i %d %lld %f %f %e %g %p"} : (i1, i8, i8, i16, i32, i64, f16, bf16, f32, f64, !nv_tileaa.ptr<f32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%a: i1, %b: i8, %c: i16, %d: i32, %e: i64, %f: f16, %g: bf16, %h: f32, %i: f64, %p: !nv_tileaa.ptr<f32>):
  %0 = arith.extui %a : (i1) -> i32
  %1 = arith.extsi %b : (i8) -> i32
  %2 = arith.extui %b : (i8) -> i32
  %3 = arith.extsi %c : (i16) -> i32
  %4 = nv_tileas.fp_to_fp %f : (f16) -> f32
  %5 = nv_tileas.fp_to_fp %4 : (f32) -> f64
  %6 = nv_tileas.fp_to_fp %g : (bf16) -> f32
  %7 = nv_tileas.fp_to_fp %6 : (f32) -> f64
  %8 = nv_tileas.fp_to_fp %h : (f32) -> f64
  %9 = nv_tileas.ptr_to_int %p : (!nv_tileaa.ptr<f32>) -> i64
  %t = nv_tileas.print values(%0, %1, %2, %3, %d, %e, %5, %7, %8, %i, %9) {format = "%d %d %u %i %d %lld %f %f %e %g %p"} : (i32, i32, i32, i32, i32, i64, f64, f64, f64, f64, i64) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- tiles_keep_shape_and_layout
// seed: lowering-overview phase-1-print
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: tensor<32xf16, #cute.layout<(32), (32,1,1):(1,0,0)>>, %n: i32):
  %t = nv_tileas.print values(%x, %n) {format = "100%% %f"} : (tensor<32xf16, #cute.layout<(32), (32,1,1):(1,0,0)>>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(32), (32,1,1):(1,0,0)>
!tile_32xf16 = tensor<32xf16, #layout0>
!tile_32xf32 = tensor<32xf32, #layout0>
!tile_32xf64 = tensor<32xf64, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: !tile_32xf16, %n: i32):
  %0 = nv_tileas.fp_to_fp %x : (!tile_32xf16) -> !tile_32xf32
  %1 = nv_tileas.fp_to_fp %0 : (!tile_32xf32) -> !tile_32xf64
  %t = nv_tileas.print values(%1, %n) {format = "100%% %f"} : (!tile_32xf64, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
