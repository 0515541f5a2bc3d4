// A part of each thread's elements goes to shared memory, 16 bytes at once, and comes back where it is used.
// run: convert-nv-tile-func-to-llvm ll sm_90

// ---- four_of_eight_elements
!ints = tensor<256xi32, #cute.layout<(256), (32,1,8):(1,0,32)>>
!tile = tensor<256xf32, #cute.layout<(256), (32,1,8):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 640 : i32} {
^bb0(%d: f32):
  %i = nv_tileas.make_range : !ints
  %a = arith.sitofp %i : (!ints) -> !tile
  %p = nv_tileas.spill %a {regs = 4 : i32, shared_offset = 128 : i32} : !tile
  %s = nv_tileas.reduce %p attributes {axis = 0 : i32} : (!tile) -> f32 {
  ^bb1(%x: f32, %y: f32):
    %z = nv_tileas.addf %x, %y {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %z : (f32) -> ()
  }
  %t = nv_tileas.reload %p : !tile
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
  %v16 = sitofp i32 %v8 to float
  %v17 = sitofp i32 %v9 to float
  %v18 = sitofp i32 %v10 to float
  %v19 = sitofp i32 %v11 to float
  call void asm sideeffect "st.shared.v4.b32 [$0+128], {$1, $2, $3, $4};", "r,f,f,f,f,~{memory}"(i32 %v4, float %v16, float %v17, float %v18, float %v19)
  %v20 = fadd float %v16, %v12
  %v21 = fadd float %v17, %v13
  %v22 = fadd float %v18, %v14
  %v23 = fadd float %v19, %v15
  %v24 = fadd float %v22, %v20
  %v25 = fadd float %v23, %v21
  %v26 = fadd float %v25, %v24
  %v27 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v26, i32 1, i32 31)
  %v28 = fadd float %v27, %v26
  %v29 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v28, i32 2, i32 31)
  %v30 = fadd float %v29, %v28
  %v31 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v30, i32 4, i32 31)
  %v32 = fadd float %v31, %v30
  %v33 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v32, i32 8, i32 31)
  %v34 = fadd float %v33, %v32
  %v35 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v34, i32 16, i32 31)
  %v36 = fadd float %v35, %v34
  %v37 = fmul float %v12, %v36
  %v38 = fmul float %v13, %v36
  %v39 = fmul float %v14, %v36
  %v40 = fmul float %v15, %v36
  %v41 = call { float, float, float, float } asm sideeffect "ld.shared.v4.b32 {$0, $1, $2, $3}, [$4+128];", "=&f,=&f,=&f,=&f,r"(i32 %v4)
  %v42 = extractvalue { float, float, float, float } %v41, 0
  %v43 = extractvalue { float, float, float, float } %v41, 1
  %v44 = extractvalue { float, float, float, float } %v41, 2
  %v45 = extractvalue { float, float, float, float } %v41, 3
  %v46 = fmul float %v42, %v36
  %v47 = fmul float %v43, %v36
  %v48 = fmul float %v44, %v36
  %v49 = fmul float %v45, %v36
  %v50 = call float @llvm.maxnum.f32(float %v46, float %v37)
  %v51 = call float @llvm.maxnum.f32(float %v47, float %v38)
  %v52 = call float @llvm.maxnum.f32(float %v48, float %v39)
  %v53 = call float @llvm.maxnum.f32(float %v49, float %v40)
  %v54 = call float @llvm.maxnum.f32(float %v52, float %v50)
  %v55 = call float @llvm.maxnum.f32(float %v53, float %v51)
  %v56 = call float @llvm.maxnum.f32(float %v55, float %v54)
  %v57 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v56, i32 1, i32 31)
  %v58 = call float @llvm.maxnum.f32(float %v57, float %v56)
  %v59 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v58, i32 2, i32 31)
  %v60 = call float @llvm.maxnum.f32(float %v59, float %v58)
  %v61 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v60, i32 4, i32 31)
  %v62 = call float @llvm.maxnum.f32(float %v61, float %v60)
  %v63 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v62, i32 8, i32 31)
  %v64 = call float @llvm.maxnum.f32(float %v63, float %v62)
  %v65 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v64, i32 16, i32 31)
  %v66 = call float @llvm.maxnum.f32(float %v65, float %v64)
  ret void
}
