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
  %v2 = zext i1 %v1 to i8
  %v3 = shl i8 %v2, 1
  %v4 = or i8 %v2, %v3
  %v5 = shl i8 %v2, 2
  %v6 = or i8 %v4, %v5
  %v7 = shl i8 %v2, 3
  %v8 = or i8 %v6, %v7
  %v9 = shl i8 %v2, 4
  %v10 = or i8 %v8, %v9
  %v11 = shl i8 %v2, 5
  %v12 = or i8 %v10, %v11
  %v13 = shl i8 %v2, 6
  %v14 = or i8 %v12, %v13
  %v15 = shl i8 %v2, 7
  %v16 = or i8 %v14, %v15
  %v17 = and i8 %v16, 1
  %v18 = icmp ne i8 %v17, 0
  %v19 = lshr i8 %v16, 1
  %v20 = and i8 %v19, 1
  %v21 = icmp ne i8 %v20, 0
  %v22 = lshr i8 %v16, 2
  %v23 = and i8 %v22, 1
  %v24 = icmp ne i8 %v23, 0
  %v25 = lshr i8 %v16, 3
  %v26 = and i8 %v25, 1
  %v27 = icmp ne i8 %v26, 0
  %v28 = lshr i8 %v16, 4
  %v29 = and i8 %v28, 1
  %v30 = icmp ne i8 %v29, 0
  %v31 = lshr i8 %v16, 5
  %v32 = and i8 %v31, 1
  %v33 = icmp ne i8 %v32, 0
  %v34 = lshr i8 %v16, 6
  %v35 = and i8 %v34, 1
  %v36 = icmp ne i8 %v35, 0
  %v37 = lshr i8 %v16, 7
  %v38 = and i8 %v37, 1
  %v39 = icmp ne i8 %v38, 0
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
