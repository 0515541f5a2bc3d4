// Loops and branches: what they carry are arguments of blocks.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- a_loop_with_a_count
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%n: i32, %p: !nv_tileaa.ptr<i32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %zero, %n, %one initial(%zero) : (i32, i32, i32, i32) -> i32 {
  ^bb0(%i: i32, %s: i32):
    %next = arith.addi %s, %i : i32
    nv_tileas.continue %next : (i32) -> ()
  }
  %t = nv_tileas.store %p, %sum {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 8, \22role\22: \22pointer\22, \22argument\22: 1, \22element\22: \22i32\22, \22access\22: \22stored\22}], \22param_sizes\22: [4, 8], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22pointer\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: i32, %a1: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    %1 = llvm.mlir.constant(1 : i32) : i32
    llvm.br ^bb1(%0, %0 : i32, i32)
  ^bb1(%2: i32, %3: i32):
    %4 = llvm.icmp "slt" %2, %a0 : i32
    llvm.cond_br %4, ^bb2, ^bb4
  ^bb2:
    %5 = llvm.add %3, %2 : i32
    llvm.br ^bb3
  ^bb3:
    %6 = llvm.add %2, %1 : i32
    llvm.br ^bb1(%6, %5 : i32, i32)
  ^bb4:
    nvvm.st %a1 values(%3) {space = "global"} : (!llvm.ptr<1>, i32) -> ()
    llvm.return
  }
}

// ---- a_branch_with_a_result
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%c: i1, %x: i32, %p: !nv_tileaa.ptr<i32>):
  %seven = arith.constant 7 : i32
  %r = nv_tileas.if %c : (i1) -> i32 {
    %y = arith.muli %x, %x : i32
    nv_tileas.yield %y : (i32) -> ()
  } {
    nv_tileas.yield %seven : (i32) -> ()
  }
  %t = nv_tileas.store %p, %r {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 4, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 8, \22role\22: \22pointer\22, \22argument\22: 2, \22element\22: \22i32\22, \22access\22: \22stored\22}], \22param_sizes\22: [1, 4, 8], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22pointer\22, \22param\22: 2}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: i8, %a1: i32, %a2: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a0, %0 : i8
    %2 = llvm.mlir.constant(7 : i32) : i32
    llvm.cond_br %1, ^bb1, ^bb2
  ^bb1:
    %3 = llvm.mul %a1, %a1 : i32
    llvm.br ^bb3(%3 : i32)
  ^bb2:
    llvm.br ^bb3(%2 : i32)
  ^bb3(%4: i32):
    nvvm.st %a2 values(%4) {space = "global"} : (!llvm.ptr<1>, i32) -> ()
    llvm.return
  }
}

// ---- branches_that_one_iteration_takes
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%n: i32, %x: i32, %p: !nv_tileaa.ptr<i32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %zero, %n, %one initial(%zero) : (i32, i32, i32, i32) -> i32 {
  ^bb0(%i: i32, %s: i32):
    %equal = arith.cmpi %i, %x {predicate = "eq"} : (i32, i32) -> i1
    %a = nv_tileas.if %equal : (i1) -> i32 {
      nv_tileas.yield %one : (i32) -> ()
    } {
      nv_tileas.yield %s : (i32) -> ()
    }
    %other = arith.cmpi %x, %i {predicate = "ne"} : (i32, i32) -> i1
    %b = nv_tileas.if %other : (i1) -> i32 {
      nv_tileas.yield %a : (i32) -> ()
    } {
      nv_tileas.yield %n : (i32) -> ()
    }
    %less = arith.cmpi %i, %x {predicate = "slt"} : (i32, i32) -> i1
    %c = nv_tileas.if %less : (i1) -> i32 {
      nv_tileas.yield %b : (i32) -> ()
    } {
      nv_tileas.yield %x : (i32) -> ()
    }
    %moved = arith.cmpi %i, %c {predicate = "eq"} : (i32, i32) -> i1
    %d = nv_tileas.if %moved : (i1) -> i32 {
      nv_tileas.yield %c : (i32) -> ()
    } {
      nv_tileas.yield %i : (i32) -> ()
    }
    nv_tileas.continue %d : (i32) -> ()
  }
  %t = nv_tileas.store %p, %sum {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 4, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 8, \22role\22: \22pointer\22, \22argument\22: 2, \22element\22: \22i32\22, \22access\22: \22stored\22}], \22param_sizes\22: [4, 4, 8], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22pointer\22, \22param\22: 2}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: i32, %a1: i32, %a2: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    %1 = llvm.mlir.constant(1 : i32) : i32
    llvm.br ^bb1(%0, %0 : i32, i32)
  ^bb1(%2: i32, %3: i32):
    %4 = llvm.icmp "slt" %2, %a0 : i32
    llvm.cond_br %4, ^bb2, ^bb16
  ^bb2:
    %5 = llvm.icmp "eq" %2, %a1 : i32
    llvm.cond_br %5, ^bb3, ^bb4 {branch_weights = array<i32: 1, 2000>}
  ^bb3:
    llvm.br ^bb5(%1 : i32)
  ^bb4:
    llvm.br ^bb5(%3 : i32)
  ^bb5(%6: i32):
    %7 = llvm.icmp "ne" %a1, %2 : i32
    llvm.cond_br %7, ^bb6, ^bb7 {branch_weights = array<i32: 2000, 1>}
  ^bb6:
    llvm.br ^bb8(%6 : i32)
  ^bb7:
    llvm.br ^bb8(%a0 : i32)
  ^bb8(%8: i32):
    %9 = llvm.icmp "slt" %2, %a1 : i32
    llvm.cond_br %9, ^bb9, ^bb10
  ^bb9:
    llvm.br ^bb11(%8 : i32)
  ^bb10:
    llvm.br ^bb11(%a1 : i32)
  ^bb11(%10: i32):
    %11 = llvm.icmp "eq" %2, %10 : i32
    llvm.cond_br %11, ^bb12, ^bb13
  ^bb12:
    llvm.br ^bb14(%10 : i32)
  ^bb13:
    llvm.br ^bb14(%2 : i32)
  ^bb14(%12: i32):
    llvm.br ^bb15
  ^bb15:
    %13 = llvm.add %2, %1 : i32
    llvm.br ^bb1(%13, %12 : i32, i32)
  ^bb16:
    nvvm.st %a2 values(%3) {space = "global"} : (!llvm.ptr<1>, i32) -> ()
    llvm.return
  }
}

