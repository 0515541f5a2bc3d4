// What one element becomes: each rule by type, rounding and flushing of subnormal numbers.
// run: convert-nv-tile-func-to-llvm ll sm_90

// ---- addf
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%h: f16, %b: bf16, %f: f32, %d: f64):
  %r0 = nv_tileas.addf %h, %h {rounding_mode = "nearest_even"} : f16
  %r1 = nv_tileas.addf %b, %b {rounding_mode = "nearest_even"} : bf16
  %r2 = nv_tileas.addf %f, %f {rounding_mode = "nearest_even"} : f32
  %r3 = nv_tileas.addf %d, %d {rounding_mode = "nearest_even"} : f64
  %r4 = nv_tileas.addf %f, %f {rounding_mode = "zero"} : f32
  %r5 = nv_tileas.addf %f, %f {rounding_mode = "negative_inf"} : f32
  %r6 = nv_tileas.addf %f, %f {rounding_mode = "positive_inf"} : f32
  %r7 = nv_tileas.addf %d, %d {rounding_mode = "zero"} : f64
  %r8 = nv_tileas.addf %h, %h {rounding_mode = "zero"} : f16
  %r9 = nv_tileas.addf %f, %f {rounding_mode = "nearest_even", flush_to_zero} : f32
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(half %a0, bfloat %a1, float %a2, double %a3) "nvvm.reqntid"="32" {
b0:
  %v0 = fadd half %a0, %a0
  %v1 = fadd bfloat %a1, %a1
  %v2 = fadd float %a2, %a2
  %v3 = fadd double %a3, %a3
  %v4 = call float @llvm.nvvm.add.rz.f(float %a2, float %a2)
  %v5 = call float @llvm.nvvm.add.rm.f(float %a2, float %a2)
  %v6 = call float @llvm.nvvm.add.rp.f(float %a2, float %a2)
  %v7 = call double @llvm.nvvm.add.rz.d(double %a3, double %a3)
  %v8 = fpext half %a0 to float
  %v9 = call float @llvm.nvvm.add.rz.f(float %v8, float %v8)
  %v10 = call i16 asm "cvt.rz.f16.f32 $0, $1;", "=h,f"(float %v9)
  %v11 = bitcast i16 %v10 to half
  %v12 = call float @llvm.nvvm.add.rn.ftz.f(float %a2, float %a2)
  ret void
}

// ---- subf
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%h: f16, %b: bf16, %f: f32, %d: f64):
  %r10 = nv_tileas.subf %h, %h {rounding_mode = "nearest_even"} : f16
  %r11 = nv_tileas.subf %b, %b {rounding_mode = "nearest_even"} : bf16
  %r12 = nv_tileas.subf %f, %f {rounding_mode = "nearest_even"} : f32
  %r13 = nv_tileas.subf %d, %d {rounding_mode = "nearest_even"} : f64
  %r14 = nv_tileas.subf %f, %f {rounding_mode = "zero"} : f32
  %r15 = nv_tileas.subf %f, %f {rounding_mode = "negative_inf"} : f32
  %r16 = nv_tileas.subf %f, %f {rounding_mode = "positive_inf"} : f32
  %r17 = nv_tileas.subf %d, %d {rounding_mode = "zero"} : f64
  %r18 = nv_tileas.subf %h, %h {rounding_mode = "zero"} : f16
  %r19 = nv_tileas.subf %f, %f {rounding_mode = "nearest_even", flush_to_zero} : f32
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(half %a0, bfloat %a1, float %a2, double %a3) "nvvm.reqntid"="32" {
b0:
  %v0 = fsub half %a0, %a0
  %v1 = fsub bfloat %a1, %a1
  %v2 = fsub float %a2, %a2
  %v3 = fsub double %a3, %a3
  %v4 = fneg float %a2
  %v5 = call float @llvm.nvvm.add.rz.f(float %a2, float %v4)
  %v6 = call float @llvm.nvvm.add.rm.f(float %a2, float %v4)
  %v7 = call float @llvm.nvvm.add.rp.f(float %a2, float %v4)
  %v8 = fneg double %a3
  %v9 = call double @llvm.nvvm.add.rz.d(double %a3, double %v8)
  %v10 = fpext half %a0 to float
  %v11 = fneg float %v10
  %v12 = call float @llvm.nvvm.add.rz.f(float %v10, float %v11)
  %v13 = call i16 asm "cvt.rz.f16.f32 $0, $1;", "=h,f"(float %v12)
  %v14 = bitcast i16 %v13 to half
  %v15 = call float @llvm.nvvm.add.rn.ftz.f(float %a2, float %v4)
  ret void
}

