// Atoms that a GPU does not have, and atoms without a rewriter.
// run: convert-cute-and-cute-nvgpu-to-llvm sm_80

// ---- a_warpgroup_on_sm_80
// seed: lowering-overview companion-cute
func.func @wgmma(%a: !cute_nvgpu.smem_desc, %c: !llvm.struct<(f32)>) {
  %d = cute_nvgpu.arch.mma.SM90 %a, %a, %c {atom = !cute_nvgpu.sm90.mma<"64x8x16 f16 f16 f32">} : (!cute_nvgpu.smem_desc, !cute_nvgpu.smem_desc, !llvm.struct<(f32)>) -> !llvm.struct<(f32)>
  func.return
}
// ==>
// error[atom-target]: 'cute_nvgpu.arch.mma.SM90' op is not available on sm_80; these GPUs have it: sm_90

// ---- tensor_memory_on_sm_90
// run: convert-cute-and-cute-nvgpu-to-llvm sm_90
func.func @life(%holder: !cute.ptr<i32, smem>) {
  cute_nvgpu.arch.sm100.alloc_tmem %holder {columns = 64 : i32} : (!cute.ptr<i32, smem>) -> ()
  func.return
}
// ==>
// error[atom-target]: 'cute_nvgpu.arch.sm100.alloc_tmem' op is not available on sm_90; these GPUs have it: sm_100, sm_103, sm_107, sm_110

// ---- integers_where_the_variant_has_none
// run: convert-cute-and-cute-nvgpu-to-llvm sm_103
func.func @imma(%d: i32, %a: !cute_nvgpu.smem_desc, %on: i1) {
  cute_nvgpu.arch.mma.SM100.umma %d, %a, %a, %on {atom = !cute_nvgpu.sm100.mma<"128x64x32 s8 s8 s32">} : (i32, !cute_nvgpu.smem_desc, !cute_nvgpu.smem_desc, i1) -> ()
  func.return
}
// ==>
// error[umma-kind]: 'cute_nvgpu.arch.mma.SM100.umma' op INT8 type is supported only on arch-conditional variants.

// ---- an_mma_that_no_instruction_has
func.func @mma(%a: i32, %c: f32) {
  %d = cute_nvgpu.arch.mma.SM80 a(%a) b(%a) c(%c) {atom = !cute_nvgpu.sm80.mma<"16x8x17 f16 f16 f32">} : (i32, i32, f32) -> f32
  func.return
}
// ==>
// error[atom-target]: 'cute_nvgpu.arch.mma.SM80' op multiplies '16x8x17 f16 f16 f32', which sm_80 does not

// ---- an_atom_without_a_rewriter
// seed: lowering-overview companion-cute
func.func @call(%g: !cute.memref<f32, gmem, "4:1">, %s: !cute.memref<f32, smem, "4:1">) {
  %atom = cute.make_atom : () -> !cute_nvgpu.atom.tmem_load<"x4">
  cute.copy_atom_call %atom, %g, %s : (!cute_nvgpu.atom.tmem_load<"x4">, !cute.memref<f32, gmem, "4:1">, !cute.memref<f32, smem, "4:1">) -> ()
  func.return
}
// ==>
// error[atom-call]: 'cute.copy_atom_call' op has no rewriter for !cute_nvgpu.atom.tmem_load<"x4">; see convert_cute_to_llvm: ATOMS

// ---- a_swizzle_that_no_descriptor_has
func.func @swizzle(%s: !cute.memref<f16, smem, "S<2,4,2> o 0 o (64,64):(64,1)">) {
  %d = cute_nvgpu.smem_desc_view %s : (!cute.memref<f16, smem, "S<2,4,2> o 0 o (64,64):(64,1)">) -> !cute_nvgpu.smem_desc
  func.return
}
// ==>
// error[smem-desc-swizzle]: 'cute_nvgpu.smem_desc_view' op unsupported swizzle, got S<2,4,2>

// ---- a_scaled_mma_of_an_atom_without_scales
// run: convert-cute-and-cute-nvgpu-to-llvm sm_100
func.func @scaled(%t: !llvm.ptr<6>, %a: i64, %on: i1) {
  cute_nvgpu.arch.mma.SM100.umma_block_scaled %t, %a, %a, %on, %t, %t {atom = !cute_nvgpu.sm100.mma<"128x64x16 f16 f16 f32">} : (!llvm.ptr<6>, i64, i64, i1, !llvm.ptr<6>, !llvm.ptr<6>) -> ()
  func.return
}
// ==>
// error[umma-scales]: 'cute_nvgpu.arch.mma.SM100.umma_block_scaled' op has the atom !cute_nvgpu.sm100.mma<"128x64x16 f16 f16 f32">, which has no scales

