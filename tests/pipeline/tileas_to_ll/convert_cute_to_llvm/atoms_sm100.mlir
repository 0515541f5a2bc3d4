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
  %0 = llvm.mlir.constant(64 : i32) : i32
  nvvm.tcgen05.alloc %holder, %0 {group = "cg1"} : (!llvm.ptr<3>, i32) -> ()
  nvvm.tcgen05.relinquish_alloc_permit {group = "cg1"}
  %t = llvm.load %holder {volatile_, alignment = 4 : i64} : !llvm.ptr<3> -> i32
  %1 = llvm.inttoptr %t : i32 to !llvm.ptr<6>
  %2 = llvm.mlir.constant(64 : i32) : i32
  nvvm.tcgen05.dealloc %1, %2 {group = "cg1"} : (!llvm.ptr<6>, i32) -> ()
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
  %0 = llvm.inttoptr %d : i32 to !llvm.ptr<6>
  %1 = llvm.mlir.constant(135267472 : i32) : i32
  nvvm.tcgen05.mma %0, %a, %b, %1, %on {mma_kind = 0 : i64, ctas = 1 : i64} : (!llvm.ptr<6>, i64, i64, i32, i1) -> ()
  %2 = llvm.inttoptr %d : i32 to !llvm.ptr<6>
  %3 = llvm.mlir.constant(135267488 : i32) : i32
  nvvm.tcgen05.mma %2, %a, %b, %3, %on {mma_kind = 3 : i64, ctas = 1 : i64} : (!llvm.ptr<6>, i64, i64, i32, i1) -> ()
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
  nvvm.tcgen05.cp %t, %s {shape = "128x256b", group = "cg1"} : (i32, i64) -> ()
  %0 = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %1 = llvm.mlir.constant(2 : i32) : i32
  %2 = llvm.srem %0, %1 : i32
  %3 = llvm.mlir.constant(1 : i32) : i32
  %4 = llvm.and %2, %3 : i32
  %5 = llvm.mlir.constant(0 : i32) : i32
  %6 = llvm.icmp "eq" %4, %5 : i32
  nvvm.tcgen05.cp %t, %s predicate(%6) {shape = "32x128b.warpx4", group = "cg2"} : (i32, i64, i1) -> ()
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
  %0 = llvm.inttoptr %t : i32 to !llvm.ptr<6>
  %1 = nvvm.tcgen05.ld %0 {shape = "32x32b", repetitions = 2 : i64} : (!llvm.ptr<6>) -> vector<2xi32>
  nvvm.tcgen05.wait.ld
  %2 = llvm.mlir.constant(0 : i32) : i32
  %a = llvm.extractelement %1[%2 : i32] : vector<2xi32>
  %3 = llvm.mlir.constant(1 : i32) : i32
  %b = llvm.extractelement %1[%3 : i32] : vector<2xi32>
  %4 = llvm.mlir.undef : vector<2xi32>
  %5 = llvm.mlir.constant(0 : i32) : i32
  %6 = llvm.insertelement %b, %4[%5 : i32] : vector<2xi32>
  %7 = llvm.mlir.constant(1 : i32) : i32
  %8 = llvm.insertelement %a, %6[%7 : i32] : vector<2xi32>
  %9 = llvm.inttoptr %t : i32 to !llvm.ptr<6>
  nvvm.tcgen05.st %9, %8 {shape = "32x32b", repetitions = 2 : i64} : (!llvm.ptr<6>, vector<2xi32>) -> ()
  nvvm.tcgen05.wait.st
  func.return
}

// ---- what_kernels_ask_of_tensor_memory
// seed: lowering-overview companion-cute
func.func @kernel(%holder: !llvm.ptr<3>, %a: i64, %on: i1) {
  cute_nvgpu.arch.sm100.alloc_tmem %holder {columns = 64 : i64, cta_group = 2 : i64} : (!llvm.ptr<3>) -> ()
  %t = cute_nvgpu.arch.sm100.retrieve_tmem_ptr %holder : (!llvm.ptr<3>) -> !llvm.ptr<6>
  cute_nvgpu.arch.mma.SM100.umma %t, %t, %a, %on {atom = !cute_nvgpu.sm100.mma<"256x64x16 f16 f16 f32">, cta_group = 2 : i64, b_mn_major} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i1) -> ()
  cute_nvgpu.arch.mma.SM100.umma_block_scaled %t, %a, %a, %on, %t, %t {atom = !cute_nvgpu.sm100.mma_bs<"128x64x64 e2m1 e2m1 f32 ue4m3 16">, scale_byte = 2 : i64} : (!llvm.ptr<6>, i64, i64, i1, !llvm.ptr<6>, !llvm.ptr<6>) -> ()
  %w = cute_nvgpu.arch.copy.SM100.tmem_load %t {shape = "16x64b", repetitions = 4 : i64, async} : (!llvm.ptr<6>) -> vector<4xi32>
  cute_nvgpu.arch.copy.SM100.tmem_store %t registers(%w) {shape = "16x64b", repetitions = 4 : i64, async} : (!llvm.ptr<6>, vector<4xi32>) -> ()
  func.return
}
// ==>
func.func @kernel(%holder: !llvm.ptr<3>, %a: i64, %on: i1) {
  %0 = llvm.mlir.constant(64 : i32) : i32
  nvvm.tcgen05.alloc %holder, %0 {group = "cg2"} : (!llvm.ptr<3>, i32) -> ()
  %1 = llvm.load %holder {volatile_, alignment = 4 : i64} : !llvm.ptr<3> -> i32
  %t = llvm.inttoptr %1 : i32 to !llvm.ptr<6>
  %2 = llvm.mlir.constant(269549584 : i32) : i32
  nvvm.tcgen05.mma %t, %t, %a, %2, %on {mma_kind = 0 : i64, ctas = 2 : i64} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1) -> ()
  %3 = llvm.mlir.constant(1209009312 : i32) : i32
  nvvm.tcgen05.mma.block_scale %t, %a, %a, %3, %on, %t, %t {mma_kind = "mxf4nvf4.block_scale.block16", ctas = 1 : i64} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>) -> ()
  %w = nvvm.tcgen05.ld %t {shape = "16x64b", repetitions = 4 : i64} : (!llvm.ptr<6>) -> vector<4xi32>
  nvvm.tcgen05.st %t, %w {shape = "16x64b", repetitions = 4 : i64} : (!llvm.ptr<6>, vector<4xi32>) -> ()
  func.return
}