// ---- mulf
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%h: f16, %b: bf16, %f: f32, %d: f64):
  %r20 = nv_tileas.mulf %h, %h {rounding_mode = "nearest_even"} : f16
  %r21 = nv_tileas.mulf %b, %b {rounding_mode = "nearest_even"} : bf16
  %r22 = nv_tileas.mulf %f, %f {rounding_mode = "nearest_even"} : f32
  %r23 = nv_tileas.mulf %d, %d {rounding_mode = "nearest_even"} : f64
  %r24 = nv_tileas.mulf %f, %f {rounding_mode = "zero"} : f32
  %r25 = nv_tileas.mulf %f, %f {rounding_mode = "negative_inf"} : f32
  %r26 = nv_tileas.mulf %f, %f {rounding_mode = "positive_inf"} : f32
  %r27 = nv_tileas.mulf %d, %d {rounding_mode = "zero"} : f64
  %r28 = nv_tileas.mulf %h, %h {rounding_mode = "zero"} : f16
  %r29 = nv_tileas.mulf %f, %f {rounding_mode = "nearest_even", flush_to_zero} : f32
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(half %a0, bfloat %a1, float %a2, double %a3) "nvvm.reqntid"="32" {
b0:
  %v0 = fmul half %a0, %a0
  %v1 = fmul bfloat %a1, %a1
  %v2 = fmul float %a2, %a2
  %v3 = fmul double %a3, %a3
  %v4 = call float @llvm.nvvm.mul.rz.f(float %a2, float %a2)
  %v5 = call float @llvm.nvvm.mul.rm.f(float %a2, float %a2)
  %v6 = call float @llvm.nvvm.mul.rp.f(float %a2, float %a2)
  %v7 = call double @llvm.nvvm.mul.rz.d(double %a3, double %a3)
  %v8 = fpext half %a0 to float
  %v9 = call float @llvm.nvvm.mul.rz.f(float %v8, float %v8)
  %v10 = call i16 asm "cvt.rz.f16.f32 $0, $1;", "=h,f"(float %v9)
  %v11 = bitcast i16 %v10 to half
  %v12 = call float @llvm.nvvm.mul.rn.ftz.f(float %a2, float %a2)
  ret void
}

// ---- fma
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%h: f16, %b: bf16, %f: f32, %d: f64):
  %r30 = nv_tileas.fma %h, %h, %h {rounding_mode = "nearest_even"} : f16
  %r31 = nv_tileas.fma %b, %b, %b {rounding_mode = "nearest_even"} : bf16
  %r32 = nv_tileas.fma %f, %f, %f {rounding_mode = "nearest_even"} : f32
  %r33 = nv_tileas.fma %d, %d, %d {rounding_mode = "nearest_even"} : f64
  %r34 = nv_tileas.fma %f, %f, %f {rounding_mode = "zero"} : f32
  %r35 = nv_tileas.fma %f, %f, %f {rounding_mode = "nearest_even", flush_to_zero} : f32
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(half %a0, bfloat %a1, float %a2, double %a3) "nvvm.reqntid"="32" {
b0:
  %v0 = call half @llvm.fma.f16(half %a0, half %a0, half %a0)
  %v1 = call bfloat @llvm.fma.bf16(bfloat %a1, bfloat %a1, bfloat %a1)
  %v2 = call float @llvm.fma.f32(float %a2, float %a2, float %a2)
  %v3 = call double @llvm.fma.f64(double %a3, double %a3, double %a3)
  %v4 = call float @llvm.nvvm.fma.rz.f(float %a2, float %a2, float %a2)
  %v5 = call float @llvm.nvvm.fma.rn.ftz.f(float %a2, float %a2, float %a2)
  ret void
}

// ---- divf
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%h: f16, %b: bf16, %f: f32, %d: f64):
  %r36 = nv_tileas.divf %h, %h {rounding_mode = "nearest_even"} : f16
  %r37 = nv_tileas.divf %b, %b {rounding_mode = "nearest_even"} : bf16
  %r38 = nv_tileas.divf %f, %f {rounding_mode = "nearest_even"} : f32
  %r39 = nv_tileas.divf %d, %d {rounding_mode = "nearest_even"} : f64
  %r40 = nv_tileas.divf %f, %f {rounding_mode = "zero"} : f32
  %r41 = nv_tileas.divf %f, %f {rounding_mode = "full"} : f32
  %r42 = nv_tileas.divf %f, %f {rounding_mode = "approx"} : f32
  %r43 = nv_tileas.divf %f, %f {rounding_mode = "nearest_even", flush_to_zero} : f32
  %r44 = nv_tileas.divf %f, %f {rounding_mode = "full", flush_to_zero} : f32
  %r45 = nv_tileas.divf %f, %f {rounding_mode = "approx", flush_to_zero} : f32
  %r46 = nv_tileas.divf %d, %d {rounding_mode = "zero"} : f64
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(half %a0, bfloat %a1, float %a2, double %a3) "nvvm.reqntid"="32" {
b0:
  %v0 = fpext half %a0 to float
  %v1 = fdiv float %v0, %v0
  %v2 = fptrunc float %v1 to half
  %v3 = fpext bfloat %a1 to float
  %v4 = fdiv float %v3, %v3
  %v5 = fptrunc float %v4 to bfloat
  %v6 = fdiv float %a2, %a2
  %v7 = fdiv double %a3, %a3
  %v8 = call float @llvm.nvvm.div.rz.f(float %a2, float %a2)
  %v9 = call float @llvm.nvvm.div.full(float %a2, float %a2)
  %v10 = call float @llvm.nvvm.div.approx.f(float %a2, float %a2)
  %v11 = call float @llvm.nvvm.div.rn.ftz.f(float %a2, float %a2)
  %v12 = call float @llvm.nvvm.div.full.ftz(float %a2, float %a2)
  %v13 = call float @llvm.nvvm.div.approx.ftz.f(float %a2, float %a2)
  %v14 = call double @llvm.nvvm.div.rz.d(double %a3, double %a3)
  ret void
}

