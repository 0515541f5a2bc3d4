// Loads stand before the computation with their tiles, and a basic block ends there, where a thread computes much with what it loads.
// run: tileas-load-before-computation sm_100

// ---- a_load_with_its_addresses
#row = #cute.layout<(512), (32,1,(8,2)):(8,0,(1,256))>
!pointers = tensor<512x!nv_tileaa.ptr<f32>, #row>
!offsets = tensor<512xi32, #row>
!row = tensor<512xf32, #row>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: !pointers, %w: !pointers, %by: !offsets):
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %a, %t0 = nv_tileas.load %x token(%t) {mem_semantic = "weak", vector = 4 : i32} : (!pointers, !nv_tileaa.mem_token) -> (!row, !nv_tileaa.mem_token)
  %b = nv_tileas.mulf %a, %a : !row
  %at = nv_tileas.addptr %w, %by : (!pointers, !offsets) -> !pointers
  %c, %t1 = nv_tileas.load %at token(%t) {mem_semantic = "weak", vector = 4 : i32} : (!pointers, !nv_tileaa.mem_token) -> (!row, !nv_tileaa.mem_token)
  %d = nv_tileas.mulf %b, %c : !row
  %e = nv_tileas.addf %d, %a : !row
  %t2 = nv_tileas.store %x, %e token(%t0) {mem_semantic = "weak", vector = 4 : i32} : (!pointers, !row, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(512), (32,1,(8,2)):(8,0,(1,256))>
!tile_512xnv_tileaa_ptr_f32 = tensor<512x!nv_tileaa.ptr<f32>, #layout0>
!tile_512xi32 = tensor<512xi32, #layout0>
!tile_512xf32 = tensor<512xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: !tile_512xnv_tileaa_ptr_f32, %w: !tile_512xnv_tileaa_ptr_f32, %by: !tile_512xi32):
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %a, %t0 = nv_tileas.load %x token(%t) {mem_semantic = "weak", vector = 4 : i32} : (!tile_512xnv_tileaa_ptr_f32, !nv_tileaa.mem_token) -> (!tile_512xf32, !nv_tileaa.mem_token)
  %at = nv_tileas.addptr %w, %by : (!tile_512xnv_tileaa_ptr_f32, !tile_512xi32) -> !tile_512xnv_tileaa_ptr_f32
  %c, %t1 = nv_tileas.load %at token(%t) {mem_semantic = "weak", vector = 4 : i32, ends_block} : (!tile_512xnv_tileaa_ptr_f32, !nv_tileaa.mem_token) -> (!tile_512xf32, !nv_tileaa.mem_token)
  %b = nv_tileas.mulf %a, %a : !tile_512xf32
  %d = nv_tileas.mulf %b, %c : !tile_512xf32
  %e = nv_tileas.addf %d, %a : !tile_512xf32
  %t2 = nv_tileas.store %x, %e token(%t0) {mem_semantic = "weak", vector = 4 : i32} : (!tile_512xnv_tileaa_ptr_f32, !tile_512xf32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- not_of_what_was_stored
#row = #cute.layout<(512), (32,1,(8,2)):(8,0,(1,256))>
!pointers = tensor<512x!nv_tileaa.ptr<f32>, #row>
!row = tensor<512xf32, #row>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: !pointers):
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %a, %t0 = nv_tileas.load %x token(%t) {mem_semantic = "weak", vector = 4 : i32} : (!pointers, !nv_tileaa.mem_token) -> (!row, !nv_tileaa.mem_token)
  %b = nv_tileas.mulf %a, %a : !row
  %t1 = nv_tileas.store %x, %b token(%t0) {mem_semantic = "weak", vector = 4 : i32} : (!pointers, !row, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %c, %t2 = nv_tileas.load %x token(%t1) {mem_semantic = "weak", vector = 4 : i32} : (!pointers, !nv_tileaa.mem_token) -> (!row, !nv_tileaa.mem_token)
  %d = nv_tileas.mulf %b, %c : !row
  %t3 = nv_tileas.store %x, %d token(%t2) {mem_semantic = "weak", vector = 4 : i32} : (!pointers, !row, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(512), (32,1,(8,2)):(8,0,(1,256))>
!tile_512xnv_tileaa_ptr_f32 = tensor<512x!nv_tileaa.ptr<f32>, #layout0>
!tile_512xf32 = tensor<512xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: !tile_512xnv_tileaa_ptr_f32):
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %a, %t0 = nv_tileas.load %x token(%t) {mem_semantic = "weak", vector = 4 : i32} : (!tile_512xnv_tileaa_ptr_f32, !nv_tileaa.mem_token) -> (!tile_512xf32, !nv_tileaa.mem_token)
  %b = nv_tileas.mulf %a, %a : !tile_512xf32
  %t1 = nv_tileas.store %x, %b token(%t0) {mem_semantic = "weak", vector = 4 : i32} : (!tile_512xnv_tileaa_ptr_f32, !tile_512xf32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %c, %t2 = nv_tileas.load %x token(%t1) {mem_semantic = "weak", vector = 4 : i32} : (!tile_512xnv_tileaa_ptr_f32, !nv_tileaa.mem_token) -> (!tile_512xf32, !nv_tileaa.mem_token)
  %d = nv_tileas.mulf %b, %c : !tile_512xf32
  %t3 = nv_tileas.store %x, %d token(%t2) {mem_semantic = "weak", vector = 4 : i32} : (!tile_512xnv_tileaa_ptr_f32, !tile_512xf32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
