// Atoms of sm_80 and sm_89: mma.sync, ldmatrix, stmatrix, cp.async, plain copies.
// run: convert-cute-and-cute-nvgpu-to-llvm sm_90

// ---- a_product_of_registers
// seed: lowering-overview companion-cute
func.func @mma(%a: i32, %b: i32, %c: f32) -> f32 {
  %d0, %d1, %d2, %d3 = cute_nvgpu.arch.mma.SM80 a(%a, %a, %a, %a) b(%b, %b) c(%c, %c, %c, %c) {atom = !cute_nvgpu.sm80.mma<"16x8x16 bf16 bf16 f32">} : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  func.return %d0 : f32
}
// ==>
func.func @mma(%a: i32, %b: i32, %c: f32) -> f32 {
  %0 = nvvm.mma.sync.atom a(%a, %a, %a, %a) b(%b, %b) c(%c, %c, %c, %c) {atom = "mma_m16n8k16_bf16_bf16_f32"} : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %d0 = llvm.extractvalue %0[0] : !llvm.struct<(f32, f32, f32, f32)>
  %d1 = llvm.extractvalue %0[1] : !llvm.struct<(f32, f32, f32, f32)>
  %d2 = llvm.extractvalue %0[2] : !llvm.struct<(f32, f32, f32, f32)>
  %d3 = llvm.extractvalue %0[3] : !llvm.struct<(f32, f32, f32, f32)>
  func.return %d0 : f32
}

// ---- a_product_of_fragments
// seed: lowering-overview companion-cute
func.func @call() {
  %atom = cute.make_atom : () -> !cute_nvgpu.sm80.mma<"16x8x32 s8 s8 s32">
  %a = cute.memref.alloca : () -> !cute.memref<i8, rmem, "16:1">
  %b = cute.memref.alloca : () -> !cute.memref<i8, rmem, "8:1">
  %c = cute.memref.alloca : () -> !cute.memref<i32, rmem, "4:1">
  cute.mma_atom_call %atom, %c, %a, %b, %c : (!cute_nvgpu.sm80.mma<"16x8x32 s8 s8 s32">, !cute.memref<i32, rmem, "4:1">, !cute.memref<i8, rmem, "16:1">, !cute.memref<i8, rmem, "8:1">, !cute.memref<i32, rmem, "4:1">) -> ()
  func.return
}
// ==>
func.func @call() {
  %0 = llvm.mlir.constant(1 : i32) : i32
  %1 = llvm.alloca %0 x !llvm.array<16 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
  %2 = llvm.addrspacecast %1 : !llvm.ptr to !llvm.ptr<5>
  %3 = llvm.mlir.constant(1 : i32) : i32
  %4 = llvm.alloca %3 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
  %5 = llvm.addrspacecast %4 : !llvm.ptr to !llvm.ptr<5>
  %6 = llvm.mlir.constant(1 : i32) : i32
  %7 = llvm.alloca %6 x !llvm.array<4 x i32> {alignment = 16 : i64} : (i32) -> !llvm.ptr
  %8 = llvm.addrspacecast %7 : !llvm.ptr to !llvm.ptr<5>
  %9 = llvm.load %2 : !llvm.ptr<5> -> i32
  %10 = llvm.getelementptr %2[1] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  %11 = llvm.load %10 : !llvm.ptr<5> -> i32
  %12 = llvm.getelementptr %2[2] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  %13 = llvm.load %12 : !llvm.ptr<5> -> i32
  %14 = llvm.getelementptr %2[3] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  %15 = llvm.load %14 : !llvm.ptr<5> -> i32
  %16 = llvm.load %5 : !llvm.ptr<5> -> i32
  %17 = llvm.getelementptr %5[1] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  %18 = llvm.load %17 : !llvm.ptr<5> -> i32
  %19 = llvm.load %8 : !llvm.ptr<5> -> i32
  %20 = llvm.getelementptr %8[1] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  %21 = llvm.load %20 : !llvm.ptr<5> -> i32
  %22 = llvm.getelementptr %8[2] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  %23 = llvm.load %22 : !llvm.ptr<5> -> i32
  %24 = llvm.getelementptr %8[3] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  %25 = llvm.load %24 : !llvm.ptr<5> -> i32
  %26 = nvvm.mma.sync.atom a(%9, %11, %13, %15) b(%16, %18) c(%19, %21, %23, %25) {atom = "mma_m16n8k32_i8_i8_i32", satfinite} : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
  %27 = llvm.extractvalue %26[0] : !llvm.struct<(i32, i32, i32, i32)>
  %28 = llvm.extractvalue %26[1] : !llvm.struct<(i32, i32, i32, i32)>
  %29 = llvm.extractvalue %26[2] : !llvm.struct<(i32, i32, i32, i32)>
  %30 = llvm.extractvalue %26[3] : !llvm.struct<(i32, i32, i32, i32)>
  llvm.store %27, %8 : i32, !llvm.ptr<5>
  %31 = llvm.getelementptr %8[1] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  llvm.store %28, %31 : i32, !llvm.ptr<5>
  %32 = llvm.getelementptr %8[2] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  llvm.store %29, %32 : i32, !llvm.ptr<5>
  %33 = llvm.getelementptr %8[3] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  llvm.store %30, %33 : i32, !llvm.ptr<5>
  func.return
}

