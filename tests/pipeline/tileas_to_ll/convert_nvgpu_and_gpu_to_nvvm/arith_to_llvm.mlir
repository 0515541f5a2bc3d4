// Arithmetic of scalars and vectors, operation by operation.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- integers
// seed: nvgpu-gpu-to-nvvm arith-bank
gpu.module @m {
  llvm.func @k(%a: i32, %b: i32, %p: !llvm.ptr) {
    %c = arith.constant 7 : i32
    llvm.store %c, %p : i32, !llvm.ptr
    %addi = arith.addi %a, %b : i32
    llvm.store %addi, %p : i32, !llvm.ptr
    %subi = arith.subi %a, %b : i32
    llvm.store %subi, %p : i32, !llvm.ptr
    %muli = arith.muli %a, %b : i32
    llvm.store %muli, %p : i32, !llvm.ptr
    %divsi = arith.divsi %a, %b : i32
    llvm.store %divsi, %p : i32, !llvm.ptr
    %divui = arith.divui %a, %b : i32
    llvm.store %divui, %p : i32, !llvm.ptr
    %remsi = arith.remsi %a, %b : i32
    llvm.store %remsi, %p : i32, !llvm.ptr
    %remui = arith.remui %a, %b : i32
    llvm.store %remui, %p : i32, !llvm.ptr
    %andi = arith.andi %a, %b : i32
    llvm.store %andi, %p : i32, !llvm.ptr
    %ori = arith.ori %a, %b : i32
    llvm.store %ori, %p : i32, !llvm.ptr
    %xori = arith.xori %a, %b : i32
    llvm.store %xori, %p : i32, !llvm.ptr
    %shli = arith.shli %a, %b : i32
    llvm.store %shli, %p : i32, !llvm.ptr
    %shrui = arith.shrui %a, %b : i32
    llvm.store %shrui, %p : i32, !llvm.ptr
    %shrsi = arith.shrsi %a, %b : i32
    llvm.store %shrsi, %p : i32, !llvm.ptr
    %minsi = arith.minsi %a, %b : i32
    llvm.store %minsi, %p : i32, !llvm.ptr
    %maxsi = arith.maxsi %a, %b : i32
    llvm.store %maxsi, %p : i32, !llvm.ptr
    %minui = arith.minui %a, %b : i32
    llvm.store %minui, %p : i32, !llvm.ptr
    %maxui = arith.maxui %a, %b : i32
    llvm.store %maxui, %p : i32, !llvm.ptr
    %less = arith.cmpi ult, %a, %b : i32
    %chosen = arith.select %less, %a, %b : i32
    llvm.store %chosen, %p : i32, !llvm.ptr
    llvm.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: i32, %b: i32, %p: !llvm.ptr) {
    %c = llvm.mlir.constant(7 : i32) : i32
    llvm.store %c, %p : i32, !llvm.ptr
    %addi = llvm.add %a, %b : i32
    llvm.store %addi, %p : i32, !llvm.ptr
    %subi = llvm.sub %a, %b : i32
    llvm.store %subi, %p : i32, !llvm.ptr
    %muli = llvm.mul %a, %b : i32
    llvm.store %muli, %p : i32, !llvm.ptr
    %divsi = llvm.sdiv %a, %b : i32
    llvm.store %divsi, %p : i32, !llvm.ptr
    %divui = llvm.udiv %a, %b : i32
    llvm.store %divui, %p : i32, !llvm.ptr
    %remsi = llvm.srem %a, %b : i32
    llvm.store %remsi, %p : i32, !llvm.ptr
    %remui = llvm.urem %a, %b : i32
    llvm.store %remui, %p : i32, !llvm.ptr
    %andi = llvm.and %a, %b : i32
    llvm.store %andi, %p : i32, !llvm.ptr
    %ori = llvm.or %a, %b : i32
    llvm.store %ori, %p : i32, !llvm.ptr
    %xori = llvm.xor %a, %b : i32
    llvm.store %xori, %p : i32, !llvm.ptr
    %shli = llvm.shl %a, %b : i32
    llvm.store %shli, %p : i32, !llvm.ptr
    %shrui = llvm.lshr %a, %b : i32
    llvm.store %shrui, %p : i32, !llvm.ptr
    %shrsi = llvm.ashr %a, %b : i32
    llvm.store %shrsi, %p : i32, !llvm.ptr
    %minsi = nvvm.intr.smin %a, %b : i32
    llvm.store %minsi, %p : i32, !llvm.ptr
    %maxsi = nvvm.intr.smax %a, %b : i32
    llvm.store %maxsi, %p : i32, !llvm.ptr
    %minui = nvvm.intr.umin %a, %b : i32
    llvm.store %minui, %p : i32, !llvm.ptr
    %maxui = nvvm.intr.umax %a, %b : i32
    llvm.store %maxui, %p : i32, !llvm.ptr
    %less = llvm.icmp "ult" %a, %b : i32
    %chosen = llvm.select %less, %a, %b : i1, i32
    llvm.store %chosen, %p : i32, !llvm.ptr
    llvm.return
  }
}