// ---- too_few_registers_for_the_matrices
// run: convert-cute-and-cute-nvgpu-to-llvm sm_90
func.func @few(%s: i32) {
  cute_nvgpu.arch.copy.stsm %s registers(%s) {atom = !cute_nvgpu.atom.stsm<"8x8 x2">} : (i32, i32) -> ()
  func.return
}
// ==>
// error[atom-parameters]: 'cute_nvgpu.arch.copy.stsm' op copies '8x8 x2' from 1 registers

// ---- a_reduction_that_no_instruction_has
// run: convert-cute-and-cute-nvgpu-to-llvm sm_90
// seed: nvgpu-gpu-to-nvvm tma-reduce
func.func @reduce(%s: !cute.ptr<f16, smem>, %m: !cute_nvgpu.tma_desc, %i: i32) {
  cute_nvgpu.arch.copy.SM100.tma_reduce %m, %s coords(%i, %i) {kind = "mul"} : (!cute_nvgpu.tma_desc, !cute.ptr<f16, smem>, i32, i32) -> ()
  func.return
}
// ==>
// error[tma-reduce]: 'cute_nvgpu.arch.copy.SM100.tma_reduce' op needs a kind of add, min, max, inc, dec, and, or, xor and the mode tile with 1 to 5 coordinates or im2col with 3 to 5 coordinates

// ---- im2col_of_two_dimensions
// run: convert-cute-and-cute-nvgpu-to-llvm sm_90
// seed: nvgpu-gpu-to-nvvm tma-reduce
func.func @reduce(%s: !cute.ptr<f16, smem>, %m: !cute_nvgpu.tma_desc, %i: i32) {
  cute_nvgpu.arch.copy.SM100.tma_reduce %m, %s coords(%i, %i) {kind = "add", mode = "im2col"} : (!cute_nvgpu.tma_desc, !cute.ptr<f16, smem>, i32, i32) -> ()
  func.return
}
// ==>
// error[tma-reduce]: 'cute_nvgpu.arch.copy.SM100.tma_reduce' op needs a kind of add, min, max, inc, dec, and, or, xor and the mode tile with 1 to 5 coordinates or im2col with 3 to 5 coordinates

// ---- a_reduction_of_six_dimensions
// run: convert-cute-and-cute-nvgpu-to-llvm sm_90
// seed: nvgpu-gpu-to-nvvm tma-reduce
func.func @reduce(%s: !cute.ptr<f16, smem>, %m: !cute_nvgpu.tma_desc, %i: i32) {
  cute_nvgpu.arch.copy.SM100.tma_reduce %m, %s coords(%i, %i, %i, %i, %i, %i) {kind = "add"} : (!cute_nvgpu.tma_desc, !cute.ptr<f16, smem>, i32, i32, i32, i32, i32, i32) -> ()
  func.return
}
// ==>
// error[tma-reduce]: 'cute_nvgpu.arch.copy.SM100.tma_reduce' op needs a kind of add, min, max, inc, dec, and, or, xor and the mode tile with 1 to 5 coordinates or im2col with 3 to 5 coordinates

// ---- an_mma_of_elements_that_do_not_exist
// run: convert-cute-and-cute-nvgpu-to-llvm sm_80
func.func @nothing() {
  %atom = cute.make_atom : () -> !cute_nvgpu.sm80.mma<"16x8x16 f16 f15 f32">
  %a = cute.memref.alloca : () -> !cute.memref<f16, rmem, "8:1">
  %c = cute.memref.alloca : () -> !cute.memref<f32, rmem, "4:1">
  cute.mma_atom_call %atom, %c, %a, %a, %c : (!cute_nvgpu.sm80.mma<"16x8x16 f16 f15 f32">, !cute.memref<f32, rmem, "4:1">, !cute.memref<f16, rmem, "8:1">, !cute.memref<f16, rmem, "8:1">, !cute.memref<f32, rmem, "4:1">) -> ()
  func.return
}
// ==>
// error[atom-parameters]: 'cute.mma_atom_call' op has the atom !cute_nvgpu.sm80.mma<"16x8x16 f16 f15 f32">: no MMA has elements of f15