// ---- a_loop_that_is_left_from_within
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%x: i32, %p: !nv_tileaa.ptr<i32>):
  %one = arith.constant 1 : i32
  %r = nv_tileas.loop %x : (i32) -> i32 {
  ^bb0(%y: i32):
    %c = arith.cmpi %y, %one {predicate = "sle"} : (i32, i32) -> i1
    nv_tileas.if %c : (i1) -> () {
      nv_tileas.break %y : (i32) -> ()
    } {
      nv_tileas.yield
    }
    %less = arith.shrui %y, %one : i32
    nv_tileas.continue %less : (i32) -> ()
  }
  %t = nv_tileas.store %p, %r {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 8, \22role\22: \22pointer\22, \22argument\22: 1, \22element\22: \22i32\22, \22access\22: \22stored\22}], \22param_sizes\22: [4, 8], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22pointer\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: i32, %a1: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(1 : i32) : i32
    llvm.br ^bb1(%a0 : i32)
  ^bb1(%1: i32):
    %2 = llvm.icmp "sle" %1, %0 : i32
    llvm.cond_br %2, ^bb2, ^bb3
  ^bb2:
    llvm.br ^bb6
  ^bb3:
    llvm.br ^bb4
  ^bb4:
    %3 = llvm.lshr %1, %0 : i32
    llvm.br ^bb5
  ^bb5:
    llvm.br ^bb1(%3 : i32)
  ^bb6:
    nvvm.st %a1 values(%1) {space = "global"} : (!llvm.ptr<1>, i32) -> ()
    llvm.return
  }
}

// ---- a_return_from_inside_a_branch
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%c: i1, %x: i32, %p: !nv_tileaa.ptr<i32>):
  nv_tileas.if %c : (i1) -> () {
    nv_tileaa.return
  } {
    nv_tileas.yield
  }
  %t = nv_tileas.store %p, %x {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 4, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 8, \22role\22: \22pointer\22, \22argument\22: 2, \22element\22: \22i32\22, \22access\22: \22stored\22}], \22param_sizes\22: [1, 4, 8], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22pointer\22, \22param\22: 2}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: i8, %a1: i32, %a2: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a0, %0 : i8
    llvm.cond_br %1, ^bb1, ^bb2
  ^bb1:
    llvm.return
  ^bb2:
    llvm.br ^bb3
  ^bb3:
    nvvm.st %a2 values(%a1) {space = "global"} : (!llvm.ptr<1>, i32) -> ()
    llvm.return
  }
}

// ---- an_iteration_that_ends_early_counts_for_itself
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%n: i32, %p: !nv_tileaa.ptr<i32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %sum = nv_tileas.for %zero, %n, %one initial(%zero) : (i32, i32, i32, i32) -> i32 {
  ^bb0(%i: i32, %s: i32):
    %early = arith.cmpi %s, %two {predicate = "sge"} : (i32, i32) -> i1
    nv_tileas.if %early : (i1) -> () {
      nv_tileas.continue %s : (i32) -> ()
    } {
      nv_tileas.yield : () -> ()
    }
    %next = arith.addi %i, %one : i32
    nv_tileas.continue %next : (i32) -> ()
  }
  %t = nv_tileas.store %p, %sum {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 8, \22role\22: \22pointer\22, \22argument\22: 1, \22element\22: \22i32\22, \22access\22: \22stored\22}], \22param_sizes\22: [4, 8], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22pointer\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: i32, %a1: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    %1 = llvm.mlir.constant(2 : i32) : i32
    %2 = llvm.mlir.constant(1 : i32) : i32
    llvm.br ^bb1(%0, %0 : i32, i32)
  ^bb1(%3: i32, %4: i32):
    %5 = llvm.icmp "slt" %3, %a0 : i32
    llvm.cond_br %5, ^bb2, ^bb7
  ^bb2:
    %6 = llvm.icmp "sge" %4, %1 : i32
    llvm.cond_br %6, ^bb3, ^bb4
  ^bb3:
    llvm.br ^bb6(%4 : i32)
  ^bb4:
    llvm.br ^bb5
  ^bb5:
    %7 = llvm.add %3, %2 : i32
    llvm.br ^bb6(%7 : i32)
  ^bb6(%8: i32):
    %9 = llvm.add %3, %2 : i32
    llvm.br ^bb1(%9, %8 : i32, i32)
  ^bb7:
    nvvm.st %a1 values(%4) {space = "global"} : (!llvm.ptr<1>, i32) -> ()
    llvm.return
  }
}