// ---- floats
// seed: nvgpu-gpu-to-nvvm arith-bank
gpu.module @m {
  llvm.func @k(%a: f32, %b: f32, %p: !llvm.ptr) {
    %c = arith.constant 1.5 : f32
    llvm.store %c, %p : f32, !llvm.ptr
    %addf = arith.addf %a, %b : f32
    llvm.store %addf, %p : f32, !llvm.ptr
    %subf = arith.subf %a, %b : f32
    llvm.store %subf, %p : f32, !llvm.ptr
    %mulf = arith.mulf %a, %b : f32
    llvm.store %mulf, %p : f32, !llvm.ptr
    %divf = arith.divf %a, %b : f32
    llvm.store %divf, %p : f32, !llvm.ptr
    %minimumf = arith.minimumf %a, %b : f32
    llvm.store %minimumf, %p : f32, !llvm.ptr
    %maximumf = arith.maximumf %a, %b : f32
    llvm.store %maximumf, %p : f32, !llvm.ptr
    %negated = arith.negf %a : f32
    llvm.store %negated, %p : f32, !llvm.ptr
    %less = arith.cmpf olt, %a, %b : f32
    %chosen = arith.select %less, %a, %b : f32
    llvm.store %chosen, %p : f32, !llvm.ptr
    llvm.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: f32, %b: f32, %p: !llvm.ptr) {
    %c = llvm.mlir.constant(1.500000e+00 : f32) : f32
    llvm.store %c, %p : f32, !llvm.ptr
    %addf = llvm.fadd %a, %b : f32
    llvm.store %addf, %p : f32, !llvm.ptr
    %subf = llvm.fsub %a, %b : f32
    llvm.store %subf, %p : f32, !llvm.ptr
    %mulf = llvm.fmul %a, %b : f32
    llvm.store %mulf, %p : f32, !llvm.ptr
    %divf = llvm.fdiv %a, %b : f32
    llvm.store %divf, %p : f32, !llvm.ptr
    %minimumf = nvvm.intr.minimum %a, %b : f32
    llvm.store %minimumf, %p : f32, !llvm.ptr
    %maximumf = nvvm.intr.maximum %a, %b : f32
    llvm.store %maximumf, %p : f32, !llvm.ptr
    %negated = llvm.fneg %a : f32
    llvm.store %negated, %p : f32, !llvm.ptr
    %less = llvm.fcmp "olt" %a, %b : f32
    %chosen = llvm.select %less, %a, %b : i1, f32
    llvm.store %chosen, %p : f32, !llvm.ptr
    llvm.return
  }
}

