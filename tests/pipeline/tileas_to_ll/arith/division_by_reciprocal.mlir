// Division of tiles: one reciprocal where elements share a divisor, or each by itself where something might overflow.
// run: convert-nv-tile-func-to-llvm ll sm_90

// ---- a_power_of_two_divides_each_by_itself
!ints = tensor<128xi32, #cute.layout<(128), (32,1,4):(1,0,32)>>
!tile = tensor<128xf32, #cute.layout<(128), (32,1,4):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0:
  %i = nv_tileas.make_range : !ints
  %a = arith.sitofp %i : (!ints) -> !tile
  %d = arith.constant -4.0 : f32
  %b = nv_tileas.splat %d : (f32) -> !tile
  %q = nv_tileas.divf %a, %b {rounding_mode = "nearest_even"} : !tile
  %n = arith.negf %q : (!tile) -> !tile
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k() "nvvm.reqntid"="32" {
b0:
  %v0 = call range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v1 = and i32 %v0, 31
  %v2 = add i32 %v1, 32
  %v3 = add i32 %v1, 64
  %v4 = add i32 %v1, 96
  %v5 = sitofp i32 %v1 to float
  %v6 = sitofp i32 %v2 to float
  %v7 = sitofp i32 %v3 to float
  %v8 = sitofp i32 %v4 to float
  %v9 = fdiv float %v5, 0xC010000000000000
  %v10 = fdiv float %v6, 0xC010000000000000
  %v11 = fdiv float %v7, 0xC010000000000000
  %v12 = fdiv float %v8, 0xC010000000000000
  %v13 = fneg float %v9
  %v14 = fneg float %v10
  %v15 = fneg float %v11
  %v16 = fneg float %v12
  ret void
}

