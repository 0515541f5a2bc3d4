// Division of tiles: one reciprocal where elements share a divisor, or each by itself where something might overflow.
// run: convert-nv-tile-func-to-llvm ll sm_90

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
  %v48 = insertelement <2 x float> poison, float %a0, i32 0
  %v49 = insertelement <2 x float> %v48, float %a0, i32 1
  %v50 = insertelement <2 x float> poison, float %v47, i32 0
  %v51 = insertelement <2 x float> %v50, float %v47, i32 1
  %v52 = fmul float %v5, %v47
  %v53 = fneg float %v5
  %v54 = call float @llvm.fma.f32(float %a0, float %v52, float %v53)
  %v55 = fneg float %v54
  %v56 = call float @llvm.fma.f32(float %v55, float %v47, float %v52)
  %v57 = fmul float %v6, %v47
  %v58 = fneg float %v6
  %v59 = call float @llvm.fma.f32(float %a0, float %v57, float %v58)
  %v60 = fneg float %v59
  %v61 = call float @llvm.fma.f32(float %v60, float %v47, float %v57)
  %v62 = fmul float %v7, %v47
  %v63 = fneg float %v7
  %v64 = call float @llvm.fma.f32(float %a0, float %v62, float %v63)
  %v65 = fneg float %v64
  %v66 = call float @llvm.fma.f32(float %v65, float %v47, float %v62)
  %v67 = fmul float %v8, %v47
  %v68 = fneg float %v8
  %v69 = call float @llvm.fma.f32(float %a0, float %v67, float %v68)
  %v70 = fneg float %v69
  %v71 = call float @llvm.fma.f32(float %v70, float %v47, float %v67)
  br label %b3
b2:
  %v72 = fdiv float %v5, %a0
  %v73 = fdiv float %v6, %a0
  %v74 = fdiv float %v7, %a0
  %v75 = fdiv float %v8, %a0
  br label %b3
b3:
  %v76 = phi float [ %v56, %b1 ], [ %v72, %b2 ]
  %v77 = phi float [ %v61, %b1 ], [ %v73, %b2 ]
  %v78 = phi float [ %v66, %b1 ], [ %v74, %b2 ]
  %v79 = phi float [ %v71, %b1 ], [ %v75, %b2 ]
  %v80 = fneg float %v76
  %v81 = fneg float %v77
  %v82 = fneg float %v78
  %v83 = fneg float %v79
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
  %v31 = insertelement <2 x float> poison, float %a0, i32 0
  %v32 = insertelement <2 x float> %v31, float %a0, i32 1
  %v33 = insertelement <2 x float> poison, float %v30, i32 0
  %v34 = insertelement <2 x float> %v33, float %v30, i32 1
  %v35 = fmul float %v5, %v30
  %v36 = fneg float %v5
  %v37 = call float @llvm.fma.f32(float %a0, float %v35, float %v36)
  %v38 = fneg float %v37
  %v39 = call float @llvm.fma.f32(float %v38, float %v30, float %v35)
  %v40 = fmul float %v6, %v30
  %v41 = fneg float %v6
  %v42 = call float @llvm.fma.f32(float %a0, float %v40, float %v41)
  %v43 = fneg float %v42
  %v44 = call float @llvm.fma.f32(float %v43, float %v30, float %v40)
  %v45 = fmul float %v7, %v30
  %v46 = fneg float %v7
  %v47 = call float @llvm.fma.f32(float %a0, float %v45, float %v46)
  %v48 = fneg float %v47
  %v49 = call float @llvm.fma.f32(float %v48, float %v30, float %v45)
  %v50 = fmul float %v8, %v30
  %v51 = fneg float %v8
  %v52 = call float @llvm.fma.f32(float %a0, float %v50, float %v51)
  %v53 = fneg float %v52
  %v54 = call float @llvm.fma.f32(float %v53, float %v30, float %v50)
  br label %b3
b2:
  %v55 = fdiv float %v5, %a0
  %v56 = fdiv float %v6, %a0
  %v57 = fdiv float %v7, %a0
  %v58 = fdiv float %v8, %a0
  br label %b3
b3:
  %v59 = phi float [ %v39, %b1 ], [ %v55, %b2 ]
  %v60 = phi float [ %v44, %b1 ], [ %v56, %b2 ]
  %v61 = phi float [ %v49, %b1 ], [ %v57, %b2 ]
  %v62 = phi float [ %v54, %b1 ], [ %v58, %b2 ]
  %v63 = fptrunc float %v59 to half
  %v64 = fptrunc float %v60 to half
  %v65 = fptrunc float %v61 to half
  %v66 = fptrunc float %v62 to half
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
