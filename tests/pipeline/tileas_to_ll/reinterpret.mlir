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
b0:
  %v0 = icmp ne i8 %a0, 0
  %v1 = zext i1 %v0 to i8
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
  %v17 = icmp ne i8 %v16, 0
  %v18 = lshr i8 %v15, 1
  %v19 = and i8 %v18, 1
  %v20 = icmp ne i8 %v19, 0
  %v21 = lshr i8 %v15, 2
  %v22 = and i8 %v21, 1
  %v23 = icmp ne i8 %v22, 0
  %v24 = lshr i8 %v15, 3
  %v25 = and i8 %v24, 1
  %v26 = icmp ne i8 %v25, 0
  %v27 = lshr i8 %v15, 4
  %v28 = and i8 %v27, 1
  %v29 = icmp ne i8 %v28, 0
  %v30 = lshr i8 %v15, 5
  %v31 = and i8 %v30, 1
  %v32 = icmp ne i8 %v31, 0
  %v33 = lshr i8 %v15, 6
  %v34 = and i8 %v33, 1
  %v35 = icmp ne i8 %v34, 0
  %v36 = lshr i8 %v15, 7
  %v37 = and i8 %v36, 1
  %v38 = icmp ne i8 %v37, 0
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
b0:
  %v0 = and i8 %a0, 15
  %v1 = lshr i8 %a0, 4
  %v2 = and i8 %v1, 15
  %v3 = shl i8 %v2, 4
  %v4 = or i8 %v0, %v3
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
b0:
  %v0 = trunc i32 %a0 to i16
  %v1 = bitcast i16 %v0 to half
  %v2 = lshr i32 %a0, 16
  %v3 = trunc i32 %v2 to i16
  %v4 = bitcast i16 %v3 to half
  %v5 = bitcast half %v1 to i16
  %v6 = zext i16 %v5 to i32
  %v7 = bitcast half %v4 to i16
  %v8 = zext i16 %v7 to i32
  %v9 = shl i32 %v8, 16
  %v10 = or i32 %v6, %v9
  ret void
}
