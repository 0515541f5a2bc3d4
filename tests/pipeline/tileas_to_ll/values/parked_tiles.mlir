// A part of each thread's elements goes to shared memory, 16 bytes at once, and comes back where it is used.
// run: convert-nv-tile-func-to-llvm ll sm_90

// ---- four_of_eight_elements
!ints = tensor<256xi32, #cute.layout<(256), (32,1,8):(1,0,32)>>
!tile = tensor<256xf32, #cute.layout<(256), (32,1,8):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 640 : i32} {
^bb0(%d: f32):
  %i = nv_tileas.make_range : !ints
  %a = arith.sitofp %i : (!ints) -> !tile
  %p = nv_tileas.park %a {words = 4 : i32, shared_offset = 128 : i32} : !tile
  %s = nv_tileas.reduce %p attributes {axis = 0 : i32} : (!tile) -> f32 {
  ^bb1(%x: f32, %y: f32):
    %z = nv_tileas.addf %x, %y {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %z : (f32) -> ()
  }
  %t = nv_tileas.take_back %p : !tile
  %b = nv_tileas.splat %s : (f32) -> !tile
  %c = nv_tileas.mulf %t, %b {rounding_mode = "nearest_even"} : !tile
  %u = nv_tileas.reduce %c attributes {axis = 0 : i32} : (!tile) -> f32 {
  ^bb2(%v: f32, %w: f32):
    %q = arith.maxnumf %v, %w : f32
    nv_tileas.yield %q : (f32) -> ()
  }
  nv_tileaa.return
}
// ==>
@global_smem = internal addrspace(3) global [640 x i8] undef, align 1024

define ptx_kernel void @k(float %a0) "nvvm.reqntid"="32" {
b0:
  %v0 = call range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v1 = and i32 %v0, 31
  %v2 = mul i32 %v0, 16
  %v3 = ptrtoint ptr addrspace(3) @global_smem to i32
  %v4 = add i32 %v2, %v3
  %v5 = add i32 %v1, 32
  %v6 = add i32 %v1, 64
  %v7 = add i32 %v1, 96
  %v8 = add i32 %v1, 128
  %v9 = add i32 %v1, 160
  %v10 = add i32 %v1, 192
  %v11 = add i32 %v1, 224
  %v12 = sitofp i32 %v1 to float
  %v13 = sitofp i32 %v5 to float
  %v14 = sitofp i32 %v6 to float
  %v15 = sitofp i32 %v7 to float
  call void asm sideeffect "st.shared.v4.b32 [$0+128], {$1, $2, $3, $4};", "r,f,f,f,f,~{memory}"(i32 %v4, float %v12, float %v13, float %v14, float %v15)
  %v16 = sitofp i32 %v8 to float
  %v17 = sitofp i32 %v9 to float
  %v18 = sitofp i32 %v10 to float
  %v19 = sitofp i32 %v11 to float
  %v20 = fadd float %v16, %v12
  %v21 = fadd float %v17, %v13
  %v22 = fadd float %v18, %v14
  %v23 = fadd float %v19, %v15
  %v24 = fadd float %v22, %v20
  %v25 = fadd float %v23, %v21
  %v26 = fadd float %v25, %v24
  %v27 = bitcast float %v26 to i32
  %v28 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v27, i32 1, i32 31)
  %v29 = bitcast i32 %v28 to float
  %v30 = fadd float %v29, %v26
  %v31 = bitcast float %v30 to i32
  %v32 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v31, i32 2, i32 31)
  %v33 = bitcast i32 %v32 to float
  %v34 = fadd float %v33, %v30
  %v35 = bitcast float %v34 to i32
  %v36 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v35, i32 4, i32 31)
  %v37 = bitcast i32 %v36 to float
  %v38 = fadd float %v37, %v34
  %v39 = bitcast float %v38 to i32
  %v40 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v39, i32 8, i32 31)
  %v41 = bitcast i32 %v40 to float
  %v42 = fadd float %v41, %v38
  %v43 = bitcast float %v42 to i32
  %v44 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v43, i32 16, i32 31)
  %v45 = bitcast i32 %v44 to float
  %v46 = fadd float %v45, %v42
  %v47 = call { float, float, float, float } asm sideeffect "ld.shared.v4.b32 {$0, $1, $2, $3}, [$4+128];", "=&f,=&f,=&f,=&f,r"(i32 %v4)
  %v48 = extractvalue { float, float, float, float } %v47, 0
  %v49 = extractvalue { float, float, float, float } %v47, 1
  %v50 = extractvalue { float, float, float, float } %v47, 2
  %v51 = extractvalue { float, float, float, float } %v47, 3
  %v52 = fmul float %v48, %v46
  %v53 = fmul float %v49, %v46
  %v54 = fmul float %v50, %v46
  %v55 = fmul float %v51, %v46
  %v56 = fmul float %v16, %v46
  %v57 = fmul float %v17, %v46
  %v58 = fmul float %v18, %v46
  %v59 = fmul float %v19, %v46
  %v60 = call float @llvm.maxnum.f32(float %v56, float %v52)
  %v61 = call float @llvm.maxnum.f32(float %v57, float %v53)
  %v62 = call float @llvm.maxnum.f32(float %v58, float %v54)
  %v63 = call float @llvm.maxnum.f32(float %v59, float %v55)
  %v64 = call float @llvm.maxnum.f32(float %v62, float %v60)
  %v65 = call float @llvm.maxnum.f32(float %v63, float %v61)
  %v66 = call float @llvm.maxnum.f32(float %v65, float %v64)
  %v67 = bitcast float %v66 to i32
  %v68 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v67, i32 1, i32 31)
  %v69 = bitcast i32 %v68 to float
  %v70 = call float @llvm.maxnum.f32(float %v69, float %v66)
  %v71 = bitcast float %v70 to i32
  %v72 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v71, i32 2, i32 31)
  %v73 = bitcast i32 %v72 to float
  %v74 = call float @llvm.maxnum.f32(float %v73, float %v70)
  %v75 = bitcast float %v74 to i32
  %v76 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v75, i32 4, i32 31)
  %v77 = bitcast i32 %v76 to float
  %v78 = call float @llvm.maxnum.f32(float %v77, float %v74)
  %v79 = bitcast float %v78 to i32
  %v80 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v79, i32 8, i32 31)
  %v81 = bitcast i32 %v80 to float
  %v82 = call float @llvm.maxnum.f32(float %v81, float %v78)
  %v83 = bitcast float %v82 to i32
  %v84 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v83, i32 16, i32 31)
  %v85 = bitcast i32 %v84 to float
  %v86 = call float @llvm.maxnum.f32(float %v85, float %v82)
  ret void
}
