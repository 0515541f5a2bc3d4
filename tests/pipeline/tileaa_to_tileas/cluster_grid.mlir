// Neighbouring tile programs form a cluster where a schedule asks: their ids along axis 0 depend on the rank of their CTA.
// run: tileas-cluster-grid sm_90

// ---- ids_and_counts_along_the_first_axis
nv_tileaa.func @k attributes {schedule = {grid_cluster = 2 : i32}} {
^bb0(%p: !nv_tileaa.ptr<i32>):
  %x = nv_tileas.get_program_id {axis = 0 : i32} : i32
  %y = nv_tileas.get_program_id {axis = 1 : i32} : i32
  %n = nv_tileas.get_num_programs {axis = 0 : i32} : i32
  %a = arith.muli %y, %n : i32
  %b = arith.addi %a, %x : i32
  %t = nv_tileas.splat %b : (i32) -> tensor<1xi32>
  %q = nv_tileas.splat %p : (!nv_tileaa.ptr<i32>) -> tensor<1x!nv_tileaa.ptr<i32>>
  %u = nv_tileas.store %q, %t {mem_semantic = "weak"} : (tensor<1x!nv_tileaa.ptr<i32>>, tensor<1xi32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {schedule = {grid_cluster = 2 : i32}, num_ctas = 2 : i32, grid_cluster = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<i32>):
  %0 = nv_tileas.get_cta_rank : i32
  %1 = nv_tileas.get_program_id {axis = 0 : i32} : i32
  %2 = arith.constant 2 : i32
  %3 = arith.muli %1, %2 : i32
  %x = arith.addi %3, %0 : i32
  %4 = nv_tileas.get_num_programs {axis = 0 : i32} : i32
  %5 = arith.constant 2 : i32
  %n = arith.muli %4, %5 : i32
  %y = nv_tileas.get_program_id {axis = 1 : i32} : i32
  %a = arith.muli %y, %n : i32
  %b = arith.addi %a, %x : i32
  %t = nv_tileas.splat %b : (i32) -> tensor<1xi32>
  %q = nv_tileas.splat %p : (!nv_tileaa.ptr<i32>) -> tensor<1x!nv_tileaa.ptr<i32>>
  %u = nv_tileas.store %q, %t {mem_semantic = "weak"} : (tensor<1x!nv_tileaa.ptr<i32>>, tensor<1xi32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- other_kernels_are_as_they_were
nv_tileaa.func @k attributes {schedule = {grid_cluster = 1 : i32}} {
^bb0(%p: !nv_tileaa.ptr<i32>):
  %x = nv_tileas.get_program_id {axis = 0 : i32} : i32
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {schedule = {grid_cluster = 1 : i32}} {
^bb0(%p: !nv_tileaa.ptr<i32>):
  %x = nv_tileas.get_program_id {axis = 0 : i32} : i32
  nv_tileaa.return
}