// ---- roots_and_exp2
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%h: f16, %b: bf16, %f: f32, %d: f64):
  %r47 = nv_tileas.sqrt %h {rounding_mode = "nearest_even"} : f16
  %r48 = nv_tileas.sqrt %b {rounding_mode = "nearest_even"} : bf16
  %r49 = nv_tileas.sqrt %f {rounding_mode = "nearest_even"} : f32
  %r50 = nv_tileas.sqrt %d {rounding_mode = "nearest_even"} : f64
  %r51 = nv_tileas.sqrt %f {rounding_mode = "zero"} : f32
  %r52 = nv_tileas.sqrt %f {rounding_mode = "approx"} : f32
  %r53 = nv_tileas.sqrt %f {rounding_mode = "approx", flush_to_zero} : f32
  %r54 = nv_tileas.rsqrt %h : f16
  %r55 = nv_tileas.rsqrt %b : bf16
  %r56 = nv_tileas.rsqrt %f : f32
  %r57 = nv_tileas.rsqrt %d : f64
  %r58 = nv_tileas.rsqrt %f {flush_to_zero} : f32
  %r59 = nv_tileas.exp2 %h : f16
  %r60 = nv_tileas.exp2 %b : bf16
  %r61 = nv_tileas.exp2 %f : f32
  %r62 = nv_tileas.exp2 %d : f64
  %r63 = nv_tileas.exp2 %f {flush_to_zero} : f32
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(half %a0, bfloat %a1, float %a2, double %a3) "nvvm.reqntid"="32" {
b0:
  %v0 = fpext half %a0 to float
  %v1 = call float @llvm.nvvm.sqrt.rn.f(float %v0)
  %v2 = fptrunc float %v1 to half
  %v3 = fpext bfloat %a1 to float
  %v4 = call float @llvm.nvvm.sqrt.rn.f(float %v3)
  %v5 = fptrunc float %v4 to bfloat
  %v6 = call float @llvm.nvvm.sqrt.rn.f(float %a2)
  %v7 = call double @llvm.nvvm.sqrt.rn.d(double %a3)
  %v8 = call float @llvm.nvvm.sqrt.rz.f(float %a2)
  %v9 = call float @llvm.nvvm.sqrt.approx.f(float %a2)
  %v10 = call float @llvm.nvvm.sqrt.approx.ftz.f(float %a2)
  %v11 = call float @llvm.nvvm.rsqrt.approx.f(float %v0)
  %v12 = fptrunc float %v11 to half
  %v13 = call float @llvm.nvvm.rsqrt.approx.f(float %v3)
  %v14 = fptrunc float %v13 to bfloat
  %v15 = call float @llvm.nvvm.rsqrt.approx.f(float %a2)
  %v16 = call double @__nv_rsqrt(double %a3)
  %v17 = call float @llvm.nvvm.rsqrt.approx.ftz.f(float %a2)
  %v18 = call float @llvm.nvvm.ex2.approx.f32(float %v0)
  %v19 = fptrunc float %v18 to half
  %v20 = call float @llvm.nvvm.ex2.approx.f32(float %v3)
  %v21 = fptrunc float %v20 to bfloat
  %v22 = call float @llvm.nvvm.ex2.approx.f32(float %a2)
  %v23 = call double @__nv_exp2(double %a3)
  %v24 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %a2)
  ret void
}

// ---- libdevice
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%h: f16, %b: bf16, %f: f32, %d: f64):
  %r64 = math.exp %f : f32
  %r65 = math.exp %d : f64
  %r66 = math.log %f : f32
  %r67 = math.log %d : f64
  %r68 = math.log2 %f : f32
  %r69 = math.log2 %d : f64
  %r70 = math.sin %f : f32
  %r71 = math.sin %d : f64
  %r72 = math.cos %f : f32
  %r73 = math.cos %d : f64
  %r74 = math.tan %f : f32
  %r75 = math.tan %d : f64
  %r76 = math.sinh %f : f32
  %r77 = math.sinh %d : f64
  %r78 = math.cosh %f : f32
  %r79 = math.cosh %d : f64
  %r80 = math.tanh %f : f32
  %r81 = math.tanh %d : f64
  %r82 = math.powf %f, %f : f32
  %r83 = math.powf %d, %d : f64
  %r84 = math.atan2 %f, %f : f32
  %r85 = nv_tileas.remf %f, %f : f32
  %r86 = nv_tileas.remf %d, %d : f64
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(half %a0, bfloat %a1, float %a2, double %a3) "nvvm.reqntid"="32" {
b0:
  %v0 = call float @__nv_expf(float %a2)
  %v1 = call double @__nv_exp(double %a3)
  %v2 = call float @__nv_logf(float %a2)
  %v3 = call double @__nv_log(double %a3)
  %v4 = call float @__nv_log2f(float %a2)
  %v5 = call double @__nv_log2(double %a3)
  %v6 = call float @__nv_sinf(float %a2)
  %v7 = call double @__nv_sin(double %a3)
  %v8 = call float @__nv_cosf(float %a2)
  %v9 = call double @__nv_cos(double %a3)
  %v10 = call float @__nv_tanf(float %a2)
  %v11 = call double @__nv_tan(double %a3)
  %v12 = call float @__nv_sinhf(float %a2)
  %v13 = call double @__nv_sinh(double %a3)
  %v14 = call float @__nv_coshf(float %a2)
  %v15 = call double @__nv_cosh(double %a3)
  %v16 = call float @__nv_tanhf(float %a2)
  %v17 = call double @__nv_tanh(double %a3)
  %v18 = call float @__nv_powf(float %a2, float %a2)
  %v19 = call double @__nv_pow(double %a3, double %a3)
  %v20 = call float @__nv_atan2f(float %a2, float %a2)
  %v21 = call float @__nv_fmodf(float %a2, float %a2)
  %v22 = call double @__nv_fmod(double %a3, double %a3)
  ret void
}