// ---- matrices_to_and_from_shared_memory
// seed: lowering-overview companion-cute
func.func @matrices(%s: !cute.memref<f16, smem, "(8,8):(8,1)">) {
  %load = cute.make_atom : () -> !cute_nvgpu.atom.ldsm<"8x8 x4 trans">
  %store = cute.make_atom : () -> !cute_nvgpu.atom.stsm<"8x8 x4">
  %r = cute.memref.alloca : () -> !cute.memref<f16, rmem, "8:1">
  cute.copy_atom_call %load, %s, %r : (!cute_nvgpu.atom.ldsm<"8x8 x4 trans">, !cute.memref<f16, smem, "(8,8):(8,1)">, !cute.memref<f16, rmem, "8:1">) -> ()
  cute.copy_atom_call %store, %r, %s : (!cute_nvgpu.atom.stsm<"8x8 x4">, !cute.memref<f16, rmem, "8:1">, !cute.memref<f16, smem, "(8,8):(8,1)">) -> ()
  func.return
}
// ==>
func.func @matrices(%s: !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>) {
  %0 = llvm.extractvalue %s[0] : !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>
  %1 = llvm.extractvalue %s[1] : !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>
  %2 = llvm.extractvalue %1[0] : !llvm.struct<(i32, i32, i32, i32)>
  %3 = llvm.extractvalue %1[1] : !llvm.struct<(i32, i32, i32, i32)>
  %4 = llvm.extractvalue %1[2] : !llvm.struct<(i32, i32, i32, i32)>
  %5 = llvm.extractvalue %1[3] : !llvm.struct<(i32, i32, i32, i32)>
  %6 = llvm.mlir.constant(1 : i32) : i32
  %7 = llvm.alloca %6 x !llvm.array<8 x f16> {alignment = 16 : i64} : (i32) -> !llvm.ptr
  %8 = llvm.addrspacecast %7 : !llvm.ptr to !llvm.ptr<5>
  %9 = nvvm.ldmatrix.sync.aligned %0 {offset = 0 : i64, transposed} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
  %10 = llvm.extractvalue %9[0] : !llvm.struct<(i32, i32, i32, i32)>
  %11 = llvm.extractvalue %9[1] : !llvm.struct<(i32, i32, i32, i32)>
  %12 = llvm.extractvalue %9[2] : !llvm.struct<(i32, i32, i32, i32)>
  %13 = llvm.extractvalue %9[3] : !llvm.struct<(i32, i32, i32, i32)>
  llvm.store %10, %8 : i32, !llvm.ptr<5>
  %14 = llvm.getelementptr %8[1] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  llvm.store %11, %14 : i32, !llvm.ptr<5>
  %15 = llvm.getelementptr %8[2] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  llvm.store %12, %15 : i32, !llvm.ptr<5>
  %16 = llvm.getelementptr %8[3] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  llvm.store %13, %16 : i32, !llvm.ptr<5>
  %17 = llvm.load %8 : !llvm.ptr<5> -> i32
  %18 = llvm.getelementptr %8[1] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  %19 = llvm.load %18 : !llvm.ptr<5> -> i32
  %20 = llvm.getelementptr %8[2] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  %21 = llvm.load %20 : !llvm.ptr<5> -> i32
  %22 = llvm.getelementptr %8[3] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i32
  %23 = llvm.load %22 : !llvm.ptr<5> -> i32
  nvvm.stmatrix.sync.aligned %0 values(%17, %19, %21, %23) {offset = 0 : i64} : (!llvm.ptr<3>, i32, i32, i32, i32) -> ()
  func.return
}

