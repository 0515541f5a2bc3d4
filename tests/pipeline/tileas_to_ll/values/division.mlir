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
  %v48 = fmul float %v5, %v47
  %v49 = fneg float %v5
  %v50 = call float @llvm.fma.f32(float %a0, float %v48, float %v49)
  %v51 = fneg float %v50
  %v52 = call float @llvm.fma.f32(float %v51, float %v47, float %v48)
  %v53 = fmul float %v6, %v47
  %v54 = fneg float %v6
  %v55 = call float @llvm.fma.f32(float %a0, float %v53, float %v54)
  %v56 = fneg float %v55
  %v57 = call float @llvm.fma.f32(float %v56, float %v47, float %v53)
  %v58 = fmul float %v7, %v47
  %v59 = fneg float %v7
  %v60 = call float @llvm.fma.f32(float %a0, float %v58, float %v59)
  %v61 = fneg float %v60
  %v62 = call float @llvm.fma.f32(float %v61, float %v47, float %v58)
  %v63 = fmul float %v8, %v47
  %v64 = fneg float %v8
  %v65 = call float @llvm.fma.f32(float %a0, float %v63, float %v64)
  %v66 = fneg float %v65
  %v67 = call float @llvm.fma.f32(float %v66, float %v47, float %v63)
  br label %b3
b2:
  %v68 = fdiv float %v5, %a0
  %v69 = fdiv float %v6, %a0
  %v70 = fdiv float %v7, %a0
  %v71 = fdiv float %v8, %a0
  br label %b3
b3:
  %v72 = phi float [ %v52, %b1 ], [ %v68, %b2 ]
  %v73 = phi float [ %v57, %b1 ], [ %v69, %b2 ]
  %v74 = phi float [ %v62, %b1 ], [ %v70, %b2 ]
  %v75 = phi float [ %v67, %b1 ], [ %v71, %b2 ]
  %v76 = fneg float %v72
  %v77 = fneg float %v73
  %v78 = fneg float %v74
  %v79 = fneg float %v75
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
  %v34 = fneg float %v33
  %v35 = call float @llvm.fma.f32(float %v34, float %v30, float %v31)
  %v36 = fmul float %v6, %v30
  %v37 = fneg float %v6
  %v38 = call float @llvm.fma.f32(float %a0, float %v36, float %v37)
  %v39 = fneg float %v38
  %v40 = call float @llvm.fma.f32(float %v39, float %v30, float %v36)
  %v41 = fmul float %v7, %v30
  %v42 = fneg float %v7
  %v43 = call float @llvm.fma.f32(float %a0, float %v41, float %v42)
  %v44 = fneg float %v43
  %v45 = call float @llvm.fma.f32(float %v44, float %v30, float %v41)
  %v46 = fmul float %v8, %v30
  %v47 = fneg float %v8
  %v48 = call float @llvm.fma.f32(float %a0, float %v46, float %v47)
  %v49 = fneg float %v48
  %v50 = call float @llvm.fma.f32(float %v49, float %v30, float %v46)
  br label %b3
b2:
  %v51 = fdiv float %v5, %a0
  %v52 = fdiv float %v6, %a0
  %v53 = fdiv float %v7, %a0
  %v54 = fdiv float %v8, %a0
  br label %b3
b3:
  %v55 = phi float [ %v35, %b1 ], [ %v51, %b2 ]
  %v56 = phi float [ %v40, %b1 ], [ %v52, %b2 ]
  %v57 = phi float [ %v45, %b1 ], [ %v53, %b2 ]
  %v58 = phi float [ %v50, %b1 ], [ %v54, %b2 ]
  %v59 = fptrunc float %v55 to half
  %v60 = fptrunc float %v56 to half
  %v61 = fptrunc float %v57 to half
  %v62 = fptrunc float %v58 to half
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
