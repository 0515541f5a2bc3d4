// Loops whose iterations a comparison of the counter guards begin and end where it holds.
// run: tileaa-narrow-guarded-loops sm_100

// ---- up_to_an_end
nv_tileaa.func @k {
^bb0(%a: tensor<16x16xf16>, %start: tensor<16x16xf32>, %p: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %n = arith.constant 8 : i32
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %sum = nv_tileaa.for %zero, %three, %one initial(%start) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb1(%i: i32, %acc: tensor<16x16xf32>):
    %place = arith.addi %own, %i : i32
    %is = arith.cmpi %place, %n {predicate = "slt"} : (i32, i32) -> i1
    %next = nv_tileaa.if %is : (i1) -> tensor<16x16xf32> {
      %dot = nv_tileaa.dot %a, %a, %acc : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
      nv_tileaa.yield %dot : (tensor<16x16xf32>) -> ()
    } {
      nv_tileaa.yield %acc : (tensor<16x16xf32>) -> ()
    }
    nv_tileaa.continue %next : (tensor<16x16xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<16x16xf16>, %start: tensor<16x16xf32>, %p: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %n = arith.constant 8 : i32
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %0 = arith.subi %n, %own : i32
  %1 = arith.minsi %three, %0 : i32
  %sum = nv_tileaa.for %zero, %1, %one initial(%start) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%i: i32, %acc: tensor<16x16xf32>):
    %place = arith.addi %own, %i : i32
    %is = arith.cmpi %place, %n {predicate = "slt"} : (i32, i32) -> i1
    %dot = nv_tileaa.dot %a, %a, %acc : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
    nv_tileaa.continue %dot : (tensor<16x16xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- from_a_start_to_an_end
nv_tileaa.func @k {
^bb0(%a: tensor<16x16xf16>, %start: tensor<16x16xf32>, %p: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %n = arith.constant 8 : i32
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %sum = nv_tileaa.for %zero, %three, %one initial(%start) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb1(%i: i32, %acc: tensor<16x16xf32>):
    %sum0 = arith.addi %own, %i : i32
    %place = arith.subi %sum0, %one : i32
    %first = arith.cmpi %zero, %place {predicate = "sle"} : (i32, i32) -> i1
    %is = nv_tileaa.if %first : (i1) -> i1 {
      %second = arith.cmpi %place, %n {predicate = "sle"} : (i32, i32) -> i1
      nv_tileaa.yield %second : (i1) -> ()
    } {
      nv_tileaa.yield %first : (i1) -> ()
    }
    %next = nv_tileaa.if %is : (i1) -> tensor<16x16xf32> {
      %dot = nv_tileaa.dot %a, %a, %acc : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
      nv_tileaa.yield %dot : (tensor<16x16xf32>) -> ()
    } {
      nv_tileaa.yield %acc : (tensor<16x16xf32>) -> ()
    }
    nv_tileaa.continue %next : (tensor<16x16xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<16x16xf16>, %start: tensor<16x16xf32>, %p: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %n = arith.constant 8 : i32
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %0 = arith.addi %zero, %one : i32
  %1 = arith.subi %0, %own : i32
  %2 = arith.maxsi %zero, %1 : i32
  %3 = arith.addi %n, %one : i32
  %4 = arith.subi %3, %own : i32
  %5 = arith.constant 1 : i32
  %6 = arith.addi %4, %5 : i32
  %7 = arith.minsi %three, %6 : i32
  %sum = nv_tileaa.for %2, %7, %one initial(%start) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%i: i32, %acc: tensor<16x16xf32>):
    %sum0 = arith.addi %own, %i : i32
    %place = arith.subi %sum0, %one : i32
    %first = arith.cmpi %zero, %place {predicate = "sle"} : (i32, i32) -> i1
    %dot = nv_tileaa.dot %a, %a, %acc : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
    nv_tileaa.continue %dot : (tensor<16x16xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- a_parameter_may_overflow
nv_tileaa.func @k {
^bb0(%a: tensor<16x16xf16>, %start: tensor<16x16xf32>, %p: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %n = arith.constant 8 : i32
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %sum = nv_tileaa.for %zero, %three, %one initial(%start) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb1(%i: i32, %acc: tensor<16x16xf32>):
    %place = arith.addi %p, %i : i32
    %is = arith.cmpi %place, %n {predicate = "slt"} : (i32, i32) -> i1
    %next = nv_tileaa.if %is : (i1) -> tensor<16x16xf32> {
      %dot = nv_tileaa.dot %a, %a, %acc : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
      nv_tileaa.yield %dot : (tensor<16x16xf32>) -> ()
    } {
      nv_tileaa.yield %acc : (tensor<16x16xf32>) -> ()
    }
    nv_tileaa.continue %next : (tensor<16x16xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<16x16xf16>, %start: tensor<16x16xf32>, %p: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %n = arith.constant 8 : i32
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %sum = nv_tileaa.for %zero, %three, %one initial(%start) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%i: i32, %acc: tensor<16x16xf32>):
    %place = arith.addi %p, %i : i32
    %is = arith.cmpi %place, %n {predicate = "slt"} : (i32, i32) -> i1
    %next = nv_tileaa.if %is : (i1) -> tensor<16x16xf32> {
      %dot = nv_tileaa.dot %a, %a, %acc : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
      nv_tileaa.yield %dot : (tensor<16x16xf32>) -> ()
    } {
      nv_tileaa.yield %acc : (tensor<16x16xf32>) -> ()
    }
    nv_tileaa.continue %next : (tensor<16x16xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- the_counter_is_subtracted
nv_tileaa.func @k {
^bb0(%a: tensor<16x16xf16>, %start: tensor<16x16xf32>, %p: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %n = arith.constant 8 : i32
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %sum = nv_tileaa.for %zero, %three, %one initial(%start) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb1(%i: i32, %acc: tensor<16x16xf32>):
    %place = arith.subi %own, %i : i32
    %is = arith.cmpi %place, %n {predicate = "slt"} : (i32, i32) -> i1
    %next = nv_tileaa.if %is : (i1) -> tensor<16x16xf32> {
      %dot = nv_tileaa.dot %a, %a, %acc : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
      nv_tileaa.yield %dot : (tensor<16x16xf32>) -> ()
    } {
      nv_tileaa.yield %acc : (tensor<16x16xf32>) -> ()
    }
    nv_tileaa.continue %next : (tensor<16x16xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<16x16xf16>, %start: tensor<16x16xf32>, %p: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %n = arith.constant 8 : i32
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %sum = nv_tileaa.for %zero, %three, %one initial(%start) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%i: i32, %acc: tensor<16x16xf32>):
    %place = arith.subi %own, %i : i32
    %is = arith.cmpi %place, %n {predicate = "slt"} : (i32, i32) -> i1
    %next = nv_tileaa.if %is : (i1) -> tensor<16x16xf32> {
      %dot = nv_tileaa.dot %a, %a, %acc : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
      nv_tileaa.yield %dot : (tensor<16x16xf32>) -> ()
    } {
      nv_tileaa.yield %acc : (tensor<16x16xf32>) -> ()
    }
    nv_tileaa.continue %next : (tensor<16x16xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- other_iterations_do_something
nv_tileaa.func @k {
^bb0(%a: tensor<16x16xf16>, %start: tensor<16x16xf32>, %p: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %n = arith.constant 8 : i32
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %sum = nv_tileaa.for %zero, %three, %one initial(%start) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb1(%i: i32, %acc: tensor<16x16xf32>):
    %place = arith.addi %own, %i : i32
    %is = arith.cmpi %place, %n {predicate = "slt"} : (i32, i32) -> i1
    %next = nv_tileaa.if %is : (i1) -> tensor<16x16xf32> {
      %dot = nv_tileaa.dot %a, %a, %acc : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
      nv_tileaa.yield %dot : (tensor<16x16xf32>) -> ()
    } {
      nv_tileaa.yield %start : (tensor<16x16xf32>) -> ()
    }
    nv_tileaa.continue %next : (tensor<16x16xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<16x16xf16>, %start: tensor<16x16xf32>, %p: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %n = arith.constant 8 : i32
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %sum = nv_tileaa.for %zero, %three, %one initial(%start) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%i: i32, %acc: tensor<16x16xf32>):
    %place = arith.addi %own, %i : i32
    %is = arith.cmpi %place, %n {predicate = "slt"} : (i32, i32) -> i1
    %next = nv_tileaa.if %is : (i1) -> tensor<16x16xf32> {
      %dot = nv_tileaa.dot %a, %a, %acc : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
      nv_tileaa.yield %dot : (tensor<16x16xf32>) -> ()
    } {
      nv_tileaa.yield %start : (tensor<16x16xf32>) -> ()
    }
    nv_tileaa.continue %next : (tensor<16x16xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- steps_of_three
nv_tileaa.func @k {
^bb0(%a: tensor<16x16xf16>, %start: tensor<16x16xf32>, %p: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %n = arith.constant 8 : i32
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %sum = nv_tileaa.for %zero, %three, %three initial(%start) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb1(%i: i32, %acc: tensor<16x16xf32>):
    %place = arith.addi %own, %i : i32
    %is = arith.cmpi %place, %n {predicate = "slt"} : (i32, i32) -> i1
    %next = nv_tileaa.if %is : (i1) -> tensor<16x16xf32> {
      %dot = nv_tileaa.dot %a, %a, %acc : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
      nv_tileaa.yield %dot : (tensor<16x16xf32>) -> ()
    } {
      nv_tileaa.yield %acc : (tensor<16x16xf32>) -> ()
    }
    nv_tileaa.continue %next : (tensor<16x16xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<16x16xf16>, %start: tensor<16x16xf32>, %p: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %n = arith.constant 8 : i32
  %own = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %sum = nv_tileaa.for %zero, %three, %three initial(%start) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%i: i32, %acc: tensor<16x16xf32>):
    %place = arith.addi %own, %i : i32
    %is = arith.cmpi %place, %n {predicate = "slt"} : (i32, i32) -> i1
    %next = nv_tileaa.if %is : (i1) -> tensor<16x16xf32> {
      %dot = nv_tileaa.dot %a, %a, %acc : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
      nv_tileaa.yield %dot : (tensor<16x16xf32>) -> ()
    } {
      nv_tileaa.yield %acc : (tensor<16x16xf32>) -> ()
    }
    nv_tileaa.continue %next : (tensor<16x16xf32>) -> ()
  }
  nv_tileaa.return
}
