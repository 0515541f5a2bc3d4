// Each thread sends the shards of other CTAs to the same thread there, and adds what it receives.
// run: convert-nv-tile-func-to-llvm ll sm_90

// ---- two_ctas_have_two_elements_of_each_thread
!whole = tensor<128xf32, #cute.layout<(128), (32,1,4):(1,0,32)>>
!shard = tensor<64xf32, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32, num_ctas = 2 : i32, shared_bytes = 512 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>):
  %i = nv_tileas.make_range : tensor<128xi32, #cute.layout<(128), (32,1,4):(1,0,32)>>
  %a = arith.sitofp %i : (tensor<128xi32, #cute.layout<(128), (32,1,4):(1,0,32)>>) -> !whole
  %r = nv_tileas.cluster_reduce %a {dim = 0 : i32, scratch_bytes = 512 : i32, scratch_offset = 0 : i32} : (!whole) -> !shard
  %q = nv_tileas.splat %p : (!nv_tileaa.ptr<f32>) -> tensor<64x!nv_tileaa.ptr<f32>, #cute.layout<(64), (32,1,2):(1,0,32)>>
  %u = nv_tileas.store %q, %r {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>, #cute.layout<(64), (32,1,2):(1,0,32)>>, !shard) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
@global_smem = internal addrspace(3) global [512 x i8] undef, align 1024

define ptx_kernel void @k(ptr addrspace(1) %a0) "nvvm.reqntid"="32" "nvvm.cluster_dim"="2,1,1" "nvvm.blocksareclusters" {
b0:
  %v0 = call range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v1 = and i32 %v0, 31
  %v2 = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
  %v3 = mul i32 %v0, 16
  %v4 = ptrtoint ptr addrspace(3) @global_smem to i32
  %v5 = add i32 %v3, %v4
  %v6 = add i32 %v1, 32
  %v7 = add i32 %v1, 64
  %v8 = add i32 %v1, 96
  %v9 = sitofp i32 %v1 to float
  %v10 = sitofp i32 %v6 to float
  %v11 = sitofp i32 %v7 to float
  %v12 = sitofp i32 %v8 to float
  call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  %v13 = sub i32 %v2, 1
  %v14 = and i32 %v13, 1
  %v15 = icmp ne i32 %v2, 0
  %v16 = mul i32 %v14, 512
  %v17 = add i32 %v5, %v16
  %v18 = call i32 asm "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r"(i32 %v17, i32 0)
  call void asm sideeffect "@$3 st.shared::cluster.v2.b32 [$0], {$1, $2};", "r,f,f,b,~{memory}"(i32 %v18, float %v9, float %v10, i1 %v15)
  %v19 = sub i32 %v2, 2
  %v20 = and i32 %v19, 1
  %v21 = icmp ne i32 %v2, 1
  %v22 = mul i32 %v20, 512
  %v23 = add i32 %v5, %v22
  %v24 = call i32 asm "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r"(i32 %v23, i32 1)
  call void asm sideeffect "@$3 st.shared::cluster.v2.b32 [$0], {$1, $2};", "r,f,f,b,~{memory}"(i32 %v24, float %v11, float %v12, i1 %v21)
  call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  %v25 = icmp eq i32 %v2, 1
  %v26 = select i1 %v25, float %v11, float %v9
  %v27 = select i1 %v25, float %v12, float %v10
  %v28 = call { float, float } asm sideeffect "ld.shared.v2.b32 {$0, $1}, [$2];", "=&f,=&f,r"(i32 %v5)
  %v29 = extractvalue { float, float } %v28, 0
  %v30 = extractvalue { float, float } %v28, 1
  %v31 = fadd float %v26, %v29
  %v32 = fadd float %v27, %v30
  call void asm sideeffect "st.global.b32 [$0], $1;", "l,f,~{memory}"(ptr addrspace(1) %a0, float %v31)
  call void asm sideeffect "st.global.b32 [$0], $1;", "l,f,~{memory}"(ptr addrspace(1) %a0, float %v32)
  ret void
}
