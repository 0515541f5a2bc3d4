// Loads that are used behind a reduction stand before it, so far as threads have registers for what they load.
// run: tileas-load-before-reductions sm_90

// ---- a_load_with_its_addresses_but_not_one_that_a_token_orders_behind_a_store
#row = #cute.layout<(512), (32,1,(8,2)):(8,0,(1,256))>
!pointers = tensor<512x!nv_tileaa.ptr<f16>, #row>
!offsets = tensor<512xi32, #row>
!row = tensor<512xf16, #row>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: !pointers, %w: !pointers, %by: !offsets):
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %a, %t0 = nv_tileas.load %x token(%t) {mem_semantic = "weak", vector = 8 : i32} : (!pointers, !nv_tileaa.mem_token) -> (!row, !nv_tileaa.mem_token)
  %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!row) -> f16 {
  ^bb1(%p: f16, %q: f16):
    %r = nv_tileas.addf %p, %q : f16
    nv_tileas.yield %r : (f16) -> ()
  }
  %b = nv_tileas.splat %s : (f16) -> !row
  %c = nv_tileas.mulf %a, %b : !row
  %t1 = nv_tileas.store %x, %c token(%t0) {mem_semantic = "weak", vector = 8 : i32} : (!pointers, !row, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %at = nv_tileas.addptr %w, %by : (!pointers, !offsets) -> !pointers
  %d, %t2 = nv_tileas.load %at token(%t) {mem_semantic = "weak", vector = 8 : i32} : (!pointers, !nv_tileaa.mem_token) -> (!row, !nv_tileaa.mem_token)
  %e, %t3 = nv_tileas.load %w token(%t1) {mem_semantic = "weak", vector = 8 : i32} : (!pointers, !nv_tileaa.mem_token) -> (!row, !nv_tileaa.mem_token)
  %f = nv_tileas.mulf %d, %e : !row
  %t4 = nv_tileas.store %x, %f token(%t3) {mem_semantic = "weak", vector = 8 : i32} : (!pointers, !row, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(512), (32,1,(8,2)):(8,0,(1,256))>
!tile_512xnv_tileaa_ptr_f16 = tensor<512x!nv_tileaa.ptr<f16>, #layout0>
!tile_512xi32 = tensor<512xi32, #layout0>
!tile_512xf16 = tensor<512xf16, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: !tile_512xnv_tileaa_ptr_f16, %w: !tile_512xnv_tileaa_ptr_f16, %by: !tile_512xi32):
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %a, %t0 = nv_tileas.load %x token(%t) {mem_semantic = "weak", vector = 8 : i32} : (!tile_512xnv_tileaa_ptr_f16, !nv_tileaa.mem_token) -> (!tile_512xf16, !nv_tileaa.mem_token)
  %at = nv_tileas.addptr %w, %by : (!tile_512xnv_tileaa_ptr_f16, !tile_512xi32) -> !tile_512xnv_tileaa_ptr_f16
  %d, %t2 = nv_tileas.load %at token(%t) {mem_semantic = "weak", vector = 8 : i32} : (!tile_512xnv_tileaa_ptr_f16, !nv_tileaa.mem_token) -> (!tile_512xf16, !nv_tileaa.mem_token)
  %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!tile_512xf16) -> f16 {
  ^bb0(%p: f16, %q: f16):
    %r = nv_tileas.addf %p, %q : f16
    nv_tileas.yield %r : (f16) -> ()
  }
  %b = nv_tileas.splat %s : (f16) -> !tile_512xf16
  %c = nv_tileas.mulf %a, %b : !tile_512xf16
  %t1 = nv_tileas.store %x, %c token(%t0) {mem_semantic = "weak", vector = 8 : i32} : (!tile_512xnv_tileaa_ptr_f16, !tile_512xf16, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %e, %t3 = nv_tileas.load %w token(%t1) {mem_semantic = "weak", vector = 8 : i32} : (!tile_512xnv_tileaa_ptr_f16, !nv_tileaa.mem_token) -> (!tile_512xf16, !nv_tileaa.mem_token)
  %f = nv_tileas.mulf %d, %e : !tile_512xf16
  %t4 = nv_tileas.store %x, %f token(%t3) {mem_semantic = "weak", vector = 8 : i32} : (!tile_512xnv_tileaa_ptr_f16, !tile_512xf16, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- a_row_that_leaves_no_registers
#row = #cute.layout<(8192), (32,1,(8,32)):(8,0,(1,256))>
!pointers = tensor<8192x!nv_tileaa.ptr<f32>, #row>
!row = tensor<8192xf32, #row>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%a: !row, %w: !pointers):
  %x = math.exp %a : !row
  %s = nv_tileas.reduce %x attributes {axis = 0 : i32} : (!row) -> f32 {
  ^bb1(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %b = nv_tileas.splat %s : (f32) -> !row
  %c = nv_tileas.mulf %x, %b : !row
  %d, %t2 = nv_tileas.load %w {mem_semantic = "weak", vector = 4 : i32} : (!pointers) -> (!row, !nv_tileaa.mem_token)
  %t4 = nv_tileas.store %w, %c {mem_semantic = "weak", vector = 4 : i32} : (!pointers, !row) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(8192), (32,1,(8,32)):(8,0,(1,256))>
!tile_8192xf32 = tensor<8192xf32, #layout0>
!tile_8192xnv_tileaa_ptr_f32 = tensor<8192x!nv_tileaa.ptr<f32>, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%a: !tile_8192xf32, %w: !tile_8192xnv_tileaa_ptr_f32):
  %x = math.exp %a : !tile_8192xf32
  %s = nv_tileas.reduce %x attributes {axis = 0 : i32} : (!tile_8192xf32) -> f32 {
  ^bb0(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %b = nv_tileas.splat %s : (f32) -> !tile_8192xf32
  %c = nv_tileas.mulf %x, %b : !tile_8192xf32
  %d, %t2 = nv_tileas.load %w {mem_semantic = "weak", vector = 4 : i32} : (!tile_8192xnv_tileaa_ptr_f32) -> (!tile_8192xf32, !nv_tileaa.mem_token)
  %t4 = nv_tileas.store %w, %c {mem_semantic = "weak", vector = 4 : i32} : (!tile_8192xnv_tileaa_ptr_f32, !tile_8192xf32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- an_element_that_an_index_names
#row = #cute.layout<(512), (32,1,(8,2)):(8,0,(1,256))>
#one = #cute.layout<(1), (32,1,(1)):(0,0,(0))>
!pointers = tensor<512x!nv_tileaa.ptr<f16>, #row>
!row = tensor<512xf16, #row>
!place = tensor<1x!nv_tileaa.ptr<i32>, #one>
!element = tensor<1x!nv_tileaa.ptr<f16>, #one>
!index = tensor<1xi32, #one>
!single = tensor<1xf16, #one>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: !pointers, %labels: !place, %start: !element, %out: !element):
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %a, %t0 = nv_tileas.load %x token(%t) {mem_semantic = "weak", vector = 8 : i32} : (!pointers, !nv_tileaa.mem_token) -> (!row, !nv_tileaa.mem_token)
  %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!row) -> f16 {
  ^bb1(%p: f16, %q: f16):
    %r = nv_tileas.addf %p, %q : f16
    nv_tileas.yield %r : (f16) -> ()
  }
  %label, %t1 = nv_tileas.load %labels token(%t) {mem_semantic = "weak", vector = 1 : i32} : (!place, !nv_tileaa.mem_token) -> (!index, !nv_tileaa.mem_token)
  %at = nv_tileas.addptr %start, %label : (!element, !index) -> !element
  %b, %t2 = nv_tileas.load %at token(%t) {mem_semantic = "weak", vector = 1 : i32} : (!element, !nv_tileaa.mem_token) -> (!single, !nv_tileaa.mem_token)
  %c = nv_tileas.splat %s : (f16) -> !single
  %d = nv_tileas.subf %c, %b : !single
  %t3 = nv_tileas.store %out, %d token(%t) {mem_semantic = "weak", vector = 1 : i32} : (!element, !single, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(512), (32,1,(8,2)):(8,0,(1,256))>
!tile_512xnv_tileaa_ptr_f16 = tensor<512x!nv_tileaa.ptr<f16>, #layout0>
#layout1 = #cute.layout<(1), (32,1,1):(0,0,0)>
!tile_1xnv_tileaa_ptr_i32 = tensor<1x!nv_tileaa.ptr<i32>, #layout1>
!tile_1xnv_tileaa_ptr_f16 = tensor<1x!nv_tileaa.ptr<f16>, #layout1>
!tile_512xf16 = tensor<512xf16, #layout0>
!tile_1xi32 = tensor<1xi32, #layout1>
!tile_1xf16 = tensor<1xf16, #layout1>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: !tile_512xnv_tileaa_ptr_f16, %labels: !tile_1xnv_tileaa_ptr_i32, %start: !tile_1xnv_tileaa_ptr_f16, %out: !tile_1xnv_tileaa_ptr_f16):
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %a, %t0 = nv_tileas.load %x token(%t) {mem_semantic = "weak", vector = 8 : i32} : (!tile_512xnv_tileaa_ptr_f16, !nv_tileaa.mem_token) -> (!tile_512xf16, !nv_tileaa.mem_token)
  %label, %t1 = nv_tileas.load %labels token(%t) {mem_semantic = "weak", vector = 1 : i32} : (!tile_1xnv_tileaa_ptr_i32, !nv_tileaa.mem_token) -> (!tile_1xi32, !nv_tileaa.mem_token)
  %at = nv_tileas.addptr %start, %label : (!tile_1xnv_tileaa_ptr_f16, !tile_1xi32) -> !tile_1xnv_tileaa_ptr_f16
  %b, %t2 = nv_tileas.load %at token(%t) {mem_semantic = "weak", vector = 1 : i32} : (!tile_1xnv_tileaa_ptr_f16, !nv_tileaa.mem_token) -> (!tile_1xf16, !nv_tileaa.mem_token)
  %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!tile_512xf16) -> f16 {
  ^bb0(%p: f16, %q: f16):
    %r = nv_tileas.addf %p, %q : f16
    nv_tileas.yield %r : (f16) -> ()
  }
  %c = nv_tileas.splat %s : (f16) -> !tile_1xf16
  %d = nv_tileas.subf %c, %b : !tile_1xf16
  %t3 = nv_tileas.store %out, %d token(%t) {mem_semantic = "weak", vector = 1 : i32} : (!tile_1xnv_tileaa_ptr_f16, !tile_1xf16, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