// ---- half_precisions_go_through_f32
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%h: f16, %b: bf16, %f: f32, %d: f64):
  %r87 = math.sin %h : f16
  %r88 = math.exp %b : bf16
  %r89 = math.floor %h : f16
  %r90 = math.ceil %f : f32
  %r91 = math.floor %d : f64
  %r92 = math.absf %h : f16
  %r93 = arith.negf %b : bf16
  %r94 = math.absf %d : f64
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(half %a0, bfloat %a1, float %a2, double %a3) "nvvm.reqntid"="32" {
b0:
  %v0 = fpext half %a0 to float
  %v1 = call float @__nv_sinf(float %v0)
  %v2 = fptrunc float %v1 to half
  %v3 = fpext bfloat %a1 to float
  %v4 = call float @__nv_expf(float %v3)
  %v5 = fptrunc float %v4 to bfloat
  %v6 = call float @llvm.floor.f32(float %v0)
  %v7 = fptrunc float %v6 to half
  %v8 = call float @llvm.ceil.f32(float %a2)
  %v9 = call double @llvm.floor.f64(double %a3)
  %v10 = call half @llvm.fabs.f16(half %a0)
  %v11 = fneg bfloat %a1
  %v12 = call double @llvm.fabs.f64(double %a3)
  ret void
}

// ---- extrema
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%h: f16, %b: bf16, %f: f32, %d: f64):
  %r95 = arith.maximumf %f, %f : f32
  %r96 = arith.maximumf %h, %h : f16
  %r97 = arith.maximumf %f, %f {flush_to_zero} : f32
  %r98 = arith.minimumf %f, %f : f32
  %r99 = arith.minimumf %h, %h : f16
  %r100 = arith.minimumf %f, %f {flush_to_zero} : f32
  %r101 = arith.maxnumf %f, %f : f32
  %r102 = arith.maxnumf %h, %h : f16
  %r103 = arith.maxnumf %f, %f {flush_to_zero} : f32
  %r104 = arith.minnumf %f, %f : f32
  %r105 = arith.minnumf %h, %h : f16
  %r106 = arith.minnumf %f, %f {flush_to_zero} : f32
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(half %a0, bfloat %a1, float %a2, double %a3) "nvvm.reqntid"="32" {
b0:
  %v0 = call float @llvm.maximum.f32(float %a2, float %a2)
  %v1 = call half @llvm.maximum.f16(half %a0, half %a0)
  %v2 = call float @llvm.nvvm.fmax.ftz.nan.f(float %a2, float %a2)
  %v3 = call float @llvm.minimum.f32(float %a2, float %a2)
  %v4 = call half @llvm.minimum.f16(half %a0, half %a0)
  %v5 = call float @llvm.nvvm.fmin.ftz.nan.f(float %a2, float %a2)
  %v6 = call float @llvm.maxnum.f32(float %a2, float %a2)
  %v7 = call half @llvm.maxnum.f16(half %a0, half %a0)
  %v8 = call float @llvm.nvvm.fmax.ftz.f(float %a2, float %a2)
  %v9 = call float @llvm.minnum.f32(float %a2, float %a2)
  %v10 = call half @llvm.minnum.f16(half %a0, half %a0)
  %v11 = call float @llvm.nvvm.fmin.ftz.f(float %a2, float %a2)
  ret void
}

