// What loops and branches pass on, and nothing needs.
// run: tileaa-drop-unused-values sm_100

// ---- a_carried_value_that_only_its_next_one_needs
nv_tileaa.func @k {
^bb0(%n: i32, %x: tensor<8xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a, %b, %c = nv_tileaa.for %zero, %n, %one initial(%x, %x, %x) : (i32, i32, i32, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  ^bb1(%i: i32, %p: tensor<8xf32>, %q: tensor<8xf32>, %r: tensor<8xf32>):
    %unused = nv_tileaa.mulf %p, %q {rounding_mode = "nearest_even"} : tensor<8xf32>
    %next = nv_tileaa.addf %q, %r {rounding_mode = "nearest_even"} : tensor<8xf32>
    %other = nv_tileaa.mulf %r, %x {rounding_mode = "nearest_even"} : tensor<8xf32>
    nv_tileaa.continue %unused, %next, %other : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> ()
  }
  %twice = nv_tileaa.addf %a, %a {rounding_mode = "nearest_even"} : tensor<8xf32>
  nv_tileaa.return %b : (tensor<8xf32>) -> ()
}
// ==>
nv_tileaa.func @k {
^bb0(%n: i32, %x: tensor<8xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b, %c = nv_tileaa.for %zero, %n, %one initial(%x, %x) : (i32, i32, i32, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%i: i32, %q: tensor<8xf32>, %r: tensor<8xf32>):
    %next = nv_tileaa.addf %q, %r {rounding_mode = "nearest_even"} : tensor<8xf32>
    %other = nv_tileaa.mulf %r, %x {rounding_mode = "nearest_even"} : tensor<8xf32>
    nv_tileaa.continue %next, %other : (tensor<8xf32>, tensor<8xf32>) -> ()
  }
  nv_tileaa.return %b : (tensor<8xf32>) -> ()
}

// ---- results_of_branches_and_of_a_loop_that_breaks
nv_tileaa.func @k {
^bb0(%c: i1, %x: tensor<8xf32>):
  %a, %b = nv_tileaa.loop %x, %x : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb1(%p: tensor<8xf32>, %q: tensor<8xf32>):
    %s, %t = nv_tileaa.if %c : (i1) -> (tensor<8xf32>, tensor<8xf32>) {
      %double = nv_tileaa.addf %p, %p {rounding_mode = "nearest_even"} : tensor<8xf32>
      %square = nv_tileaa.mulf %q, %q {rounding_mode = "nearest_even"} : tensor<8xf32>
      nv_tileaa.yield %double, %square : (tensor<8xf32>, tensor<8xf32>) -> ()
    } {
      nv_tileaa.break %p, %q : (tensor<8xf32>, tensor<8xf32>) -> ()
    }
    nv_tileaa.continue %s, %t : (tensor<8xf32>, tensor<8xf32>) -> ()
  }
  nv_tileaa.return %a : (tensor<8xf32>) -> ()
}
// ==>
nv_tileaa.func @k {
^bb0(%c: i1, %x: tensor<8xf32>):
  %a = nv_tileaa.loop %x : tensor<8xf32> {
  ^bb0(%p: tensor<8xf32>):
    %s = nv_tileaa.if %c : (i1) -> tensor<8xf32> {
      %double = nv_tileaa.addf %p, %p {rounding_mode = "nearest_even"} : tensor<8xf32>
      nv_tileaa.yield %double : (tensor<8xf32>) -> ()
    } {
      nv_tileaa.break %p : (tensor<8xf32>) -> ()
    }
    nv_tileaa.continue %s : (tensor<8xf32>) -> ()
  }
  nv_tileaa.return %a : (tensor<8xf32>) -> ()
}