// ---- asynchronous_copies
// seed: lowering-overview companion-cute
func.func @copies(%g: !cute.memref<f32, gmem, "4:1">, %s: !cute.memref<f32, smem, "4:1">, %n: i32) {
  %atom = cute.make_atom : () -> !cute_nvgpu.atom.simt_async_copy<"16">
  cute.copy_atom_call %atom, %g, %s : (!cute_nvgpu.atom.simt_async_copy<"16">, !cute.memref<f32, gmem, "4:1">, !cute.memref<f32, smem, "4:1">) -> ()
  cute_nvgpu.arch.copy.SM80.cp_async %g, %s bytes(%n) {size = 8 : i32} : (!cute.memref<f32, gmem, "4:1">, !cute.memref<f32, smem, "4:1">, i32) -> ()
  func.return
}
// ==>
func.func @copies(%g: !llvm.struct<(!llvm.ptr<1>, !llvm.struct<(i32, i32)>)>, %s: !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32)>)>, %n: i32) {
  %0 = llvm.extractvalue %s[0] : !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32)>)>
  %1 = llvm.extractvalue %s[1] : !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32)>)>
  %2 = llvm.extractvalue %1[0] : !llvm.struct<(i32, i32)>
  %3 = llvm.extractvalue %1[1] : !llvm.struct<(i32, i32)>
  %4 = llvm.extractvalue %g[0] : !llvm.struct<(!llvm.ptr<1>, !llvm.struct<(i32, i32)>)>
  %5 = llvm.extractvalue %g[1] : !llvm.struct<(!llvm.ptr<1>, !llvm.struct<(i32, i32)>)>
  %6 = llvm.extractvalue %5[0] : !llvm.struct<(i32, i32)>
  %7 = llvm.extractvalue %5[1] : !llvm.struct<(i32, i32)>
  nvvm.cp.async.shared.global %0, %4, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.shared.global %0, %4, 8, cache = ca, %n : !llvm.ptr<3>, !llvm.ptr<1>, i32
  func.return
}

// ---- plain_copies_and_products
// seed: lowering-overview companion-cute
func.func @plain(%g: !cute.memref<f32, gmem, "4:1">) {
  %copy = cute.make_atom : () -> !cute_nvgpu.atom.universal_copy<"128">
  %fma = cute.make_atom : () -> !cute_nvgpu.atom.universal_fma<"f32">
  %r = cute.memref.alloca : () -> !cute.memref<f32, rmem, "4:1">
  cute.copy_atom_call %copy, %g, %r : (!cute_nvgpu.atom.universal_copy<"128">, !cute.memref<f32, gmem, "4:1">, !cute.memref<f32, rmem, "4:1">) -> ()
  cute.mma_atom_call %fma, %r, %r, %r, %r : (!cute_nvgpu.atom.universal_fma<"f32">, !cute.memref<f32, rmem, "4:1">, !cute.memref<f32, rmem, "4:1">, !cute.memref<f32, rmem, "4:1">, !cute.memref<f32, rmem, "4:1">) -> ()
  func.return
}
// ==>
func.func @plain(%g: !llvm.struct<(!llvm.ptr<1>, !llvm.struct<(i32, i32)>)>) {
  %0 = llvm.extractvalue %g[0] : !llvm.struct<(!llvm.ptr<1>, !llvm.struct<(i32, i32)>)>
  %1 = llvm.extractvalue %g[1] : !llvm.struct<(!llvm.ptr<1>, !llvm.struct<(i32, i32)>)>
  %2 = llvm.extractvalue %1[0] : !llvm.struct<(i32, i32)>
  %3 = llvm.extractvalue %1[1] : !llvm.struct<(i32, i32)>
  %4 = llvm.mlir.constant(1 : i32) : i32
  %5 = llvm.alloca %4 x !llvm.array<4 x f32> {alignment = 16 : i64} : (i32) -> !llvm.ptr
  %6 = llvm.addrspacecast %5 : !llvm.ptr to !llvm.ptr<5>
  %7 = llvm.load %0 : !llvm.ptr<1> -> i128
  llvm.store %7, %6 : i128, !llvm.ptr<5>
  %8 = llvm.load %6 : !llvm.ptr<5> -> f32
  %9 = llvm.load %6 : !llvm.ptr<5> -> f32
  %10 = llvm.load %6 : !llvm.ptr<5> -> f32
  %11 = nvvm.intr.fma %8, %9, %10 : f32
  llvm.store %11, %6 : f32, !llvm.ptr<5>
  func.return
}