// ---- integers
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%a: i8, %s: i16, %i: i32, %l: i64, %p: i1):
  %r107 = arith.addi %i, %i : i32
  %r108 = arith.subi %i, %i : i32
  %r109 = arith.muli %i, %i : i32
  %r110 = arith.andi %i, %i : i32
  %r111 = arith.ori %i, %i : i32
  %r112 = arith.xori %i, %i : i32
  %r113 = arith.divui %i, %i : i32
  %r114 = arith.divsi %i, %i : i32
  %r115 = arith.remui %i, %i : i32
  %r116 = arith.remsi %i, %i : i32
  %r117 = arith.shli %i, %i : i32
  %r118 = arith.shrui %i, %i : i32
  %r119 = arith.shrsi %i, %i : i32
  %r120 = arith.minsi %i, %i : i32
  %r121 = arith.maxsi %i, %i : i32
  %r122 = arith.minui %i, %i : i32
  %r123 = arith.maxui %i, %i : i32
  %r124 = arith.addi %a, %a : i8
  %r125 = arith.addi %s, %s : i16
  %r126 = arith.addi %i, %i : i32
  %r127 = arith.addi %l, %l : i64
  %r128 = arith.addi %p, %p : i1
  %r129 = arith.divsi %a, %a : i8
  %r130 = arith.shrsi %s, %s : i16
  %r131 = arith.maxui %l, %l : i64
  %r132 = arith.ceildivui %i, %i : i32
  %r133 = arith.ceildivsi %i, %i : i32
  %r134 = arith.floordivsi %i, %i : i32
  %r135 = nv_tileas.mulhiui %i, %i : i32
  %r136 = nv_tileas.mulhiui %l, %l : i64
  %r137 = math.absi %i : i32
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(i8 %a0, i16 %a1, i32 %a2, i64 %a3, i8 %a4) "nvvm.reqntid"="32" {
b0:
  %v0 = icmp ne i8 %a4, 0
  %v1 = add i32 %a2, %a2
  %v2 = sub i32 %a2, %a2
  %v3 = mul i32 %a2, %a2
  %v4 = and i32 %a2, %a2
  %v5 = or i32 %a2, %a2
  %v6 = xor i32 %a2, %a2
  %v7 = udiv i32 %a2, %a2
  %v8 = sdiv i32 %a2, %a2
  %v9 = urem i32 %a2, %a2
  %v10 = srem i32 %a2, %a2
  %v11 = shl i32 %a2, %a2
  %v12 = lshr i32 %a2, %a2
  %v13 = ashr i32 %a2, %a2
  %v14 = call i32 @llvm.smin.i32(i32 %a2, i32 %a2)
  %v15 = call i32 @llvm.smax.i32(i32 %a2, i32 %a2)
  %v16 = call i32 @llvm.umin.i32(i32 %a2, i32 %a2)
  %v17 = call i32 @llvm.umax.i32(i32 %a2, i32 %a2)
  %v18 = add i8 %a0, %a0
  %v19 = add i16 %a1, %a1
  %v20 = add i64 %a3, %a3
  %v21 = add i1 %v0, %v0
  %v22 = sdiv i8 %a0, %a0
  %v23 = ashr i16 %a1, %a1
  %v24 = call i64 @llvm.umax.i64(i64 %a3, i64 %a3)
  %v25 = icmp ne i32 %v9, 0
  %v26 = zext i1 %v25 to i32
  %v27 = add i32 %v7, %v26
  %v28 = icmp ne i32 %v10, 0
  %v29 = icmp sge i32 %v6, 0
  %v30 = and i1 %v28, %v29
  %v31 = zext i1 %v30 to i32
  %v32 = add i32 %v8, %v31
  %v33 = icmp slt i32 %v6, 0
  %v34 = and i1 %v28, %v33
  %v35 = sext i1 %v34 to i32
  %v36 = add i32 %v8, %v35
  %v37 = zext i32 %a2 to i64
  %v38 = mul i64 %v37, %v37
  %v39 = lshr i64 %v38, 32
  %v40 = trunc i64 %v39 to i32
  %v41 = zext i64 %a3 to i128
  %v42 = mul i128 %v41, %v41
  %v43 = lshr i128 %v42, 64
  %v44 = trunc i128 %v43 to i64
  %v45 = call i32 @llvm.abs.i32(i32 %a2, i1 false)
  ret void
}

// ---- comparisons_and_selection
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%a: i8, %s: i16, %i: i32, %l: i64, %p: i1, %h: f16, %b: bf16, %f: f32, %d: f64, %j: i32):
  %r138 = arith.cmpi %i, %i {predicate = "eq"} : (i32, i32) -> i1
  %r139 = arith.cmpi %i, %i {predicate = "ne"} : (i32, i32) -> i1
  %r140 = arith.cmpi %i, %i {predicate = "slt"} : (i32, i32) -> i1
  %r141 = arith.cmpi %i, %i {predicate = "sle"} : (i32, i32) -> i1
  %r142 = arith.cmpi %i, %i {predicate = "sgt"} : (i32, i32) -> i1
  %r143 = arith.cmpi %i, %i {predicate = "sge"} : (i32, i32) -> i1
  %r144 = arith.cmpi %i, %i {predicate = "ult"} : (i32, i32) -> i1
  %r145 = arith.cmpi %i, %i {predicate = "ule"} : (i32, i32) -> i1
  %r146 = arith.cmpi %i, %i {predicate = "ugt"} : (i32, i32) -> i1
  %r147 = arith.cmpi %i, %i {predicate = "uge"} : (i32, i32) -> i1
  %r148 = arith.cmpf %f, %f {predicate = "oeq"} : (f32, f32) -> i1
  %r149 = arith.cmpf %f, %f {predicate = "one"} : (f32, f32) -> i1
  %r150 = arith.cmpf %f, %f {predicate = "olt"} : (f32, f32) -> i1
  %r151 = arith.cmpf %f, %f {predicate = "ole"} : (f32, f32) -> i1
  %r152 = arith.cmpf %f, %f {predicate = "ogt"} : (f32, f32) -> i1
  %r153 = arith.cmpf %f, %f {predicate = "oge"} : (f32, f32) -> i1
  %r154 = arith.cmpf %f, %f {predicate = "ueq"} : (f32, f32) -> i1
  %r155 = arith.cmpf %f, %f {predicate = "une"} : (f32, f32) -> i1
  %r156 = arith.cmpf %f, %f {predicate = "ult"} : (f32, f32) -> i1
  %r157 = arith.cmpf %f, %f {predicate = "ule"} : (f32, f32) -> i1
  %r158 = arith.cmpf %f, %f {predicate = "ugt"} : (f32, f32) -> i1
  %r159 = arith.cmpf %f, %f {predicate = "uge"} : (f32, f32) -> i1
  %r160 = arith.cmpf %h, %h {predicate = "olt"} : (f16, f16) -> i1
  %r161 = arith.select %p, %i, %j : (i1, i32, i32) -> i32
  %r162 = arith.select %p, %i, %i : (i1, i32, i32) -> i32
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(i8 %a0, i16 %a1, i32 %a2, i64 %a3, i8 %a4, half %a5, bfloat %a6, float %a7, double %a8, i32 %a9) "nvvm.reqntid"="32" {
b0:
  %v0 = icmp ne i8 %a4, 0
  %v1 = icmp eq i32 %a2, %a2
  %v2 = icmp ne i32 %a2, %a2
  %v3 = icmp slt i32 %a2, %a2
  %v4 = icmp sle i32 %a2, %a2
  %v5 = icmp sgt i32 %a2, %a2
  %v6 = icmp sge i32 %a2, %a2
  %v7 = icmp ult i32 %a2, %a2
  %v8 = icmp ule i32 %a2, %a2
  %v9 = icmp ugt i32 %a2, %a2
  %v10 = icmp uge i32 %a2, %a2
  %v11 = fcmp oeq float %a7, %a7
  %v12 = fcmp one float %a7, %a7
  %v13 = fcmp olt float %a7, %a7
  %v14 = fcmp ole float %a7, %a7
  %v15 = fcmp ogt float %a7, %a7
  %v16 = fcmp oge float %a7, %a7
  %v17 = fcmp ueq float %a7, %a7
  %v18 = fcmp une float %a7, %a7
  %v19 = fcmp ult float %a7, %a7
  %v20 = fcmp ule float %a7, %a7
  %v21 = fcmp ugt float %a7, %a7
  %v22 = fcmp uge float %a7, %a7
  %v23 = fcmp olt half %a5, %a5
  %v24 = select i1 %v0, i32 %a2, i32 %a9
  ret void
}

