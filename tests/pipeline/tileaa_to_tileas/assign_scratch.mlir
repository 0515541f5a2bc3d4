// Where operations exchange data between threads, and which of them must wait for another's readers first.
// run: tileas-assign-scratch sm_90

// ---- neighbors_alternate_between_two_regions
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!b = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%x: !a):
  %1 = nv_tileas.convert_layout %x : (!a) -> !b
  %2 = nv_tileas.exp2 %1 : !b
  %3 = nv_tileas.convert_layout %2 : (!b) -> !a
  %4 = nv_tileas.exp2 %3 : !a
  %5 = nv_tileas.convert_layout %4 : (!a) -> !b
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout1>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 32768 : i32} {
^bb0(%x: !tile_64x64xf32):
  %0 = nv_tileas.convert_layout %x {scratch_bytes = 16384 : i32, scratch_offset = 0 : i32} : (!tile_64x64xf32) -> !tile_64x64xf32_v1
  %1 = nv_tileas.exp2 %0 : !tile_64x64xf32_v1
  %2 = nv_tileas.convert_layout %1 {scratch_bytes = 16384 : i32, scratch_offset = 16384 : i32} : (!tile_64x64xf32_v1) -> !tile_64x64xf32
  %3 = nv_tileas.exp2 %2 : !tile_64x64xf32
  %4 = nv_tileas.convert_layout %3 {scratch_bytes = 16384 : i32, scratch_offset = 0 : i32} : (!tile_64x64xf32) -> !tile_64x64xf32_v1
  nv_tileaa.return
}

// ---- conversions_that_stand_together_share_their_barriers
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!b = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%x: !a, %y: !a):
  %1 = nv_tileas.convert_layout %x : (!a) -> !b
  %2 = nv_tileas.convert_layout %y : (!a) -> !b
  %3 = nv_tileas.addf %1, %2 {rounding_mode = "nearest_even"} : !b
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout1>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 32768 : i32} {
^bb0(%x: !tile_64x64xf32, %y: !tile_64x64xf32):
  %0, %1 = nv_tileas.convert_layout %x, %y {scratch_bytes = 32768 : i32, scratch_offset = 0 : i32} : (!tile_64x64xf32, !tile_64x64xf32) -> (!tile_64x64xf32_v1, !tile_64x64xf32_v1)
  %2 = nv_tileas.addf %0, %1 {rounding_mode = "nearest_even"} : !tile_64x64xf32_v1
  nv_tileaa.return
}

// ---- a_loop_meets_its_last_iteration
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!b = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%x: !a, %n: i32):
  %r = nv_tileas.for %n, %n, %n initial(%x) : (i32, i32, i32, !a) -> !a {
  ^bb1(%i: i32, %y: !a):
    %1 = nv_tileas.convert_layout %y : (!a) -> !b
    %2 = nv_tileas.exp2 %1 : !b
    %3 = nv_tileas.exp2 %y : !a
    nv_tileas.continue %3 : (!a) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout1>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 16384 : i32} {
^bb0(%x: !tile_64x64xf32, %n: i32):
  %r = nv_tileas.for %n, %n, %n initial(%x) : (i32, i32, i32, !tile_64x64xf32) -> !tile_64x64xf32 {
  ^bb0(%i: i32, %y: !tile_64x64xf32):
    %0 = nv_tileas.convert_layout %y {scratch_bytes = 16384 : i32, scratch_offset = 0 : i32, sync_before} : (!tile_64x64xf32) -> !tile_64x64xf32_v1
    %1 = nv_tileas.exp2 %0 : !tile_64x64xf32_v1
    %2 = nv_tileas.exp2 %y : !tile_64x64xf32
    nv_tileas.continue %2 : (!tile_64x64xf32) -> ()
  }
  nv_tileaa.return
}

// ---- a_barrier_ends_all_reading
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!b = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%x: !a, %n: i32):
  %r = nv_tileas.for %n, %n, %n initial(%x) : (i32, i32, i32, !a) -> !a {
  ^bb1(%i: i32, %y: !a):
    nv_tileas.barrier
    %1 = nv_tileas.convert_layout %y : (!a) -> !b
    %2 = nv_tileas.exp2 %1 : !b
    nv_tileas.continue %y : (!a) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout1>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 16384 : i32} {
^bb0(%x: !tile_64x64xf32, %n: i32):
  %r = nv_tileas.for %n, %n, %n initial(%x) : (i32, i32, i32, !tile_64x64xf32) -> !tile_64x64xf32 {
  ^bb0(%i: i32, %y: !tile_64x64xf32):
    nv_tileas.barrier
    %0 = nv_tileas.convert_layout %y {scratch_bytes = 16384 : i32, scratch_offset = 0 : i32} : (!tile_64x64xf32) -> !tile_64x64xf32_v1
    %1 = nv_tileas.exp2 %0 : !tile_64x64xf32_v1
    nv_tileas.continue %y : (!tile_64x64xf32) -> ()
  }
  nv_tileaa.return
}

// ---- a_reduction_across_warps_needs_room_and_one_within_does_not
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!r = tensor<64xf32, #cute.layout<(64), (32,4,(8,2)):(0,16,(2,0))>>
!c = tensor<64xf32, #cute.layout<(64), (32,4,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%x: !a):
  %1 = nv_tileas.reduce %x attributes {axis = 0 : i32} : (!a) -> !c {
  ^bb1(%a: f32, %b: f32):
    %c = nv_tileas.addf %a, %b {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %c : (f32) -> ()
  }
  %2 = nv_tileas.reduce %x attributes {axis = 1 : i32} : (!a) -> !r {
  ^bb1(%a: f32, %b: f32):
    %c = nv_tileas.addf %a, %b {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %c : (f32) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64), (32,4,2):(1,0,32)>
!tile_64xf32 = tensor<64xf32, #layout1>
#layout2 = #cute.layout<(64), (32,4,(8,2)):(0,16,(2,0))>
!tile_64xf32_v1 = tensor<64xf32, #layout2>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 1024 : i32} {
^bb0(%x: !tile_64x64xf32):
  %0 = nv_tileas.reduce %x attributes {axis = 0 : i32, scratch_bytes = 1024 : i32, scratch_offset = 0 : i32} : (!tile_64x64xf32) -> !tile_64xf32 {
  ^bb0(%a: f32, %b: f32):
    %c = nv_tileas.addf %a, %b {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %c : (f32) -> ()
  }
  %1 = nv_tileas.reduce %x attributes {axis = 1 : i32} : (!tile_64x64xf32) -> !tile_64xf32_v1 {
  ^bb0(%a_1: f32, %b_1: f32):
    %c_1 = nv_tileas.addf %a_1, %b_1 {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %c_1 : (f32) -> ()
  }
  nv_tileaa.return
}

// ---- what_does_not_fit_is_refused
!a = tensor<512x256xf64, #cute.layout<(512,256), (32,4,(32,32)):(1,1024,(32,4096))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%x: !a, %i: i32):
  %1 = nv_tileas.extract_slice %x indices(%i, %i) : (!a, i32, i32) -> f64
  nv_tileaa.return
}
// ==>
// error[shared-memory]: the kernel needs 1048576 bytes of shared memory, sm_90 has 232448; use smaller tiles
