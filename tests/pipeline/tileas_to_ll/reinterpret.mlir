// Bytes of a tile as elements of another width: the parts of a wide element are in one thread.
// run: convert-nv-tile-func-to-llvm ll sm_90

// ---- bits_are_joined_to_bytes_and_taken_apart
!bits = tensor<256xi1, #cute.layout<(256), (32,1,8):(8,0,1)>>
!bytes = tensor<32xi8, #cute.layout<(32), (32,1,1):(1,0,0)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%c: i1):
  %a = nv_tileas.splat %c : (i1) -> !bits
  %b = nv_tileas.reinterpret %a : (!bits) -> !bytes
  %d = nv_tileas.reinterpret %b : (!bytes) -> !bits
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(i8 %a0) "nvvm.reqntid"="32" {
entry:
  %v1 = icmp ne i8 %a0, 0
  %v2 = shl i8 %v1, 1
  %v3 = or i8 %v1, %v2
  %v4 = shl i8 %v1, 2
  %v5 = or i8 %v3, %v4
  %v6 = shl i8 %v1, 3
  %v7 = or i8 %v5, %v6
  %v8 = shl i8 %v1, 4
  %v9 = or i8 %v7, %v8
  %v10 = shl i8 %v1, 5
  %v11 = or i8 %v9, %v10
  %v12 = shl i8 %v1, 6
  %v13 = or i8 %v11, %v12
  %v14 = shl i8 %v1, 7
  %v15 = or i8 %v13, %v14
  %v16 = and i8 %v15, 1
  %v17 = lshr i8 %v15, 1
  %v18 = and i8 %v17, 1
  %v19 = lshr i8 %v15, 2
  %v20 = and i8 %v19, 1
  %v21 = lshr i8 %v15, 3
  %v22 = and i8 %v21, 1
  %v23 = lshr i8 %v15, 4
  %v24 = and i8 %v23, 1
  %v25 = lshr i8 %v15, 5
  %v26 = and i8 %v25, 1
  %v27 = lshr i8 %v15, 6
  %v28 = and i8 %v27, 1
  %v29 = lshr i8 %v15, 7
  %v30 = and i8 %v29, 1
  ret void
}

// ---- f4_are_two_to_a_byte
!f4 = tensor<64xf4E2M1FN, #cute.layout<(64), (32,1,2):(2,0,1)>>
!bytes = tensor<32xi8, #cute.layout<(32), (32,1,1):(1,0,0)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: i8):
  %a = nv_tileas.splat %x : (i8) -> !bytes
  %b = nv_tileas.reinterpret %a : (!bytes) -> !f4
  %d = nv_tileas.reinterpret %b : (!f4) -> !bytes
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(i8 %a0) "nvvm.reqntid"="32" {
entry:
  %v1 = and i8 %a0, 15
  %v2 = lshr i8 %a0, 4
  %v3 = and i8 %v2, 15
  %v4 = shl i8 %v3, 4
  %v5 = or i8 %v1, %v4
  ret void
}

// ---- words_and_halves
!words = tensor<32xi32, #cute.layout<(32), (32,1,1):(1,0,0)>>
!halves = tensor<64xf16, #cute.layout<(64), (32,1,2):(2,0,1)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: i32):
  %a = nv_tileas.splat %x : (i32) -> !words
  %b = nv_tileas.reinterpret %a : (!words) -> !halves
  %d = nv_tileas.reinterpret %b : (!halves) -> !words
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(i32 %a0) "nvvm.reqntid"="32" {
entry:
  %v1 = trunc i32 %a0 to i16
  %v2 = bitcast i16 %v1 to half
  %v3 = lshr i32 %a0, 16
  %v4 = trunc i32 %v3 to i16
  %v5 = bitcast i16 %v4 to half
  %v6 = bitcast half %v2 to i16
  %v7 = zext i16 %v6 to i32
  %v8 = bitcast half %v5 to i16
  %v9 = zext i16 %v8 to i32
  %v10 = shl i32 %v9, 16
  %v11 = or i32 %v7, %v10
  ret void
}