// ---- sums_of_integers_wrap_where_it_is_said
// seed: lowering-overview companion-cute
func.func @wraps(%a: i32) -> i32 {
  %d0, %d1, %d2, %d3 = cute_nvgpu.arch.mma.SM80 a(%a, %a) b(%a) c(%a, %a, %a, %a) {atom = !cute_nvgpu.sm80.mma<"16x8x16 u8 s8 s32">, overflow = "wrapped"} : (i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32)
  func.return %d0 : i32
}
// ==>
func.func @wraps(%a: i32) -> i32 {
  %0 = nvvm.mma.sync.atom a(%a, %a) b(%a) c(%a, %a, %a, %a) {atom = "mma_m16n8k16_i8_i8_i32", unsigned_a} : (i32, i32, i32, i32, i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
  %d0 = llvm.extractvalue %0[0] : !llvm.struct<(i32, i32, i32, i32)>
  %d1 = llvm.extractvalue %0[1] : !llvm.struct<(i32, i32, i32, i32)>
  %d2 = llvm.extractvalue %0[2] : !llvm.struct<(i32, i32, i32, i32)>
  %d3 = llvm.extractvalue %0[3] : !llvm.struct<(i32, i32, i32, i32)>
  func.return %d0 : i32
}

// ---- products_that_have_scales
// seed: lowering-overview companion-cute
// run: convert-cute-and-cute-nvgpu-to-llvm sm_120
func.func @scaled(%a: i32, %c: f32, %s: i32, %n: i16) -> f32 {
  %d0, %d1, %d2, %d3 = cute_nvgpu.arch.mma.SM120.block_scaled a(%a, %a, %a, %a) b(%a, %a) c(%c, %c, %c, %c) scales(%s, %n, %n, %s, %n, %n) {atom = !cute_nvgpu.SM120.mma_bs<"16x8x64 e2m1 e2m1 f32 ue4m3">} : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32, i32, i16, i16, i32, i16, i16) -> (f32, f32, f32, f32)
  func.return %d0 : f32
}
// ==>
func.func @scaled(%a: i32, %c: f32, %s: i32, %n: i16) -> f32 {
  %0 = nvvm.mma.sync.atom a(%a, %a, %a, %a) b(%a, %a) c(%c, %c, %c, %c) scales(%s, %n, %n, %s, %n, %n) {atom = "mma_mxf4nvf4_m16n8k64_f4E2M1FN_f4E2M1FN_f32_ue4m3"} : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32, i32, i16, i16, i32, i16, i16) -> !llvm.struct<(f32, f32, f32, f32)>
  %d0 = llvm.extractvalue %0[0] : !llvm.struct<(f32, f32, f32, f32)>
  %d1 = llvm.extractvalue %0[1] : !llvm.struct<(f32, f32, f32, f32)>
  %d2 = llvm.extractvalue %0[2] : !llvm.struct<(f32, f32, f32, f32)>
  %d3 = llvm.extractvalue %0[3] : !llvm.struct<(f32, f32, f32, f32)>
  func.return %d0 : f32
}

// ---- matrices_at_an_offset
// seed: lowering-overview companion-cute
func.func @offset(%s: i32) {
  %a, %b = cute_nvgpu.arch.copy.ldsm %s {atom = !cute_nvgpu.atom.ldsm<"8x8 x2">, offset = 64 : i64} : (i32) -> (i32, i32)
  cute_nvgpu.arch.copy.stsm %s registers(%b, %a) {atom = !cute_nvgpu.atom.stsm<"8x8 x2 trans">, offset = 128 : i64} : (i32, i32, i32) -> ()
  func.return
}
// ==>
func.func @offset(%s: i32) {
  %0 = nvvm.ldmatrix.sync.aligned %s {offset = 64 : i64} : (i32) -> !llvm.struct<(i32, i32)>
  %a = llvm.extractvalue %0[0] : !llvm.struct<(i32, i32)>
  %b = llvm.extractvalue %0[1] : !llvm.struct<(i32, i32)>
  nvvm.stmatrix.sync.aligned %s values(%b, %a) {offset = 128 : i64, transposed} : (i32, i32, i32) -> ()
  func.return
}
