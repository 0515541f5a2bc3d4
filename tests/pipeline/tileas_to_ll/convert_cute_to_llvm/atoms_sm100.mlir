// Atoms of sm_100: tensor memory, products in it, copies to it.
// run: convert-cute-and-cute-nvgpu-to-llvm sm_100

// ---- tensor_memory_is_taken_and_given_back
// seed: lowering-overview companion-cute
func.func @life(%holder: !cute.ptr<i32, smem>) -> i32 {
  cute_nvgpu.arch.sm100.alloc_tmem %holder {columns = 64 : i32} : (!cute.ptr<i32, smem>) -> ()
  cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit : () -> ()
  %t = cute_nvgpu.arch.sm100.retrieve_tmem_ptr %holder : (!cute.ptr<i32, smem>) -> i32
  cute_nvgpu.arch.sm100.dealloc_tmem %t {columns = 64 : i32} : (i32) -> ()
  func.return %t : i32
}
// ==>
func.func @life(%holder: !llvm.ptr<3>) -> i32 {
  llvm.inline_asm has_side_effects "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [$0], 64;", "r,~{memory}" %holder {convergent} : (!llvm.ptr<3>) -> ()
  llvm.inline_asm has_side_effects "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;", "~{memory}" {convergent} : () -> ()
  %t = llvm.load %holder : !llvm.ptr<3> -> i32
  llvm.inline_asm has_side_effects "tcgen05.dealloc.cta_group::1.sync.aligned.b32 $0, 64;", "r,~{memory}" %t {convergent} : (i32) -> ()
  func.return %t : i32
}

// ---- products_of_floats_and_of_integers
// seed: lowering-overview companion-cute
func.func @umma(%d: i32, %a: !cute_nvgpu.smem_desc, %b: !cute_nvgpu.smem_desc, %on: i1) {
  cute_nvgpu.arch.mma.SM100.umma %d, %a, %b, %on {atom = !cute_nvgpu.sm100.mma<"128x64x16 bf16 bf16 f32">} : (i32, !cute_nvgpu.smem_desc, !cute_nvgpu.smem_desc, i1) -> ()
  cute_nvgpu.arch.mma.SM100.umma %d, %a, %b, %on {atom = !cute_nvgpu.sm100.mma<"128x64x32 s8 s8 s32">, cta_group = 1 : i32} : (i32, !cute_nvgpu.smem_desc, !cute_nvgpu.smem_desc, i1) -> ()
  func.return
}
// ==>
func.func @umma(%d: i32, %a: i64, %b: i64, %on: i1) {
  %0 = llvm.mlir.constant(135267472 : i32) : i32
  llvm.inline_asm has_side_effects "tcgen05.mma.cta_group::1.kind::f16 [$0], $1, $2, $3, $4;", "r,l,l,r,b,~{memory}" %d, %a, %b, %0, %on {convergent} : (i32, i64, i64, i32, i1) -> ()
  %1 = llvm.mlir.constant(135267488 : i32) : i32
  llvm.inline_asm has_side_effects "tcgen05.mma.cta_group::1.kind::i8 [$0], $1, $2, $3, $4;", "r,l,l,r,b,~{memory}" %d, %a, %b, %1, %on {convergent} : (i32, i64, i64, i32, i1) -> ()
  func.return
}

// ---- copies_to_tensor_memory
// seed: lowering-overview companion-cute
func.func @s2t(%t: i32, %s: !cute_nvgpu.smem_desc) {
  cute_nvgpu.arch.copy.SM100.copy_s2t %t, %s {shape = "128x256b"} : (i32, !cute_nvgpu.smem_desc) -> ()
  cute_nvgpu.arch.copy.SM100.copy_s2t %t, %s {shape = "32x128b.warpx4", cta_group = 2 : i32} : (i32, !cute_nvgpu.smem_desc) -> ()
  func.return
}
// ==>
func.func @s2t(%t: i32, %s: i64) {
  llvm.inline_asm has_side_effects "tcgen05.cp.cta_group::1.128x256b [$0], $1;", "r,l,~{memory}" %t, %s {convergent} : (i32, i64) -> ()
  %0 = llvm.inline_asm has_side_effects "mov.u32 $0, %cluster_ctarank;", "=r" {convergent} : () -> i32
  %1 = llvm.mlir.constant(2 : i32) : i32
  %2 = llvm.srem %0, %1 : i32
  %3 = llvm.mlir.constant(1 : i32) : i32
  %4 = llvm.and %2, %3 : i32
  %5 = llvm.mlir.constant(0 : i32) : i32
  %6 = llvm.icmp "eq" %4, %5 : i32
  llvm.inline_asm has_side_effects "@$2 tcgen05.cp.cta_group::2.32x128b.warpx4 [$0], $1;", "r,l,b,~{memory}" %t, %s, %6 {convergent} : (i32, i64, i1) -> ()
  func.return
}

// ---- copies_between_tensor_memory_and_registers
// seed: lowering-overview companion-cute
func.func @registers(%t: i32) {
  %a, %b = cute_nvgpu.arch.copy.SM100.tmem_load %t : (i32) -> (i32, i32)
  cute_nvgpu.arch.copy.SM100.tmem_store %t registers(%b, %a) : (i32, i32, i32) -> ()
  func.return
}
// ==>
func.func @registers(%t: i32) {
  %0 = llvm.inline_asm has_side_effects "tcgen05.ld.sync.aligned.32x32b.x2.b32 {$0, $1}, [$2]; tcgen05.wait::ld.sync.aligned;", "=r,=r,r,~{memory}" %t {convergent} : (i32) -> !llvm.struct<(i32, i32)>
  %a = llvm.extractvalue %0[0] : !llvm.struct<(i32, i32)>
  %b = llvm.extractvalue %0[1] : !llvm.struct<(i32, i32)>
  llvm.inline_asm has_side_effects "tcgen05.st.sync.aligned.32x32b.x2.b32 [$0], {$1, $2}; tcgen05.wait::st.sync.aligned;", "r,r,r,~{memory}" %t, %b, %a {convergent} : (i32, i32, i32) -> ()
  func.return
}