// ---- dividends_of_one_divisor
!ints = tensor<128xi32, #cute.layout<(128), (32,1,4):(1,0,32)>>
!tile = tensor<128xf32, #cute.layout<(128), (32,1,4):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%d: f32):
  %i = nv_tileas.make_range : !ints
  %a = arith.sitofp %i : (!ints) -> !tile
  %b = nv_tileas.splat %d : (f32) -> !tile
  %q = nv_tileas.divf %a, %b {rounding_mode = "nearest_even"} : !tile
  %n = arith.negf %q : (!tile) -> !tile
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(float %a0) "nvvm.reqntid"="32" {
b0:
  %v0 = call range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v1 = and i32 %v0, 31
  %v2 = add i32 %v1, 32
  %v3 = add i32 %v1, 64
  %v4 = add i32 %v1, 96
  %v5 = sitofp i32 %v1 to float
  %v6 = sitofp i32 %v2 to float
  %v7 = sitofp i32 %v3 to float
  %v8 = sitofp i32 %v4 to float
  %v9 = bitcast float %a0 to i32
  %v10 = and i32 %v9, 8388607
  %v11 = icmp ne i32 %v10, 8388607
  %v12 = fcmp oge float %a0, 0x3D70000000000000
  %v13 = fcmp ole float %a0, 0x4270000000000000
  %v14 = call float @llvm.fabs.f32(float %v5)
  %v15 = call float @llvm.fabs.f32(float %v6)
  %v16 = call float @llvm.fabs.f32(float %v7)
  %v17 = call float @llvm.fabs.f32(float %v8)
  %v18 = call float @llvm.maxnum.f32(float %v14, float %v15)
  %v19 = call float @llvm.maxnum.f32(float %v18, float %v16)
  %v20 = call float @llvm.maxnum.f32(float %v19, float %v17)
  %v21 = fcmp ole float %v20, 0x44F0000000000000
  %v22 = bitcast float %v5 to i32
  %v23 = shl i32 %v22, 1
  %v24 = sub i32 %v23, 1
  %v25 = bitcast float %v6 to i32
  %v26 = shl i32 %v25, 1
  %v27 = sub i32 %v26, 1
  %v28 = bitcast float %v7 to i32
  %v29 = shl i32 %v28, 1
  %v30 = sub i32 %v29, 1
  %v31 = bitcast float %v8 to i32
  %v32 = shl i32 %v31, 1
  %v33 = sub i32 %v32, 1
  %v34 = call i32 @llvm.umin.i32(i32 %v24, i32 %v27)
  %v35 = call i32 @llvm.umin.i32(i32 %v34, i32 %v30)
  %v36 = call i32 @llvm.umin.i32(i32 %v35, i32 %v33)
  %v37 = icmp uge i32 %v36, 721420287
  %v38 = and i1 %v12, %v13
  %v39 = and i1 %v38, %v11
  %v40 = and i1 %v39, %v21
  %v41 = and i1 %v40, %v37
  br i1 %v41, label %b1, label %b2
b1:
  %v42 = call float asm "rcp.approx.ftz.f32 $0, $1;", "=f,f"(float %a0)
  %v43 = fneg float %a0
  %v44 = call float @llvm.fma.f32(float %v43, float %v42, float 0x3FF0000000000000)
  %v45 = call float @llvm.fma.f32(float %v42, float %v44, float %v42)
  %v46 = call float @llvm.fma.f32(float %v43, float %v45, float 0x3FF0000000000000)
  %v47 = call float @llvm.fma.f32(float %v45, float %v46, float %v45)
  %v48 = fmul float %v5, %v47
  %v49 = fneg float %v5
  %v50 = call float @llvm.fma.f32(float %a0, float %v48, float %v49)
  %v51 = fneg float %v47
  %v52 = call float @llvm.fma.f32(float %v50, float %v51, float %v48)
  %v53 = fmul float %v6, %v47
  %v54 = fneg float %v6
  %v55 = call float @llvm.fma.f32(float %a0, float %v53, float %v54)
  %v56 = call float @llvm.fma.f32(float %v55, float %v51, float %v53)
  %v57 = fmul float %v7, %v47
  %v58 = fneg float %v7
  %v59 = call float @llvm.fma.f32(float %a0, float %v57, float %v58)
  %v60 = call float @llvm.fma.f32(float %v59, float %v51, float %v57)
  %v61 = fmul float %v8, %v47
  %v62 = fneg float %v8
  %v63 = call float @llvm.fma.f32(float %a0, float %v61, float %v62)
  %v64 = call float @llvm.fma.f32(float %v63, float %v51, float %v61)
  br label %b3
b2:
  %v65 = fpext float %a0 to double
  %v66 = fdiv double 0x3FF0000000000000, %v65
  %v67 = fmul double %v66, 0x3FF0000000000002
  %v68 = fpext float %v5 to double
  %v69 = fmul double %v68, %v67
  %v70 = bitcast double %v69 to i64
  %v71 = and i64 %v70, -8
  %v72 = bitcast i64 %v71 to double
  %v73 = fptrunc double %v72 to float
  %v74 = fpext float %v6 to double
  %v75 = fmul double %v74, %v67
  %v76 = bitcast double %v75 to i64
  %v77 = and i64 %v76, -8
  %v78 = bitcast i64 %v77 to double
  %v79 = fptrunc double %v78 to float
  %v80 = fpext float %v7 to double
  %v81 = fmul double %v80, %v67
  %v82 = bitcast double %v81 to i64
  %v83 = and i64 %v82, -8
  %v84 = bitcast i64 %v83 to double
  %v85 = fptrunc double %v84 to float
  %v86 = fpext float %v8 to double
  %v87 = fmul double %v86, %v67
  %v88 = bitcast double %v87 to i64
  %v89 = and i64 %v88, -8
  %v90 = bitcast i64 %v89 to double
  %v91 = fptrunc double %v90 to float
  br label %b3
b3:
  %v92 = phi float [ %v52, %b1 ], [ %v73, %b2 ]
  %v93 = phi float [ %v56, %b1 ], [ %v79, %b2 ]
  %v94 = phi float [ %v60, %b1 ], [ %v85, %b2 ]
  %v95 = phi float [ %v64, %b1 ], [ %v91, %b2 ]
  %v96 = fneg float %v92
  %v97 = fneg float %v93
  %v98 = fneg float %v94
  %v99 = fneg float %v95
  ret void
}