// ---- integer_widths
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%a: i8, %s: i16, %i: i32, %l: i64, %p: i1):
  %r163 = arith.extsi %a : (i8) -> i16
  %r164 = arith.extui %a : (i8) -> i16
  %r165 = arith.extsi %a : (i8) -> i32
  %r166 = arith.extui %a : (i8) -> i32
  %r167 = arith.extsi %a : (i8) -> i64
  %r168 = arith.extui %a : (i8) -> i64
  %r169 = arith.trunci %a : (i8) -> i1
  %r170 = arith.trunci %s : (i16) -> i8
  %r171 = arith.extsi %s : (i16) -> i32
  %r172 = arith.extui %s : (i16) -> i32
  %r173 = arith.extsi %s : (i16) -> i64
  %r174 = arith.extui %s : (i16) -> i64
  %r175 = arith.trunci %s : (i16) -> i1
  %r176 = arith.trunci %i : (i32) -> i8
  %r177 = arith.trunci %i : (i32) -> i16
  %r178 = arith.extsi %i : (i32) -> i64
  %r179 = arith.extui %i : (i32) -> i64
  %r180 = arith.trunci %i : (i32) -> i1
  %r181 = arith.trunci %l : (i64) -> i8
  %r182 = arith.trunci %l : (i64) -> i16
  %r183 = arith.trunci %l : (i64) -> i32
  %r184 = arith.trunci %l : (i64) -> i1
  %r185 = arith.extsi %p : (i1) -> i8
  %r186 = arith.extui %p : (i1) -> i8
  %r187 = arith.extsi %p : (i1) -> i16
  %r188 = arith.extui %p : (i1) -> i16
  %r189 = arith.extsi %p : (i1) -> i32
  %r190 = arith.extui %p : (i1) -> i32
  %r191 = arith.extsi %p : (i1) -> i64
  %r192 = arith.extui %p : (i1) -> i64
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(i8 %a0, i16 %a1, i32 %a2, i64 %a3, i8 %a4) "nvvm.reqntid"="32" {
b0:
  %v0 = icmp ne i8 %a4, 0
  %v1 = sext i8 %a0 to i16
  %v2 = zext i8 %a0 to i16
  %v3 = sext i8 %a0 to i32
  %v4 = zext i8 %a0 to i32
  %v5 = sext i8 %a0 to i64
  %v6 = zext i8 %a0 to i64
  %v7 = trunc i8 %a0 to i1
  %v8 = trunc i16 %a1 to i8
  %v9 = sext i16 %a1 to i32
  %v10 = zext i16 %a1 to i32
  %v11 = sext i16 %a1 to i64
  %v12 = zext i16 %a1 to i64
  %v13 = trunc i16 %a1 to i1
  %v14 = trunc i32 %a2 to i8
  %v15 = trunc i32 %a2 to i16
  %v16 = sext i32 %a2 to i64
  %v17 = zext i32 %a2 to i64
  %v18 = trunc i32 %a2 to i1
  %v19 = trunc i64 %a3 to i8
  %v20 = trunc i64 %a3 to i16
  %v21 = trunc i64 %a3 to i32
  %v22 = trunc i64 %a3 to i1
  %v23 = sext i1 %v0 to i8
  %v24 = zext i1 %v0 to i8
  %v25 = sext i1 %v0 to i16
  %v26 = zext i1 %v0 to i16
  %v27 = sext i1 %v0 to i32
  %v28 = zext i1 %v0 to i32
  %v29 = sext i1 %v0 to i64
  %v30 = zext i1 %v0 to i64
  ret void
}

