// Two numbers in one instruction, where the target has one that costs no more.
// run: convert-nv-tile-func-to-llvm ll sm_100

// ---- pairs_of_f32
!ints = tensor<128xi32, #cute.layout<(128), (32,1,4):(1,0,32)>>
!tile = tensor<128xf32, #cute.layout<(128), (32,1,4):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%s: f32):
  %i = nv_tileas.make_range : !ints
  %a = arith.sitofp %i : (!ints) -> !tile
  %b = nv_tileas.splat %s : (f32) -> !tile
  %c = nv_tileas.addf %a, %b {rounding_mode = "nearest_even"} : !tile
  %d = nv_tileas.fma %c, %c, %b {rounding_mode = "nearest_even"} : !tile
  %e = nv_tileas.mulf %d, %a {rounding_mode = "zero"} : !tile
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
  %v9 = insertelement <2 x float> poison, float %v5, i32 0
  %v10 = insertelement <2 x float> %v9, float %v6, i32 1
  %v11 = insertelement <2 x float> poison, float %a0, i32 0
  %v12 = insertelement <2 x float> %v11, float %a0, i32 1
  %v13 = fadd <2 x float> %v10, %v12
  %v14 = extractelement <2 x float> %v13, i32 0
  %v15 = extractelement <2 x float> %v13, i32 1
  %v16 = insertelement <2 x float> poison, float %v7, i32 0
  %v17 = insertelement <2 x float> %v16, float %v8, i32 1
  %v18 = fadd <2 x float> %v17, %v12
  %v19 = extractelement <2 x float> %v18, i32 0
  %v20 = extractelement <2 x float> %v18, i32 1
  %v21 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v13, <2 x float> %v13, <2 x float> %v12)
  %v22 = extractelement <2 x float> %v21, i32 0
  %v23 = extractelement <2 x float> %v21, i32 1
  %v24 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v18, <2 x float> %v18, <2 x float> %v12)
  %v25 = extractelement <2 x float> %v24, i32 0
  %v26 = extractelement <2 x float> %v24, i32 1
  %v27 = call float @llvm.nvvm.mul.rz.f(float %v22, float %v5)
  %v28 = call float @llvm.nvvm.mul.rz.f(float %v23, float %v6)
  %v29 = call float @llvm.nvvm.mul.rz.f(float %v25, float %v7)
  %v30 = call float @llvm.nvvm.mul.rz.f(float %v26, float %v8)
  ret void
}

// ---- not_where_they_cost_as_much_as_two
// run: convert-nv-tile-func-to-llvm ll sm_120
!ints = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
!tile = tensor<64xf32, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  %i = nv_tileas.make_range : !ints
  %a = arith.sitofp %i : (!ints) -> !tile
  %b = nv_tileas.subf %a, %a {rounding_mode = "nearest_even"} : !tile
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k() "nvvm.reqntid"="32" {
b0:
  %v0 = call range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v1 = and i32 %v0, 31
  %v2 = add i32 %v1, 32
  %v3 = sitofp i32 %v1 to float
  %v4 = sitofp i32 %v2 to float
  %v5 = fsub float %v3, %v3
  %v6 = fsub float %v4, %v4
  ret void
}

// ---- exp_of_pairs
!ints = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
!tile = tensor<64xf32, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  %i = nv_tileas.make_range : !ints
  %a = arith.sitofp %i : (!ints) -> !tile
  %b = math.exp %a : !tile
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k() "nvvm.reqntid"="32" {
b0:
  %v0 = call range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v1 = and i32 %v0, 31
  %v2 = add i32 %v1, 32
  %v3 = sitofp i32 %v1 to float
  %v4 = sitofp i32 %v2 to float
  %v5 = insertelement <2 x float> poison, float %v3, i32 0
  %v6 = insertelement <2 x float> %v5, float %v4, i32 1
  %v7 = extractelement <2 x float> %v6, i32 0
  %v8 = extractelement <2 x float> %v6, i32 1
  %v9 = call float @llvm.fma.f32(float %v7, float 0x3F777313A0000000, float 0x3FE0000000000000)
  %v10 = call float @llvm.nvvm.saturate.f(float %v9)
  %v11 = call float @llvm.fma.f32(float %v8, float 0x3F777313A0000000, float 0x3FE0000000000000)
  %v12 = call float @llvm.nvvm.saturate.f(float %v11)
  %v13 = insertelement <2 x float> poison, float %v10, i32 0
  %v14 = insertelement <2 x float> %v13, float %v12, i32 1
  %v15 = insertelement <2 x float> poison, float 0x406F800000000000, i32 0
  %v16 = insertelement <2 x float> %v15, float 0x406F800000000000, i32 1
  %v17 = insertelement <2 x float> poison, float 0x4168000020000000, i32 0
  %v18 = insertelement <2 x float> %v17, float 0x4168000020000000, i32 1
  %v19 = bitcast <2 x float> %v14 to i64
  %v20 = bitcast <2 x float> %v16 to i64
  %v21 = bitcast <2 x float> %v18 to i64
  %v22 = call i64 asm "fma.rm.f32x2 $0, $1, $2, $3;", "=l,l,l,l"(i64 %v19, i64 %v20, i64 %v21)
  %v23 = bitcast i64 %v22 to <2 x float>
  %v24 = insertelement <2 x float> poison, float 0xC168000FE0000000, i32 0
  %v25 = insertelement <2 x float> %v24, float 0xC168000FE0000000, i32 1
  %v26 = fadd <2 x float> %v23, %v25
  %v27 = insertelement <2 x float> poison, float 0x3FF7154760000000, i32 0
  %v28 = insertelement <2 x float> %v27, float 0x3FF7154760000000, i32 1
  %v29 = fneg <2 x float> %v26
  %v30 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v6, <2 x float> %v28, <2 x float> %v29)
  %v31 = insertelement <2 x float> poison, float 0x3E54AE0C00000000, i32 0
  %v32 = insertelement <2 x float> %v31, float 0x3E54AE0C00000000, i32 1
  %v33 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v6, <2 x float> %v32, <2 x float> %v30)
  %v34 = extractelement <2 x float> %v33, i32 0
  %v35 = extractelement <2 x float> %v33, i32 1
  %v36 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v34)
  %v37 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v35)
  %v38 = trunc i64 %v22 to i32
  %v39 = call i32 asm "mov.b64 {_, $0}, $1;", "=r,l"(i64 %v22)
  %v40 = shl i32 %v38, 23
  %v41 = bitcast i32 %v40 to float
  %v42 = shl i32 %v39, 23
  %v43 = bitcast i32 %v42 to float
  %v44 = insertelement <2 x float> poison, float %v36, i32 0
  %v45 = insertelement <2 x float> %v44, float %v37, i32 1
  %v46 = insertelement <2 x float> poison, float %v41, i32 0
  %v47 = insertelement <2 x float> %v46, float %v43, i32 1
  %v48 = fmul <2 x float> %v45, %v47
  %v49 = extractelement <2 x float> %v48, i32 0
  %v50 = extractelement <2 x float> %v48, i32 1
  ret void
}