// ---- nobody_sees_a_small_quotient
!ints = tensor<128xi32, #cute.layout<(128), (32,1,4):(1,0,32)>>
!tile = tensor<128xf32, #cute.layout<(128), (32,1,4):(1,0,32)>>
!half = tensor<128xf16, #cute.layout<(128), (32,1,4):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%d: f32):
  %i = nv_tileas.make_range : !ints
  %a = arith.sitofp %i : (!ints) -> !tile
  %b = nv_tileas.splat %d : (f32) -> !tile
  %q = nv_tileas.divf %a, %b {rounding_mode = "nearest_even"} : !tile
  %h = nv_tileas.fp_to_fp %q {rounding_mode = "nearest_even"} : (!tile) -> !half
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(float %a0) "nvvm.reqntid"="32" {
b0:
  %v0 = call range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v1 = and i32 %v0, 31
  %v2 = add i32 %v1, 32
  %v3 = add i32 %v1, 64
  %v4 = add i32 %v1, 96
  %v5 = sitofp i32 %v1 to float
  %v6 = sitofp i32 %v2 to float
  %v7 = sitofp i32 %v3 to float
  %v8 = sitofp i32 %v4 to float
  %v9 = bitcast float %a0 to i32
  %v10 = and i32 %v9, 8388607
  %v11 = icmp ne i32 %v10, 8388607
  %v12 = fcmp oge float %a0, 0x3D70000000000000
  %v13 = fcmp ole float %a0, 0x4270000000000000
  %v14 = call float @llvm.fabs.f32(float %v5)
  %v15 = call float @llvm.fabs.f32(float %v6)
  %v16 = call float @llvm.fabs.f32(float %v7)
  %v17 = call float @llvm.fabs.f32(float %v8)
  %v18 = call float @llvm.maxnum.f32(float %v14, float %v15)
  %v19 = call float @llvm.maxnum.f32(float %v18, float %v16)
  %v20 = call float @llvm.maxnum.f32(float %v19, float %v17)
  %v21 = fcmp ole float %v20, 0x44F0000000000000
  %v22 = and i1 %v12, %v13
  %v23 = and i1 %v22, %v11
  %v24 = and i1 %v23, %v21
  br i1 %v24, label %b1, label %b2
b1:
  %v25 = call float asm "rcp.approx.ftz.f32 $0, $1;", "=f,f"(float %a0)
  %v26 = fneg float %a0
  %v27 = call float @llvm.fma.f32(float %v26, float %v25, float 0x3FF0000000000000)
  %v28 = call float @llvm.fma.f32(float %v25, float %v27, float %v25)
  %v29 = call float @llvm.fma.f32(float %v26, float %v28, float 0x3FF0000000000000)
  %v30 = call float @llvm.fma.f32(float %v28, float %v29, float %v28)
  %v31 = fmul float %v5, %v30
  %v32 = fneg float %v5
  %v33 = call float @llvm.fma.f32(float %a0, float %v31, float %v32)
  %v34 = fneg float %v30
  %v35 = call float @llvm.fma.f32(float %v33, float %v34, float %v31)
  %v36 = fmul float %v6, %v30
  %v37 = fneg float %v6
  %v38 = call float @llvm.fma.f32(float %a0, float %v36, float %v37)
  %v39 = call float @llvm.fma.f32(float %v38, float %v34, float %v36)
  %v40 = fmul float %v7, %v30
  %v41 = fneg float %v7
  %v42 = call float @llvm.fma.f32(float %a0, float %v40, float %v41)
  %v43 = call float @llvm.fma.f32(float %v42, float %v34, float %v40)
  %v44 = fmul float %v8, %v30
  %v45 = fneg float %v8
  %v46 = call float @llvm.fma.f32(float %a0, float %v44, float %v45)
  %v47 = call float @llvm.fma.f32(float %v46, float %v34, float %v44)
  br label %b3
b2:
  %v48 = fpext float %a0 to double
  %v49 = fdiv double 0x3FF0000000000000, %v48
  %v50 = fmul double %v49, 0x3FF0000000000002
  %v51 = fpext float %v5 to double
  %v52 = fmul double %v51, %v50
  %v53 = bitcast double %v52 to i64
  %v54 = and i64 %v53, -8
  %v55 = bitcast i64 %v54 to double
  %v56 = fptrunc double %v55 to float
  %v57 = fpext float %v6 to double
  %v58 = fmul double %v57, %v50
  %v59 = bitcast double %v58 to i64
  %v60 = and i64 %v59, -8
  %v61 = bitcast i64 %v60 to double
  %v62 = fptrunc double %v61 to float
  %v63 = fpext float %v7 to double
  %v64 = fmul double %v63, %v50
  %v65 = bitcast double %v64 to i64
  %v66 = and i64 %v65, -8
  %v67 = bitcast i64 %v66 to double
  %v68 = fptrunc double %v67 to float
  %v69 = fpext float %v8 to double
  %v70 = fmul double %v69, %v50
  %v71 = bitcast double %v70 to i64
  %v72 = and i64 %v71, -8
  %v73 = bitcast i64 %v72 to double
  %v74 = fptrunc double %v73 to float
  br label %b3
b3:
  %v75 = phi float [ %v35, %b1 ], [ %v56, %b2 ]
  %v76 = phi float [ %v39, %b1 ], [ %v62, %b2 ]
  %v77 = phi float [ %v43, %b1 ], [ %v68, %b2 ]
  %v78 = phi float [ %v47, %b1 ], [ %v74, %b2 ]
  %v79 = fptrunc float %v75 to half
  %v80 = fptrunc float %v76 to half
  %v81 = fptrunc float %v77 to half
  %v82 = fptrunc float %v78 to half
  ret void
}

// ---- each_by_its_own_divisor
!ints = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
!tile = tensor<64xf32, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%d: f32):
  %i = nv_tileas.make_range : !ints
  %a = arith.sitofp %i : (!ints) -> !tile
  %b = nv_tileas.splat %d : (f32) -> !tile
  %q = nv_tileas.divf %b, %a {rounding_mode = "nearest_even"} : !tile
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(float %a0) "nvvm.reqntid"="32" {
b0:
  %v0 = call range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v1 = and i32 %v0, 31
  %v2 = add i32 %v1, 32
  %v3 = sitofp i32 %v1 to float
  %v4 = sitofp i32 %v2 to float
  %v5 = fdiv float %a0, %v3
  %v6 = fdiv float %a0, %v4
  ret void
}