// ---- a_condition_needs_a_value
nv_tileaa.func @k {
^bb0(%n: i32, %x: tensor<8xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a, %b = nv_tileaa.for %zero, %n, %one initial(%n, %x) : (i32, i32, i32, i32, tensor<8xf32>) -> (i32, tensor<8xf32>) {
  ^bb1(%i: i32, %m: i32, %p: tensor<8xf32>):
    %odd = arith.cmpi %m, %one {predicate = "eq"} : (i32, i32) -> i1
    %q = nv_tileaa.if %odd : (i1) -> tensor<8xf32> {
      nv_tileaa.yield %p : (tensor<8xf32>) -> ()
    } {
      nv_tileaa.print {format = "even"} : !nv_tileaa.mem_token
      nv_tileaa.yield %x : (tensor<8xf32>) -> ()
    }
    %less = arith.subi %m, %one : i32
    nv_tileaa.continue %less, %q : (i32, tensor<8xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%n: i32, %x: tensor<8xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = nv_tileaa.for %zero, %n, %one initial(%n) : i32 {
  ^bb0(%i: i32, %m: i32):
    %odd = arith.cmpi %m, %one {predicate = "eq"} : (i32, i32) -> i1
    nv_tileaa.if %odd : (i1) -> () {
      nv_tileaa.yield
    } {
      %0 = nv_tileaa.print {format = "even"} : !nv_tileaa.mem_token
      nv_tileaa.yield
    }
    %less = arith.subi %m, %one : i32
    nv_tileaa.continue %less : (i32) -> ()
  }
  nv_tileaa.return
}

// ---- an_inner_loop_begins_with_a_value_that_is_not_needed
nv_tileaa.func @k {
^bb0(%n: i32, %x: tensor<8xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = nv_tileaa.for %zero, %n, %one initial(%x) : (i32, i32, i32, tensor<8xf32>) -> tensor<8xf32> {
  ^bb1(%i: i32, %p: tensor<8xf32>):
    %double = nv_tileaa.addf %p, %p {rounding_mode = "nearest_even"} : tensor<8xf32>
    %b = nv_tileaa.for %zero, %n, %one initial(%double) : (i32, i32, i32, tensor<8xf32>) -> tensor<8xf32> {
    ^bb2(%j: i32, %q: tensor<8xf32>):
      %square = nv_tileaa.mulf %q, %q {rounding_mode = "nearest_even"} : tensor<8xf32>
      nv_tileaa.continue %square : (tensor<8xf32>) -> ()
    }
    nv_tileaa.continue %b : (tensor<8xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%n: i32, %x: tensor<8xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  nv_tileaa.for %zero, %n, %one : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    nv_tileaa.for %zero, %n, %one : (i32, i32, i32) -> () {
    ^bb0(%j: i32):
      nv_tileaa.continue
    }
    nv_tileaa.continue
  }
  nv_tileaa.return
}

// ---- a_loop_that_breaks_has_results_for_what_it_carries
nv_tileaa.func @k {
^bb0(%n: i32, %x: tensor<8xf32>):
  %one = arith.constant 1 : i32
  %a, %b, %c = nv_tileaa.loop %x, %n, %x : (tensor<8xf32>, i32, tensor<8xf32>) -> (tensor<8xf32>, i32, tensor<8xf32>) {
  ^bb1(%p: tensor<8xf32>, %m: i32, %q: tensor<8xf32>):
    %done = arith.cmpi %m, %one {predicate = "slt"} : (i32, i32) -> i1
    nv_tileaa.if %done : (i1) -> () {
      nv_tileaa.break %p, %m, %q : (tensor<8xf32>, i32, tensor<8xf32>) -> ()
    } {
      nv_tileaa.yield
    }
    %less = arith.subi %m, %one : i32
    %square = nv_tileaa.mulf %q, %q {rounding_mode = "nearest_even"} : tensor<8xf32>
    nv_tileaa.continue %x, %less, %square : (tensor<8xf32>, i32, tensor<8xf32>) -> ()
  }
  nv_tileaa.return %a : (tensor<8xf32>) -> ()
}
// ==>
nv_tileaa.func @k {
^bb0(%n: i32, %x: tensor<8xf32>):
  %one = arith.constant 1 : i32
  %a, %b = nv_tileaa.loop %x, %n : (tensor<8xf32>, i32) -> (tensor<8xf32>, i32) {
  ^bb0(%p: tensor<8xf32>, %m: i32):
    %done = arith.cmpi %m, %one {predicate = "slt"} : (i32, i32) -> i1
    nv_tileaa.if %done : (i1) -> () {
      nv_tileaa.break %p, %m : (tensor<8xf32>, i32) -> ()
    } {
      nv_tileaa.yield
    }
    %less = arith.subi %m, %one : i32
    nv_tileaa.continue %x, %less : (tensor<8xf32>, i32) -> ()
  }
  nv_tileaa.return %a : (tensor<8xf32>) -> ()
}
