// Loops of one trip are their iteration where a kernel has no others, and where they continue the accumulator of a loop around them.
// run: tileas-inline-single-iterations sm_90

// ---- nested
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %four = arith.constant 4 : i32
  %t = nv_tileas.splat %zero : (i32) -> tensor<64xi32>
  %a = nv_tileas.for %zero, %three, %four initial(%t) : (i32, i32, i32, tensor<64xi32>) -> tensor<64xi32> {
  ^bb1(%i: i32, %x: tensor<64xi32>):
    %b = nv_tileas.for %three, %four, %one initial(%x) : (i32, i32, i32, tensor<64xi32>) -> tensor<64xi32> {
    ^bb2(%j: i32, %y: tensor<64xi32>):
      %ij = arith.addi %i, %j : i32
      %v = nv_tileas.splat %ij : (i32) -> tensor<64xi32>
      %u = arith.addi %y, %v : tensor<64xi32>
      nv_tileas.continue %u : (tensor<64xi32>) -> ()
    }
    nv_tileas.continue %b : (tensor<64xi32>) -> ()
  }
  %said = nv_tileas.print values(%a) {format = "%d"} : (tensor<64xi32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %four = arith.constant 4 : i32
  %t = nv_tileas.splat %zero : (i32) -> tensor<64xi32>
  %0 = arith.constant 0 : i32
  %1 = arith.constant 3 : i32
  %ij = arith.addi %0, %1 : i32
  %v = nv_tileas.splat %ij : (i32) -> tensor<64xi32>
  %u = arith.addi %t, %v : tensor<64xi32>
  %said = nv_tileas.print values(%u) {format = "%d"} : (tensor<64xi32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- not_beside_a_loop_of_several_trips
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %t = nv_tileas.splat %zero : (i32) -> tensor<64xi32>
  %a = nv_tileas.for %zero, %one, %one initial(%t) : (i32, i32, i32, tensor<64xi32>) -> tensor<64xi32> {
  ^bb1(%i: i32, %x: tensor<64xi32>):
    %u = arith.addi %x, %x : tensor<64xi32>
    nv_tileas.continue %u : (tensor<64xi32>) -> ()
  }
  %b = nv_tileas.for %zero, %three, %one initial(%a) : (i32, i32, i32, tensor<64xi32>) -> tensor<64xi32> {
  ^bb2(%j: i32, %y: tensor<64xi32>):
    %v = arith.addi %y, %y : tensor<64xi32>
    nv_tileas.continue %v : (tensor<64xi32>) -> ()
  }
  %said = nv_tileas.print values(%b) {format = "%d"} : (tensor<64xi32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %t = nv_tileas.splat %zero : (i32) -> tensor<64xi32>
  %a = nv_tileas.for %zero, %one, %one initial(%t) : (i32, i32, i32, tensor<64xi32>) -> tensor<64xi32> {
  ^bb0(%i: i32, %x: tensor<64xi32>):
    %u = arith.addi %x, %x : tensor<64xi32>
    nv_tileas.continue %u : (tensor<64xi32>) -> ()
  }
  %b = nv_tileas.for %zero, %three, %one initial(%a) : (i32, i32, i32, tensor<64xi32>) -> tensor<64xi32> {
  ^bb0(%j: i32, %y: tensor<64xi32>):
    %v = arith.addi %y, %y : tensor<64xi32>
    nv_tileas.continue %v : (tensor<64xi32>) -> ()
  }
  %said = nv_tileas.print values(%b) {format = "%d"} : (tensor<64xi32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- within_a_loop_with_a_dot
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32, %l: tensor<64x64xf16>, %r: tensor<64x64xf16>, %acc: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = nv_tileas.for %zero, %n, %one initial(%acc) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb1(%i: i32, %x: tensor<64x64xf32>):
    %b = nv_tileas.for %zero, %one, %one initial(%x) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb2(%j: i32, %y: tensor<64x64xf32>):
      %d = nv_tileas.dot %l, %r, %y : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
      nv_tileas.continue %d : (tensor<64x64xf32>) -> ()
    }
    nv_tileas.continue %b : (tensor<64x64xf32>) -> ()
  }
  %said = nv_tileas.print values(%a) {format = "%d"} : (tensor<64x64xf32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32, %l: tensor<64x64xf16>, %r: tensor<64x64xf16>, %acc: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = nv_tileas.for %zero, %n, %one initial(%acc) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%i: i32, %x: tensor<64x64xf32>):
    %0 = arith.constant 0 : i32
    %d = nv_tileas.dot %l, %r, %x : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileas.continue %d : (tensor<64x64xf32>) -> ()
  }
  %said = nv_tileas.print values(%a) {format = "%d"} : (tensor<64x64xf32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- a_dot_of_each_iteration_keeps_its_loop
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32, %l: tensor<64x64xf16>, %r: tensor<64x64xf16>, %acc: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  nv_tileas.for %zero, %n, %one initial() : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %b = nv_tileas.for %zero, %one, %one initial(%acc) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb2(%j: i32, %y: tensor<64x64xf32>):
      %d = nv_tileas.dot %l, %r, %y : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
      nv_tileas.continue %d : (tensor<64x64xf32>) -> ()
    }
    %said = nv_tileas.print values(%b) {format = "%d"} : (tensor<64x64xf32>) -> !nv_tileaa.mem_token
    nv_tileas.continue : () -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32, %l: tensor<64x64xf16>, %r: tensor<64x64xf16>, %acc: tensor<64x64xf32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  nv_tileas.for %zero, %n, %one : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    %b = nv_tileas.for %zero, %one, %one initial(%acc) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%j: i32, %y: tensor<64x64xf32>):
      %d = nv_tileas.dot %l, %r, %y : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
      nv_tileas.continue %d : (tensor<64x64xf32>) -> ()
    }
    %said = nv_tileas.print values(%b) {format = "%d"} : (tensor<64x64xf32>) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileaa.return
}