// ---- integers_and_floats
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%a: i8, %s: i16, %i: i32, %l: i64, %p: i1, %h: f16, %b: bf16, %f: f32, %d: f64):
  %r193 = arith.sitofp %i {rounding_mode = "nearest_even"} : (i32) -> f16
  %r194 = arith.sitofp %i {rounding_mode = "nearest_even"} : (i32) -> bf16
  %r195 = arith.sitofp %i {rounding_mode = "nearest_even"} : (i32) -> f32
  %r196 = arith.sitofp %i {rounding_mode = "nearest_even"} : (i32) -> f64
  %r197 = arith.sitofp %a {rounding_mode = "nearest_even"} : (i8) -> f16
  %r198 = arith.sitofp %a {rounding_mode = "nearest_even"} : (i8) -> bf16
  %r199 = arith.sitofp %a {rounding_mode = "nearest_even"} : (i8) -> f32
  %r200 = arith.sitofp %a {rounding_mode = "nearest_even"} : (i8) -> f64
  %r201 = arith.sitofp %l {rounding_mode = "nearest_even"} : (i64) -> f16
  %r202 = arith.sitofp %l {rounding_mode = "nearest_even"} : (i64) -> bf16
  %r203 = arith.sitofp %l {rounding_mode = "nearest_even"} : (i64) -> f32
  %r204 = arith.sitofp %l {rounding_mode = "nearest_even"} : (i64) -> f64
  %r205 = arith.uitofp %i {rounding_mode = "nearest_even"} : (i32) -> f16
  %r206 = arith.uitofp %i {rounding_mode = "nearest_even"} : (i32) -> bf16
  %r207 = arith.uitofp %i {rounding_mode = "nearest_even"} : (i32) -> f32
  %r208 = arith.uitofp %i {rounding_mode = "nearest_even"} : (i32) -> f64
  %r209 = arith.uitofp %a {rounding_mode = "nearest_even"} : (i8) -> f16
  %r210 = arith.uitofp %a {rounding_mode = "nearest_even"} : (i8) -> bf16
  %r211 = arith.uitofp %a {rounding_mode = "nearest_even"} : (i8) -> f32
  %r212 = arith.uitofp %a {rounding_mode = "nearest_even"} : (i8) -> f64
  %r213 = arith.uitofp %l {rounding_mode = "nearest_even"} : (i64) -> f16
  %r214 = arith.uitofp %l {rounding_mode = "nearest_even"} : (i64) -> bf16
  %r215 = arith.uitofp %l {rounding_mode = "nearest_even"} : (i64) -> f32
  %r216 = arith.uitofp %l {rounding_mode = "nearest_even"} : (i64) -> f64
  %r217 = arith.sitofp %i {rounding_mode = "zero"} : (i32) -> f32
  %r218 = arith.uitofp %i {rounding_mode = "zero"} : (i32) -> f32
  %r219 = arith.fptosi %h {rounding_mode = "nearest_int_to_zero"} : (f16) -> i32
  %r220 = arith.fptosi %b {rounding_mode = "nearest_int_to_zero"} : (bf16) -> i32
  %r221 = arith.fptosi %f {rounding_mode = "nearest_int_to_zero"} : (f32) -> i32
  %r222 = arith.fptosi %d {rounding_mode = "nearest_int_to_zero"} : (f64) -> i32
  %r223 = arith.fptoui %h {rounding_mode = "nearest_int_to_zero"} : (f16) -> i32
  %r224 = arith.fptoui %b {rounding_mode = "nearest_int_to_zero"} : (bf16) -> i32
  %r225 = arith.fptoui %f {rounding_mode = "nearest_int_to_zero"} : (f32) -> i32
  %r226 = arith.fptoui %d {rounding_mode = "nearest_int_to_zero"} : (f64) -> i32
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(i8 %a0, i16 %a1, i32 %a2, i64 %a3, i8 %a4, half %a5, bfloat %a6, float %a7, double %a8) "nvvm.reqntid"="32" {
b0:
  %v0 = icmp ne i8 %a4, 0
  %v1 = sitofp i32 %a2 to half
  %v2 = sitofp i32 %a2 to bfloat
  %v3 = sitofp i32 %a2 to float
  %v4 = sitofp i32 %a2 to double
  %v5 = sitofp i8 %a0 to half
  %v6 = sitofp i8 %a0 to bfloat
  %v7 = sitofp i8 %a0 to float
  %v8 = sitofp i8 %a0 to double
  %v9 = sitofp i64 %a3 to half
  %v10 = sitofp i64 %a3 to bfloat
  %v11 = sitofp i64 %a3 to float
  %v12 = sitofp i64 %a3 to double
  %v13 = uitofp i32 %a2 to half
  %v14 = uitofp i32 %a2 to bfloat
  %v15 = uitofp i32 %a2 to float
  %v16 = uitofp i32 %a2 to double
  %v17 = uitofp i8 %a0 to half
  %v18 = uitofp i8 %a0 to bfloat
  %v19 = uitofp i8 %a0 to float
  %v20 = uitofp i8 %a0 to double
  %v21 = uitofp i64 %a3 to half
  %v22 = uitofp i64 %a3 to bfloat
  %v23 = uitofp i64 %a3 to float
  %v24 = uitofp i64 %a3 to double
  %v25 = call float @llvm.nvvm.i2f.rz(i32 %a2)
  %v26 = call float @llvm.nvvm.ui2f.rz(i32 %a2)
  %v27 = fptosi half %a5 to i32
  %v28 = fptosi bfloat %a6 to i32
  %v29 = fptosi float %a7 to i32
  %v30 = fptosi double %a8 to i32
  %v31 = fptoui half %a5 to i32
  %v32 = fptoui bfloat %a6 to i32
  %v33 = fptoui float %a7 to i32
  %v34 = fptoui double %a8 to i32
  ret void
}

