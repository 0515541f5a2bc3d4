// Masks of tiles in loops that are only looked at where they matter.
// run: tileaa-skip-full-tile-masks sm_100

// ---- a_causal_mask
nv_tileaa.func @k {
^bb0(%first: i32, %end: i32, %x: f32, %start: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %width = arith.constant 64 : i32
  %range = nv_tileaa.make_range : tensor<64xi32>
  %across = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<1x64xi32>
  %down = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<64x1xi32>
  %base = nv_tileaa.splat %first : (i32) -> tensor<64x1xi32>
  %row = arith.addi %base, %down : tensor<64x1xi32>
  %rows = nv_tileaa.broadcast %row : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %other = nv_tileaa.splat %x : (f32) -> tensor<64x64xf32>
  %sum = nv_tileaa.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb1(%i: i32, %total: tensor<64x64xf32>):
    %place = arith.muli %i, %width : i32
    %where = nv_tileaa.splat %place : (i32) -> tensor<1x64xi32>
    %column = arith.addi %where, %across : tensor<1x64xi32>
    %columns = nv_tileaa.broadcast %column : (tensor<1x64xi32>) -> tensor<64x64xi32>
    %seen = arith.cmpi %columns, %rows {predicate = "sle"} : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %masked = arith.select %seen, %total, %other : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileaa.continue %masked : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%first: i32, %end: i32, %x: f32, %start: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %width = arith.constant 64 : i32
  %range = nv_tileaa.make_range : tensor<64xi32>
  %across = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<1x64xi32>
  %down = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<64x1xi32>
  %base = nv_tileaa.splat %first : (i32) -> tensor<64x1xi32>
  %row = arith.addi %base, %down : tensor<64x1xi32>
  %rows = nv_tileaa.broadcast %row : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %other = nv_tileaa.splat %x : (f32) -> tensor<64x64xf32>
  %sum = nv_tileaa.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%i: i32, %total: tensor<64x64xf32>):
    %place = arith.muli %i, %width : i32
    %0 = arith.constant 2147483584 : i32
    %1 = arith.cmpi %place, %0 {predicate = "sle"} : (i32, i32) -> i1
    %2 = arith.constant 2147483584 : i32
    %3 = arith.cmpi %first, %2 {predicate = "sle"} : (i32, i32) -> i1
    %4 = arith.constant 63 : i32
    %5 = arith.addi %place, %4 : i32
    %6 = arith.cmpi %5, %first {predicate = "sle"} : (i32, i32) -> i1
    %7 = arith.andi %1, %3 : i1
    %8 = arith.andi %7, %6 : i1
    %masked = nv_tileaa.if %8 : (i1) -> tensor<64x64xf32> {
      nv_tileaa.yield %total : (tensor<64x64xf32>) -> ()
    } {
      %where = nv_tileaa.splat %place : (i32) -> tensor<1x64xi32>
      %column = arith.addi %where, %across : tensor<1x64xi32>
      %columns = nv_tileaa.broadcast %column : (tensor<1x64xi32>) -> tensor<64x64xi32>
      %seen = arith.cmpi %columns, %rows {predicate = "sle"} : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
      %masked_1 = arith.select %seen, %total, %other : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      nv_tileaa.yield %masked_1 : (tensor<64x64xf32>) -> ()
    }
    nv_tileaa.continue %masked : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- two_conditions_one_turned_around
nv_tileaa.func @k {
^bb0(%first: i32, %length: i32, %end: i32, %x: f32, %start: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %range = nv_tileaa.make_range : tensor<64xi32>
  %across = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<1x64xi32>
  %bound = nv_tileaa.splat %length : (i32) -> tensor<1x64xi32>
  %least = nv_tileaa.splat %first : (i32) -> tensor<1x64xi32>
  %other = nv_tileaa.splat %x : (f32) -> tensor<64x64xf32>
  %sum = nv_tileaa.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb1(%i: i32, %total: tensor<64x64xf32>):
    %where = nv_tileaa.splat %i : (i32) -> tensor<1x64xi32>
    %column = arith.addi %where, %across : tensor<1x64xi32>
    %inside = arith.cmpi %column, %bound {predicate = "slt"} : (tensor<1x64xi32>, tensor<1x64xi32>) -> tensor<1x64xi1>
    %behind = arith.cmpi %column, %least {predicate = "sge"} : (tensor<1x64xi32>, tensor<1x64xi32>) -> tensor<1x64xi1>
    %both = arith.andi %inside, %behind : tensor<1x64xi1>
    %seen = nv_tileaa.broadcast %both : (tensor<1x64xi1>) -> tensor<64x64xi1>
    %masked = arith.select %seen, %total, %other : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileaa.continue %masked : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%first: i32, %length: i32, %end: i32, %x: f32, %start: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %range = nv_tileaa.make_range : tensor<64xi32>
  %across = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<1x64xi32>
  %bound = nv_tileaa.splat %length : (i32) -> tensor<1x64xi32>
  %least = nv_tileaa.splat %first : (i32) -> tensor<1x64xi32>
  %other = nv_tileaa.splat %x : (f32) -> tensor<64x64xf32>
  %sum = nv_tileaa.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%i: i32, %total: tensor<64x64xf32>):
    %0 = arith.constant 2147483584 : i32
    %1 = arith.cmpi %i, %0 {predicate = "sle"} : (i32, i32) -> i1
    %2 = arith.constant 2147483647 : i32
    %3 = arith.cmpi %length, %2 {predicate = "sle"} : (i32, i32) -> i1
    %4 = arith.constant 63 : i32
    %5 = arith.addi %i, %4 : i32
    %6 = arith.cmpi %5, %length {predicate = "slt"} : (i32, i32) -> i1
    %7 = arith.constant 2147483647 : i32
    %8 = arith.cmpi %first, %7 {predicate = "sle"} : (i32, i32) -> i1
    %9 = arith.constant 2147483584 : i32
    %10 = arith.cmpi %i, %9 {predicate = "sle"} : (i32, i32) -> i1
    %11 = arith.cmpi %first, %i {predicate = "sle"} : (i32, i32) -> i1
    %12 = arith.andi %1, %3 : i1
    %13 = arith.andi %12, %6 : i1
    %14 = arith.andi %13, %8 : i1
    %15 = arith.andi %14, %10 : i1
    %16 = arith.andi %15, %11 : i1
    %masked = nv_tileaa.if %16 : (i1) -> tensor<64x64xf32> {
      nv_tileaa.yield %total : (tensor<64x64xf32>) -> ()
    } {
      %where = nv_tileaa.splat %i : (i32) -> tensor<1x64xi32>
      %column = arith.addi %where, %across : tensor<1x64xi32>
      %inside = arith.cmpi %column, %bound {predicate = "slt"} : (tensor<1x64xi32>, tensor<1x64xi32>) -> tensor<1x64xi1>
      %behind = arith.cmpi %column, %least {predicate = "sge"} : (tensor<1x64xi32>, tensor<1x64xi32>) -> tensor<1x64xi1>
      %both = arith.andi %inside, %behind : tensor<1x64xi1>
      %seen = nv_tileaa.broadcast %both : (tensor<1x64xi1>) -> tensor<64x64xi1>
      %masked_1 = arith.select %seen, %total, %other : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      nv_tileaa.yield %masked_1 : (tensor<64x64xf32>) -> ()
    }
    nv_tileaa.continue %masked : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- a_mask_that_memory_decides_stays
nv_tileaa.func @k {
^bb0(%end: i32, %x: f32, %places: tensor<64x64xi32>, %start: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %other = nv_tileaa.splat %x : (f32) -> tensor<64x64xf32>
  %sum = nv_tileaa.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb1(%i: i32, %total: tensor<64x64xf32>):
    %limits = nv_tileaa.splat %i : (i32) -> tensor<64x64xi32>
    %seen = arith.cmpi %places, %limits {predicate = "sle"} : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %masked = arith.select %seen, %total, %other : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileaa.continue %masked : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%end: i32, %x: f32, %places: tensor<64x64xi32>, %start: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %other = nv_tileaa.splat %x : (f32) -> tensor<64x64xf32>
  %sum = nv_tileaa.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%i: i32, %total: tensor<64x64xf32>):
    %limits = nv_tileaa.splat %i : (i32) -> tensor<64x64xi32>
    %seen = arith.cmpi %places, %limits {predicate = "sle"} : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %masked = arith.select %seen, %total, %other : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileaa.continue %masked : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- a_triangle_is_masked_alike_in_all_iterations
nv_tileaa.func @k {
^bb0(%end: i32, %x: f32, %start: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %range = nv_tileaa.make_range : tensor<64xi32>
  %across = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<1x64xi32>
  %down = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<64x1xi32>
  %rows = nv_tileaa.broadcast %down : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %columns = nv_tileaa.broadcast %across : (tensor<1x64xi32>) -> tensor<64x64xi32>
  %seen = arith.cmpi %rows, %columns {predicate = "sge"} : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
  %other = nv_tileaa.splat %x : (f32) -> tensor<64x64xf32>
  %sum = nv_tileaa.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb1(%i: i32, %total: tensor<64x64xf32>):
    %masked = arith.select %seen, %total, %other : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileaa.continue %masked : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%end: i32, %x: f32, %start: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %range = nv_tileaa.make_range : tensor<64xi32>
  %across = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<1x64xi32>
  %down = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<64x1xi32>
  %rows = nv_tileaa.broadcast %down : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %columns = nv_tileaa.broadcast %across : (tensor<1x64xi32>) -> tensor<64x64xi32>
  %seen = arith.cmpi %rows, %columns {predicate = "sge"} : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
  %other = nv_tileaa.splat %x : (f32) -> tensor<64x64xf32>
  %sum = nv_tileaa.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%i: i32, %total: tensor<64x64xf32>):
    %masked = arith.select %seen, %total, %other : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileaa.continue %masked : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- blocks_on_the_diagonal_are_masked
nv_tileaa.func @k {
^bb0(%row: i32, %end: i32, %x: f32, %start: tensor<64x64xf32>):
  %one = arith.constant 1 : i32
  %range = nv_tileaa.make_range : tensor<64xi32>
  %across = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<1x64xi32>
  %down = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<64x1xi32>
  %far = nv_tileaa.broadcast %across : (tensor<1x64xi32>) -> tensor<64x64xi32>
  %near = nv_tileaa.broadcast %down : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %first = nv_tileaa.splat %row : (i32) -> tensor<64x64xi32>
  %rows = arith.addi %first, %near : tensor<64x64xi32>
  %other = nv_tileaa.splat %x : (f32) -> tensor<64x64xf32>
  %sum = nv_tileaa.for %row, %end, %one initial(%start) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb1(%i: i32, %total: tensor<64x64xf32>):
    %here = nv_tileaa.splat %i : (i32) -> tensor<64x64xi32>
    %columns = arith.addi %here, %far : tensor<64x64xi32>
    %seen = arith.cmpi %rows, %columns {predicate = "sge"} : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %masked = arith.select %seen, %total, %other : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileaa.continue %masked : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%row: i32, %end: i32, %x: f32, %start: tensor<64x64xf32>):
  %one = arith.constant 1 : i32
  %range = nv_tileaa.make_range : tensor<64xi32>
  %across = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<1x64xi32>
  %down = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<64x1xi32>
  %far = nv_tileaa.broadcast %across : (tensor<1x64xi32>) -> tensor<64x64xi32>
  %near = nv_tileaa.broadcast %down : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %first = nv_tileaa.splat %row : (i32) -> tensor<64x64xi32>
  %rows = arith.addi %first, %near : tensor<64x64xi32>
  %other = nv_tileaa.splat %x : (f32) -> tensor<64x64xf32>
  %sum = nv_tileaa.for %row, %end, %one initial(%start) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%i: i32, %total: tensor<64x64xf32>):
    %here = nv_tileaa.splat %i : (i32) -> tensor<64x64xi32>
    %columns = arith.addi %here, %far : tensor<64x64xi32>
    %seen = arith.cmpi %rows, %columns {predicate = "sge"} : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %masked = arith.select %seen, %total, %other : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileaa.continue %masked : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- a_mask_that_names_what_is_masked_in_a_window
nv_tileaa.func @k {
^bb0(%first: i32, %end: i32, %x: f32, %start: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %width = arith.constant 64 : i32
  %range = nv_tileaa.make_range : tensor<64xi32>
  %across = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<1x64xi32>
  %down = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<64x1xi32>
  %base = nv_tileaa.splat %first : (i32) -> tensor<64x1xi32>
  %row = arith.addi %base, %down : tensor<64x1xi32>
  %rows = nv_tileaa.broadcast %row : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %window = arith.constant 99 : i32
  %windows = nv_tileaa.splat %window : (i32) -> tensor<64x1xi32>
  %begin = arith.subi %row, %windows : tensor<64x1xi32>
  %starts = nv_tileaa.broadcast %begin : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %nothing = arith.constant 0.0 : f32
  %zeros = nv_tileaa.splat %nothing : (f32) -> tensor<64x64xf32>
  %other = nv_tileaa.splat %x : (f32) -> tensor<64x64xf32>
  %sum = nv_tileaa.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb1(%i: i32, %total: tensor<64x64xf32>):
    %place = arith.muli %i, %width : i32
    %where = nv_tileaa.splat %place : (i32) -> tensor<1x64xi32>
    %column = arith.addi %where, %across : tensor<1x64xi32>
    %columns = nv_tileaa.broadcast %column : (tensor<1x64xi32>) -> tensor<64x64xi32>
    %late = arith.cmpi %columns, %rows {predicate = "sgt"} : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %early = arith.cmpi %columns, %starts {predicate = "slt"} : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %out = arith.ori %late, %early : tensor<64x64xi1>
    %mask = arith.select %out, %other, %zeros : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %masked = nv_tileaa.addf %total, %mask {rounding_mode = "nearest_even"} : tensor<64x64xf32>
    nv_tileaa.continue %masked : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%first: i32, %end: i32, %x: f32, %start: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %width = arith.constant 64 : i32
  %range = nv_tileaa.make_range : tensor<64xi32>
  %across = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<1x64xi32>
  %down = nv_tileaa.view %range : (tensor<64xi32>) -> tensor<64x1xi32>
  %base = nv_tileaa.splat %first : (i32) -> tensor<64x1xi32>
  %row = arith.addi %base, %down : tensor<64x1xi32>
  %rows = nv_tileaa.broadcast %row : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %window = arith.constant 99 : i32
  %windows = nv_tileaa.splat %window : (i32) -> tensor<64x1xi32>
  %begin = arith.subi %row, %windows : tensor<64x1xi32>
  %starts = nv_tileaa.broadcast %begin : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %nothing = arith.constant 0.000000e+00 : f32
  %zeros = nv_tileaa.splat %nothing : (f32) -> tensor<64x64xf32>
  %other = nv_tileaa.splat %x : (f32) -> tensor<64x64xf32>
  %sum = nv_tileaa.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%i: i32, %total: tensor<64x64xf32>):
    %place = arith.muli %i, %width : i32
    %0 = arith.constant 2147483584 : i32
    %1 = arith.cmpi %place, %0 {predicate = "sle"} : (i32, i32) -> i1
    %2 = arith.constant 2147483584 : i32
    %3 = arith.cmpi %first, %2 {predicate = "sle"} : (i32, i32) -> i1
    %4 = arith.constant 63 : i32
    %5 = arith.addi %place, %4 : i32
    %6 = arith.cmpi %5, %first {predicate = "sle"} : (i32, i32) -> i1
    %7 = arith.constant 2147483584 : i32
    %8 = arith.cmpi %place, %7 {predicate = "sle"} : (i32, i32) -> i1
    %9 = arith.constant -2147483549 : i32
    %10 = arith.cmpi %first, %9 {predicate = "sge"} : (i32, i32) -> i1
    %11 = arith.constant -36 : i32
    %12 = arith.addi %first, %11 : i32
    %13 = arith.cmpi %12, %place {predicate = "sle"} : (i32, i32) -> i1
    %14 = arith.andi %1, %3 : i1
    %15 = arith.andi %14, %6 : i1
    %16 = arith.andi %15, %8 : i1
    %17 = arith.andi %16, %10 : i1
    %18 = arith.andi %17, %13 : i1
    %masked = nv_tileaa.if %18 : (i1) -> tensor<64x64xf32> {
      %masked_1 = nv_tileaa.addf %total, %zeros {rounding_mode = "nearest_even"} : tensor<64x64xf32>
      nv_tileaa.yield %masked_1 : (tensor<64x64xf32>) -> ()
    } {
      %where = nv_tileaa.splat %place : (i32) -> tensor<1x64xi32>
      %column = arith.addi %where, %across : tensor<1x64xi32>
      %columns = nv_tileaa.broadcast %column : (tensor<1x64xi32>) -> tensor<64x64xi32>
      %late = arith.cmpi %columns, %rows {predicate = "sgt"} : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
      %early = arith.cmpi %columns, %starts {predicate = "slt"} : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
      %out = arith.ori %late, %early : tensor<64x64xi1>
      %mask = arith.select %out, %other, %zeros : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %masked_2 = nv_tileaa.addf %total, %mask {rounding_mode = "nearest_even"} : tensor<64x64xf32>
      nv_tileaa.yield %masked_2 : (tensor<64x64xf32>) -> ()
    }
    nv_tileaa.continue %masked : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}
