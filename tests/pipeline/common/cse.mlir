// Equal pure operations become one, unused ones go; anything with an effect stays.
// run: cse sm_90

// ---- repeated_constants_become_one
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<i32>):
  %a = arith.constant 1 : i32
  %b = arith.constant 1 : i32
  %c = arith.addi %a, %b : i32
  %u = nv_tileas.store %p, %c {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<i32>):
  %a = arith.constant 1 : i32
  %c = arith.addi %a, %a : i32
  %u = nv_tileas.store %p, %c {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- attributes_tell_operations_apart
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %x: f32):
  %a = nv_tileas.addf %x, %x {rounding_mode = "zero"} : f32
  %b = nv_tileas.addf %x, %x {rounding_mode = "nearest_even"} : f32
  %c = nv_tileas.mulf %a, %b {rounding_mode = "nearest_even"} : f32
  %u = nv_tileas.store %p, %c {mem_semantic = "weak"} : (!nv_tileaa.ptr<f32>, f32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %x: f32):
  %a = nv_tileas.addf %x, %x {rounding_mode = "zero"} : f32
  %b = nv_tileas.addf %x, %x {rounding_mode = "nearest_even"} : f32
  %c = nv_tileas.mulf %a, %b {rounding_mode = "nearest_even"} : f32
  %u = nv_tileas.store %p, %c {mem_semantic = "weak"} : (!nv_tileaa.ptr<f32>, f32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- inner_blocks_reuse_outer_values_but_not_the_reverse
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<i32>, %c: i1, %x: i32):
  %a = arith.addi %x, %x : i32
  nv_tileas.if %c : (i1) -> () {
    %b = arith.addi %x, %x : i32
    %d = arith.muli %b, %b : i32
    %u = nv_tileas.store %p, %d {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
    nv_tileas.yield
  } {
    nv_tileas.yield
  }
  %e = arith.muli %a, %a : i32
  %w = nv_tileas.store %p, %e {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<i32>, %c: i1, %x: i32):
  %a = arith.addi %x, %x : i32
  nv_tileas.if %c : (i1) -> () {
    %d = arith.muli %a, %a : i32
    %u = nv_tileas.store %p, %d {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
    nv_tileas.yield
  } {
    nv_tileas.yield
  }
  %e = arith.muli %a, %a : i32
  %w = nv_tileas.store %p, %e {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- loads_stay_and_unused_arithmetic_goes
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<i32>, %x: i32):
  %a = arith.addi %x, %x : i32
  %b = arith.muli %a, %a : i32
  %v, %t = nv_tileas.load %p {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>) -> (i32, !nv_tileaa.mem_token)
  %w, %u = nv_tileas.load %p {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>) -> (i32, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<i32>, %x: i32):
  %v, %t = nv_tileas.load %p {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>) -> (i32, !nv_tileaa.mem_token)
  %w, %u = nv_tileas.load %p {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>) -> (i32, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- a_loop_keeps_its_end
func.func @k(%n: index, %x: i32, %p: !llvm.ptr) {
  %zero = arith.constant 0 : index
  scf.for %i = %zero to %n step %n {
    %a = arith.addi %x, %x : i32
    llvm.store %a, %p : i32, !llvm.ptr
    scf.yield
  }
  func.return
}
// ==>
func.func @k(%n: index, %x: i32, %p: !llvm.ptr) {
  %zero = arith.constant 0 : index
  scf.for %i = %zero to %n step %n {
    %a = arith.addi %x, %x : i32
    llvm.store %a, %p : i32, !llvm.ptr
  }
  func.return
}