// ---- between_floats
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%h: f16, %b: bf16, %f: f32, %d: f64):
  %r227 = nv_tileas.fp_to_fp %h {rounding_mode = "nearest_even"} : (f16) -> bf16
  %r228 = nv_tileas.fp_to_fp %h {rounding_mode = "nearest_even"} : (f16) -> f32
  %r229 = nv_tileas.fp_to_fp %h {rounding_mode = "nearest_even"} : (f16) -> f64
  %r230 = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (bf16) -> f16
  %r231 = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (bf16) -> f32
  %r232 = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (bf16) -> f64
  %r233 = nv_tileas.fp_to_fp %f {rounding_mode = "nearest_even"} : (f32) -> f16
  %r234 = nv_tileas.fp_to_fp %f {rounding_mode = "nearest_even"} : (f32) -> bf16
  %r235 = nv_tileas.fp_to_fp %f {rounding_mode = "nearest_even"} : (f32) -> f64
  %r236 = nv_tileas.fp_to_fp %d {rounding_mode = "nearest_even"} : (f64) -> f16
  %r237 = nv_tileas.fp_to_fp %d {rounding_mode = "nearest_even"} : (f64) -> bf16
  %r238 = nv_tileas.fp_to_fp %d {rounding_mode = "nearest_even"} : (f64) -> f32
  %r239 = nv_tileas.fp_to_fp %f {rounding_mode = "zero"} : (f32) -> f16
  %r240 = nv_tileas.fp_to_fp %f {rounding_mode = "zero"} : (f32) -> bf16
  %r241 = nv_tileas.fp_to_fp %f {rounding_mode = "negative_inf"} : (f32) -> f16
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(half %a0, bfloat %a1, float %a2, double %a3) "nvvm.reqntid"="32" {
b0:
  %v0 = fpext half %a0 to float
  %v1 = fptrunc float %v0 to bfloat
  %v2 = fpext half %a0 to double
  %v3 = fpext bfloat %a1 to float
  %v4 = fptrunc float %v3 to half
  %v5 = fpext bfloat %a1 to double
  %v6 = fptrunc float %a2 to half
  %v7 = fptrunc float %a2 to bfloat
  %v8 = fpext float %a2 to double
  %v9 = fptrunc double %a3 to half
  %v10 = fptrunc double %a3 to bfloat
  %v11 = fptrunc double %a3 to float
  %v12 = call i16 asm "cvt.rz.f16.f32 $0, $1;", "=h,f"(float %a2)
  %v13 = bitcast i16 %v12 to half
  %v14 = call i16 asm "cvt.rz.bf16.f32 $0, $1;", "=h,f"(float %a2)
  %v15 = bitcast i16 %v14 to bfloat
  %v16 = call i16 asm "cvt.rm.f16.f32 $0, $1;", "=h,f"(float %a2)
  %v17 = bitcast i16 %v16 to half
  ret void
}

// ---- bits_and_pointers
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%f: f32, %h: f16, %i: i32, %l: i64, %q: !nv_tileaa.ptr<f32>, %g: !nv_tileaa.ptr<f16>):
  %x0 = nv_tileas.bitcast %f : (f32) -> i32
  %x1 = nv_tileas.bitcast %h : (f16) -> i16
  %x2 = nv_tileas.bitcast %q : (!nv_tileaa.ptr<f32>) -> !nv_tileaa.ptr<i32>
  %x3 = nv_tileas.addptr %q, %i : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.ptr<f32>
  %x4 = nv_tileas.addptr %g, %l : (!nv_tileaa.ptr<f16>, i64) -> !nv_tileaa.ptr<f16>
  %x5 = nv_tileas.ptr_to_int %q : (!nv_tileaa.ptr<f32>) -> i64
  %x6 = nv_tileas.int_to_ptr %l : (i64) -> !nv_tileaa.ptr<f32>
  %x7 = nv_tileas.assume %i {predicate = #cuda_tile.div_by<8>} : i32
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(float %a0, half %a1, i32 %a2, i64 %a3, ptr addrspace(1) %a4, ptr addrspace(1) %a5) "nvvm.reqntid"="32" {
b0:
  %v0 = bitcast float %a0 to i32
  %v1 = bitcast half %a1 to i16
  %v2 = getelementptr i32, ptr addrspace(1) %a4, i32 %a2
  %v3 = getelementptr i16, ptr addrspace(1) %a5, i64 %a3
  %v4 = ptrtoint ptr addrspace(1) %a4 to i64
  %v5 = inttoptr i64 %a3 to ptr addrspace(1)
  ret void
}

// ---- constants_fold
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%i: i32):
  %a = arith.constant 3 : i32
  %b = arith.constant 2147483647 : i32
  %c = arith.addi %a, %b : i32
  %d = arith.muli %a, %a : i32
  %e = arith.addi %c, %i : i32
  %f = arith.addi %d, %i : i32
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(i32 %a0) "nvvm.reqntid"="32" {
b0:
  %v0 = add i32 -2147483646, %a0
  %v1 = add i32 9, %a0
  ret void
}

// ---- equal_operations_are_computed_once
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%i: i32):
  %a = arith.muli %i, %i : i32
  %b = arith.muli %i, %i : i32
  %c = arith.addi %a, %b : i32
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(i32 %a0) "nvvm.reqntid"="32" {
b0:
  %v0 = mul i32 %a0, %a0
  %v1 = add i32 %v0, %v0
  ret void
}