// ---- conversions
// seed: nvgpu-gpu-to-nvvm arith-bank
gpu.module @m {
  llvm.func @k(%a: i32, %f: f32, %p: !llvm.ptr) {
    %extsi = arith.extsi %a : i32 to i64
    llvm.store %extsi, %p : i64, !llvm.ptr
    %extui = arith.extui %a : i32 to i64
    llvm.store %extui, %p : i64, !llvm.ptr
    %trunci = arith.trunci %a : i32 to i16
    llvm.store %trunci, %p : i16, !llvm.ptr
    %extf = arith.extf %f : f32 to f64
    llvm.store %extf, %p : f64, !llvm.ptr
    %truncf = arith.truncf %f : f32 to f16
    llvm.store %truncf, %p : f16, !llvm.ptr
    %sitofp = arith.sitofp %a : i32 to f32
    llvm.store %sitofp, %p : f32, !llvm.ptr
    %uitofp = arith.uitofp %a : i32 to f32
    llvm.store %uitofp, %p : f32, !llvm.ptr
    %fptosi = arith.fptosi %f : f32 to i32
    llvm.store %fptosi, %p : i32, !llvm.ptr
    %fptoui = arith.fptoui %f : f32 to i32
    llvm.store %fptoui, %p : i32, !llvm.ptr
    %bitcast = arith.bitcast %f : f32 to i32
    llvm.store %bitcast, %p : i32, !llvm.ptr
    llvm.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: i32, %f: f32, %p: !llvm.ptr) {
    %extsi = llvm.sext %a : i32 to i64
    llvm.store %extsi, %p : i64, !llvm.ptr
    %extui = llvm.zext %a : i32 to i64
    llvm.store %extui, %p : i64, !llvm.ptr
    %trunci = llvm.trunc %a : i32 to i16
    llvm.store %trunci, %p : i16, !llvm.ptr
    %extf = llvm.fpext %f : f32 to f64
    llvm.store %extf, %p : f64, !llvm.ptr
    %truncf = llvm.fptrunc %f : f32 to f16
    llvm.store %truncf, %p : f16, !llvm.ptr
    %sitofp = llvm.sitofp %a : i32 to f32
    llvm.store %sitofp, %p : f32, !llvm.ptr
    %uitofp = llvm.uitofp %a : i32 to f32
    llvm.store %uitofp, %p : f32, !llvm.ptr
    %fptosi = llvm.fptosi %f : f32 to i32
    llvm.store %fptosi, %p : i32, !llvm.ptr
    %fptoui = llvm.fptoui %f : f32 to i32
    llvm.store %fptoui, %p : i32, !llvm.ptr
    %bitcast = llvm.bitcast %f : f32 to i32
    llvm.store %bitcast, %p : i32, !llvm.ptr
    llvm.return
  }
}

// ---- vectors_and_flags
// seed: nvgpu-gpu-to-nvvm arith-bank
gpu.module @m {
  llvm.func @k(%v: vector<4xf32>, %a: i32, %p: !llvm.ptr) {
    %s = arith.addf %v, %v fastmath<contract> : vector<4xf32>
    llvm.store %s, %p : vector<4xf32>, !llvm.ptr
    %t = arith.addi %a, %a overflow<nsw> : i32
    llvm.store %t, %p : i32, !llvm.ptr
    llvm.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<4xf32>, %a: i32, %p: !llvm.ptr) {
    %s = llvm.fadd %v, %v : vector<4xf32>
    llvm.store %s, %p : vector<4xf32>, !llvm.ptr
    %t = llvm.add %a, %a : i32
    llvm.store %t, %p : i32, !llvm.ptr
    llvm.return
  }
}

// ---- what_is_no_type_of_llvm_stays
// seed: nvgpu-gpu-to-nvvm arith-bank legal-leftovers
gpu.module @m {
  gpu.func @k(%i: index, %v: vector<2x2xf32>, %a: memref<8xf32>) kernel {
    %two = arith.constant 2 : index
    %j = arith.addi %i, %two : index
    %x = memref.load %a[%j] : memref<8xf32>
    %w = arith.addf %v, %v : vector<2x2xf32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%i: i64, %v: !llvm.array<2 x vector<2xf32>>, %a: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %i_1 = builtin.unrealized_conversion_cast %i : i64 to index
    %v_1 = builtin.unrealized_conversion_cast %v : !llvm.array<2 x vector<2xf32>> to vector<2x2xf32>
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.ptr to memref<8xf32>
    %two = arith.constant 2 : index
    %j = arith.addi %i_1, %two : index
    %x = memref.load %a_1[%j] : memref<8xf32>
    %w = arith.addf %v_1, %v_1 : vector<2x2xf32>
    llvm.return
  }
}
