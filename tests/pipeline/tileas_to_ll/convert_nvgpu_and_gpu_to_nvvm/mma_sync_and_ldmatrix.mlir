// mma.sync, sparse matmuls and ldmatrix.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- mma_f16_f32
// seed: nvgpu-gpu-to-nvvm concept-mma mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: !llvm.array<4 x vector<2xf16>>, %b: !llvm.array<2 x vector<2xf16>>, %c: !llvm.array<2 x vector<2xf32>>) attributes {gpu.kernel, nvvm.kernel} {
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.array<4 x vector<2xf16>> to vector<4x2xf16>
    %b_1 = builtin.unrealized_conversion_cast %b : !llvm.array<2 x vector<2xf16>> to vector<2x2xf16>
    %c_1 = builtin.unrealized_conversion_cast %c : !llvm.array<2 x vector<2xf32>> to vector<2x2xf32>
    %0 = vector.extract %a_1[0] : vector<2xf16> from vector<4x2xf16>
    %1 = vector.extract %a_1[1] : vector<2xf16> from vector<4x2xf16>
    %2 = vector.extract %a_1[2] : vector<2xf16> from vector<4x2xf16>
    %3 = vector.extract %a_1[3] : vector<2xf16> from vector<4x2xf16>
    %4 = vector.extract %b_1[0] : vector<2xf16> from vector<2x2xf16>
    %5 = vector.extract %b_1[1] : vector<2xf16> from vector<2x2xf16>
    %6 = vector.extract %c_1[0, 0] : f32 from vector<2x2xf32>
    %7 = vector.extract %c_1[0, 1] : f32 from vector<2x2xf32>
    %8 = vector.extract %c_1[1, 0] : f32 from vector<2x2xf32>
    %9 = vector.extract %c_1[1, 1] : f32 from vector<2x2xf32>
    %10 = nvvm.mma.sync A[%0, %1, %2, %3] B[%4, %5] C[%6, %7, %8, %9] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<f16>, multiplicandBPtxType = #nvvm.mma_type<f16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %11 = llvm.extractvalue %10[0] : !llvm.struct<(f32, f32, f32, f32)>
    %12 = llvm.extractvalue %10[1] : !llvm.struct<(f32, f32, f32, f32)>
    %13 = llvm.extractvalue %10[2] : !llvm.struct<(f32, f32, f32, f32)>
    %14 = llvm.extractvalue %10[3] : !llvm.struct<(f32, f32, f32, f32)>
    %d = vector.from_elements %11, %12, %13, %14 : vector<2x2xf32>
    llvm.return
  }
}

// ---- mma_f16_f16
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf16>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: !llvm.array<4 x vector<2xf16>>, %b: !llvm.array<2 x vector<2xf16>>, %c: !llvm.array<2 x vector<2xf16>>) attributes {gpu.kernel, nvvm.kernel} {
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.array<4 x vector<2xf16>> to vector<4x2xf16>
    %b_1 = builtin.unrealized_conversion_cast %b : !llvm.array<2 x vector<2xf16>> to vector<2x2xf16>
    %c_1 = builtin.unrealized_conversion_cast %c : !llvm.array<2 x vector<2xf16>> to vector<2x2xf16>
    %0 = vector.extract %a_1[0] : vector<2xf16> from vector<4x2xf16>
    %1 = vector.extract %a_1[1] : vector<2xf16> from vector<4x2xf16>
    %2 = vector.extract %a_1[2] : vector<2xf16> from vector<4x2xf16>
    %3 = vector.extract %a_1[3] : vector<2xf16> from vector<4x2xf16>
    %4 = vector.extract %b_1[0] : vector<2xf16> from vector<2x2xf16>
    %5 = vector.extract %b_1[1] : vector<2xf16> from vector<2x2xf16>
    %6 = vector.extract %c_1[0] : vector<2xf16> from vector<2x2xf16>
    %7 = vector.extract %c_1[1] : vector<2xf16> from vector<2x2xf16>
    %8 = nvvm.mma.sync A[%0, %1, %2, %3] B[%4, %5] C[%6, %7] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<f16>, multiplicandBPtxType = #nvvm.mma_type<f16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
    %9 = llvm.extractvalue %8[0] : !llvm.struct<(vector<2xf16>, vector<2xf16>)>
    %10 = llvm.extractvalue %8[1] : !llvm.struct<(vector<2xf16>, vector<2xf16>)>
    %11 = vector.extract %9[0] : f16 from vector<2xf16>
    %12 = vector.extract %9[1] : f16 from vector<2xf16>
    %13 = vector.extract %10[0] : f16 from vector<2xf16>
    %14 = vector.extract %10[1] : f16 from vector<2xf16>
    %d = vector.from_elements %11, %12, %13, %14 : vector<2x2xf16>
    llvm.return
  }
}

// ---- mma_bf16
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x2xbf16>, %b: vector<2x2xbf16>, %c: vector<2x2xf32>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: !llvm.array<4 x vector<2xbf16>>, %b: !llvm.array<2 x vector<2xbf16>>, %c: !llvm.array<2 x vector<2xf32>>) attributes {gpu.kernel, nvvm.kernel} {
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.array<4 x vector<2xbf16>> to vector<4x2xbf16>
    %b_1 = builtin.unrealized_conversion_cast %b : !llvm.array<2 x vector<2xbf16>> to vector<2x2xbf16>
    %c_1 = builtin.unrealized_conversion_cast %c : !llvm.array<2 x vector<2xf32>> to vector<2x2xf32>
    %0 = vector.extract %a_1[0] : vector<2xbf16> from vector<4x2xbf16>
    %1 = vector.extract %a_1[1] : vector<2xbf16> from vector<4x2xbf16>
    %2 = vector.extract %a_1[2] : vector<2xbf16> from vector<4x2xbf16>
    %3 = vector.extract %a_1[3] : vector<2xbf16> from vector<4x2xbf16>
    %4 = llvm.bitcast %0 : vector<2xbf16> to i32
    %5 = llvm.bitcast %1 : vector<2xbf16> to i32
    %6 = llvm.bitcast %2 : vector<2xbf16> to i32
    %7 = llvm.bitcast %3 : vector<2xbf16> to i32
    %8 = vector.extract %b_1[0] : vector<2xbf16> from vector<2x2xbf16>
    %9 = vector.extract %b_1[1] : vector<2xbf16> from vector<2x2xbf16>
    %10 = llvm.bitcast %8 : vector<2xbf16> to i32
    %11 = llvm.bitcast %9 : vector<2xbf16> to i32
    %12 = vector.extract %c_1[0, 0] : f32 from vector<2x2xf32>
    %13 = vector.extract %c_1[0, 1] : f32 from vector<2x2xf32>
    %14 = vector.extract %c_1[1, 0] : f32 from vector<2x2xf32>
    %15 = vector.extract %c_1[1, 1] : f32 from vector<2x2xf32>
    %16 = nvvm.mma.sync A[%4, %5, %6, %7] B[%10, %11] C[%12, %13, %14, %15] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %17 = llvm.extractvalue %16[0] : !llvm.struct<(f32, f32, f32, f32)>
    %18 = llvm.extractvalue %16[1] : !llvm.struct<(f32, f32, f32, f32)>
    %19 = llvm.extractvalue %16[2] : !llvm.struct<(f32, f32, f32, f32)>
    %20 = llvm.extractvalue %16[3] : !llvm.struct<(f32, f32, f32, f32)>
    %d = vector.from_elements %17, %18, %19, %20 : vector<2x2xf32>
    llvm.return
  }
}

// ---- mma_tf32
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x1xf32>, %b: vector<2x1xf32>, %c: vector<2x2xf32>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 8], tf32Enabled} : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: !llvm.array<4 x vector<1xf32>>, %b: !llvm.array<2 x vector<1xf32>>, %c: !llvm.array<2 x vector<2xf32>>) attributes {gpu.kernel, nvvm.kernel} {
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.array<4 x vector<1xf32>> to vector<4x1xf32>
    %b_1 = builtin.unrealized_conversion_cast %b : !llvm.array<2 x vector<1xf32>> to vector<2x1xf32>
    %c_1 = builtin.unrealized_conversion_cast %c : !llvm.array<2 x vector<2xf32>> to vector<2x2xf32>
    %0 = vector.extract %a_1[0, 0] : f32 from vector<4x1xf32>
    %1 = vector.extract %a_1[1, 0] : f32 from vector<4x1xf32>
    %2 = vector.extract %a_1[2, 0] : f32 from vector<4x1xf32>
    %3 = vector.extract %a_1[3, 0] : f32 from vector<4x1xf32>
    %4 = llvm.bitcast %0 : f32 to i32
    %5 = llvm.bitcast %1 : f32 to i32
    %6 = llvm.bitcast %2 : f32 to i32
    %7 = llvm.bitcast %3 : f32 to i32
    %8 = vector.extract %b_1[0, 0] : f32 from vector<2x1xf32>
    %9 = vector.extract %b_1[1, 0] : f32 from vector<2x1xf32>
    %10 = llvm.bitcast %8 : f32 to i32
    %11 = llvm.bitcast %9 : f32 to i32
    %12 = vector.extract %c_1[0, 0] : f32 from vector<2x2xf32>
    %13 = vector.extract %c_1[0, 1] : f32 from vector<2x2xf32>
    %14 = vector.extract %c_1[1, 0] : f32 from vector<2x2xf32>
    %15 = vector.extract %c_1[1, 1] : f32 from vector<2x2xf32>
    %16 = nvvm.mma.sync A[%4, %5, %6, %7] B[%10, %11] C[%12, %13, %14, %15] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<tf32>, multiplicandBPtxType = #nvvm.mma_type<tf32>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %17 = llvm.extractvalue %16[0] : !llvm.struct<(f32, f32, f32, f32)>
    %18 = llvm.extractvalue %16[1] : !llvm.struct<(f32, f32, f32, f32)>
    %19 = llvm.extractvalue %16[2] : !llvm.struct<(f32, f32, f32, f32)>
    %20 = llvm.extractvalue %16[3] : !llvm.struct<(f32, f32, f32, f32)>
    %d = vector.from_elements %17, %18, %19, %20 : vector<2x2xf32>
    llvm.return
  }
}

// ---- mma_s8
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x4xi8>, %b: vector<2x4xi8>, %c: vector<2x2xi32>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 32]} : (vector<4x4xi8>, vector<2x4xi8>, vector<2x2xi32>) -> vector<2x2xi32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: !llvm.array<4 x vector<4xi8>>, %b: !llvm.array<2 x vector<4xi8>>, %c: !llvm.array<2 x vector<2xi32>>) attributes {gpu.kernel, nvvm.kernel} {
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.array<4 x vector<4xi8>> to vector<4x4xi8>
    %b_1 = builtin.unrealized_conversion_cast %b : !llvm.array<2 x vector<4xi8>> to vector<2x4xi8>
    %c_1 = builtin.unrealized_conversion_cast %c : !llvm.array<2 x vector<2xi32>> to vector<2x2xi32>
    %0 = vector.extract %a_1[0] : vector<4xi8> from vector<4x4xi8>
    %1 = vector.extract %a_1[1] : vector<4xi8> from vector<4x4xi8>
    %2 = vector.extract %a_1[2] : vector<4xi8> from vector<4x4xi8>
    %3 = vector.extract %a_1[3] : vector<4xi8> from vector<4x4xi8>
    %4 = llvm.bitcast %0 : vector<4xi8> to i32
    %5 = llvm.bitcast %1 : vector<4xi8> to i32
    %6 = llvm.bitcast %2 : vector<4xi8> to i32
    %7 = llvm.bitcast %3 : vector<4xi8> to i32
    %8 = vector.extract %b_1[0] : vector<4xi8> from vector<2x4xi8>
    %9 = vector.extract %b_1[1] : vector<4xi8> from vector<2x4xi8>
    %10 = llvm.bitcast %8 : vector<4xi8> to i32
    %11 = llvm.bitcast %9 : vector<4xi8> to i32
    %12 = vector.extract %c_1[0, 0] : i32 from vector<2x2xi32>
    %13 = vector.extract %c_1[0, 1] : i32 from vector<2x2xi32>
    %14 = vector.extract %c_1[1, 0] : i32 from vector<2x2xi32>
    %15 = vector.extract %c_1[1, 1] : i32 from vector<2x2xi32>
    %16 = nvvm.mma.sync A[%4, %5, %6, %7] B[%10, %11] C[%12, %13, %14, %15] {intOverflowBehavior = #nvvm.mma_int_overflow<satfinite>, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<s8>, multiplicandBPtxType = #nvvm.mma_type<s8>, shape = #nvvm.shape<m = 16, n = 8, k = 32>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
    %17 = llvm.extractvalue %16[0] : !llvm.struct<(i32, i32, i32, i32)>
    %18 = llvm.extractvalue %16[1] : !llvm.struct<(i32, i32, i32, i32)>
    %19 = llvm.extractvalue %16[2] : !llvm.struct<(i32, i32, i32, i32)>
    %20 = llvm.extractvalue %16[3] : !llvm.struct<(i32, i32, i32, i32)>
    %d = vector.from_elements %17, %18, %19, %20 : vector<2x2xi32>
    llvm.return
  }
}

// ---- mma_f64
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<1x1xf64>, %b: vector<1x1xf64>, %c: vector<1x2xf64>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [8, 8, 4]} : (vector<1x1xf64>, vector<1x1xf64>, vector<1x2xf64>) -> vector<1x2xf64>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: !llvm.array<1 x vector<1xf64>>, %b: !llvm.array<1 x vector<1xf64>>, %c: !llvm.array<1 x vector<2xf64>>) attributes {gpu.kernel, nvvm.kernel} {
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.array<1 x vector<1xf64>> to vector<1x1xf64>
    %b_1 = builtin.unrealized_conversion_cast %b : !llvm.array<1 x vector<1xf64>> to vector<1x1xf64>
    %c_1 = builtin.unrealized_conversion_cast %c : !llvm.array<1 x vector<2xf64>> to vector<1x2xf64>
    %0 = vector.extract %a_1[0, 0] : f64 from vector<1x1xf64>
    %1 = vector.extract %b_1[0, 0] : f64 from vector<1x1xf64>
    %2 = vector.extract %c_1[0, 0] : f64 from vector<1x2xf64>
    %3 = vector.extract %c_1[0, 1] : f64 from vector<1x2xf64>
    %4 = nvvm.mma.sync A[%0] B[%1] C[%2, %3] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<f64>, multiplicandBPtxType = #nvvm.mma_type<f64>, shape = #nvvm.shape<m = 8, n = 8, k = 4>} : (f64, f64, f64) -> !llvm.struct<(f64, f64)>
    %5 = llvm.extractvalue %4[0] : !llvm.struct<(f64, f64)>
    %6 = llvm.extractvalue %4[1] : !llvm.struct<(f64, f64)>
    %d = vector.from_elements %5, %6 : vector<1x2xf64>
    llvm.return
  }
}

// ---- ldmatrix_of_one
// seed: nvgpu-gpu-to-nvvm concept-mma ldmatrix ldmatrix-1 ldmatrix-repack
gpu.module @m {
  gpu.func @k(%s: memref<64x64xf16, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 1 : i32, transpose = false} : memref<64x64xf16, 3> -> vector<1x2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%s: !llvm.ptr<3>, %i: i64, %j: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(64) : i64
    %1 = llvm.mul %i, %0 : i64
    %2 = llvm.add %1, %j : i64
    %3 = llvm.getelementptr %s[%2] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f16
    %4 = nvvm.ldmatrix %3 {num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32
    %5 = vector.from_elements %4 : vector<1x1xi32>
    %v = vector.bitcast %5 : vector<1x1xi32> to vector<1x2xf16>
    llvm.return
  }
}

// ---- ldmatrix_of_two
// seed: nvgpu-gpu-to-nvvm ldmatrix ldmatrix-2 ldmatrix-repack
gpu.module @m {
  gpu.func @k(%s: memref<64x64xf16, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 2 : i32, transpose = false} : memref<64x64xf16, 3> -> vector<2x2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%s: !llvm.ptr<3>, %i: i64, %j: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(64) : i64
    %1 = llvm.mul %i, %0 : i64
    %2 = llvm.add %1, %j : i64
    %3 = llvm.getelementptr %s[%2] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f16
    %4 = nvvm.ldmatrix %3 {num = 2 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
    %5 = llvm.extractvalue %4[0] : !llvm.struct<(i32, i32)>
    %6 = llvm.extractvalue %4[1] : !llvm.struct<(i32, i32)>
    %7 = vector.from_elements %5, %6 : vector<2x1xi32>
    %v = vector.bitcast %7 : vector<2x1xi32> to vector<2x2xf16>
    llvm.return
  }
}

// ---- ldmatrix_of_four
// seed: nvgpu-gpu-to-nvvm ldmatrix ldmatrix-4 ldmatrix-repack ldmatrix-verbatim
gpu.module @m {
  gpu.func @k(%s: memref<64x64xf16, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 4 : i32, transpose = false} : memref<64x64xf16, 3> -> vector<4x2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%s: !llvm.ptr<3>, %i: i64, %j: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(64) : i64
    %1 = llvm.mul %i, %0 : i64
    %2 = llvm.add %1, %j : i64
    %3 = llvm.getelementptr %s[%2] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f16
    %4 = nvvm.ldmatrix %3 {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    %5 = llvm.extractvalue %4[0] : !llvm.struct<(i32, i32, i32, i32)>
    %6 = llvm.extractvalue %4[1] : !llvm.struct<(i32, i32, i32, i32)>
    %7 = llvm.extractvalue %4[2] : !llvm.struct<(i32, i32, i32, i32)>
    %8 = llvm.extractvalue %4[3] : !llvm.struct<(i32, i32, i32, i32)>
    %9 = vector.from_elements %5, %6, %7, %8 : vector<4x1xi32>
    %v = vector.bitcast %9 : vector<4x1xi32> to vector<4x2xf16>
    llvm.return
  }
}

// ---- ldmatrix_transposed
// seed: nvgpu-gpu-to-nvvm ldmatrix ldmatrix-verbatim
gpu.module @m {
  gpu.func @k(%s: memref<64x64xf16, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 4 : i32, transpose = true} : memref<64x64xf16, 3> -> vector<4x2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%s: !llvm.ptr<3>, %i: i64, %j: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(64) : i64
    %1 = llvm.mul %i, %0 : i64
    %2 = llvm.add %1, %j : i64
    %3 = llvm.getelementptr %s[%2] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f16
    %4 = nvvm.ldmatrix %3 {num = 4 : i32, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    %5 = llvm.extractvalue %4[0] : !llvm.struct<(i32, i32, i32, i32)>
    %6 = llvm.extractvalue %4[1] : !llvm.struct<(i32, i32, i32, i32)>
    %7 = llvm.extractvalue %4[2] : !llvm.struct<(i32, i32, i32, i32)>
    %8 = llvm.extractvalue %4[3] : !llvm.struct<(i32, i32, i32, i32)>
    %9 = vector.from_elements %5, %6, %7, %8 : vector<4x1xi32>
    %v = vector.bitcast %9 : vector<4x1xi32> to vector<4x2xf16>
    llvm.return
  }
}

// ---- ldmatrix_of_words
// seed: nvgpu-gpu-to-nvvm ldmatrix-4 ldmatrix-repack
gpu.module @m {
  gpu.func @k(%s: memref<64x64xi32, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 4 : i32, transpose = false} : memref<64x64xi32, 3> -> vector<4xi32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%s: !llvm.ptr<3>, %i: i64, %j: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(64) : i64
    %1 = llvm.mul %i, %0 : i64
    %2 = llvm.add %1, %j : i64
    %3 = llvm.getelementptr %s[%2] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i32
    %4 = nvvm.ldmatrix %3 {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    %5 = llvm.extractvalue %4[0] : !llvm.struct<(i32, i32, i32, i32)>
    %6 = llvm.extractvalue %4[1] : !llvm.struct<(i32, i32, i32, i32)>
    %7 = llvm.extractvalue %4[2] : !llvm.struct<(i32, i32, i32, i32)>
    %8 = llvm.extractvalue %4[3] : !llvm.struct<(i32, i32, i32, i32)>
    %v = vector.from_elements %5, %6, %7, %8 : vector<4xi32>
    llvm.return
  }
}

// ---- ldmatrix_with_strides
// seed: nvgpu-gpu-to-nvvm ldmatrix
gpu.module @m {
  gpu.func @k(%s: memref<8x8xf16, strided<[16, 1], offset: 4>, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, strided<[16, 1], offset: 4>, 3> -> vector<1x2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%s: !llvm.ptr<3>, %i: i64, %j: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(16) : i64
    %1 = llvm.mul %i, %0 : i64
    %2 = llvm.add %1, %j : i64
    %3 = llvm.mlir.constant(4) : i64
    %4 = llvm.add %2, %3 : i64
    %5 = llvm.getelementptr %s[%4] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f16
    %6 = nvvm.ldmatrix %5 {num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32
    %7 = vector.from_elements %6 : vector<1x1xi32>
    %v = vector.bitcast %7 : vector<1x1xi32> to vector<1x2xf16>
    llvm.return
  }
}

// ---- ldmatrix_with_strides_of_run_time
// seed: nvgpu-gpu-to-nvvm ldmatrix
// seed: lowering-overview one-type-converter memref-descriptor
gpu.module @m {
  gpu.func @k(%s: memref<8x8xf16, strided<[?, 1], offset: ?>, 3>, %i: index, %j: index) {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, strided<[?, 1], offset: ?>, 3> -> vector<1x2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%s: !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>, %i: i64, %j: i64) {
    %0 = llvm.extractvalue %s[2] : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
    %1 = llvm.extractvalue %s[4, 0] : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
    %2 = llvm.mul %i, %1 : i64
    %3 = llvm.add %0, %2 : i64
    %4 = llvm.extractvalue %s[4, 1] : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
    %5 = llvm.mul %j, %4 : i64
    %6 = llvm.add %3, %5 : i64
    %7 = llvm.extractvalue %s[1] : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
    %8 = llvm.getelementptr %7[%6] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f16
    %9 = nvvm.ldmatrix %8 {num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32
    %10 = vector.from_elements %9 : vector<1x1xi32>
    %v = vector.bitcast %10 : vector<1x1xi32> to vector<1x2xf16>
    llvm.return
  }
}

// ---- sparse_f16
// seed: nvgpu-gpu-to-nvvm concept-sparse mma-sp-sync assembly-only-sparse
gpu.module @m {
  gpu.func @k(%a: vector<4x2xf16>, %b: vector<4x2xf16>, %c: vector<2x2xf32>, %m: vector<2xi16>) kernel {
    %d = nvgpu.mma.sp.sync(%a, %b, %c) metadata(%m) {mmaShape = [16, 8, 32]} : (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: !llvm.array<4 x vector<2xf16>>, %b: !llvm.array<4 x vector<2xf16>>, %c: !llvm.array<2 x vector<2xf32>>, %m: vector<2xi16>) attributes {gpu.kernel, nvvm.kernel} {
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.array<4 x vector<2xf16>> to vector<4x2xf16>
    %b_1 = builtin.unrealized_conversion_cast %b : !llvm.array<4 x vector<2xf16>> to vector<4x2xf16>
    %c_1 = builtin.unrealized_conversion_cast %c : !llvm.array<2 x vector<2xf32>> to vector<2x2xf32>
    %0 = vector.extract %a_1[0] : vector<2xf16> from vector<4x2xf16>
    %1 = vector.extract %a_1[1] : vector<2xf16> from vector<4x2xf16>
    %2 = vector.extract %a_1[2] : vector<2xf16> from vector<4x2xf16>
    %3 = vector.extract %a_1[3] : vector<2xf16> from vector<4x2xf16>
    %4 = vector.extract %b_1[0] : vector<2xf16> from vector<4x2xf16>
    %5 = vector.extract %b_1[1] : vector<2xf16> from vector<4x2xf16>
    %6 = vector.extract %b_1[2] : vector<2xf16> from vector<4x2xf16>
    %7 = vector.extract %b_1[3] : vector<2xf16> from vector<4x2xf16>
    %8 = vector.extract %c_1[0, 0] : f32 from vector<2x2xf32>
    %9 = vector.extract %c_1[0, 1] : f32 from vector<2x2xf32>
    %10 = vector.extract %c_1[1, 0] : f32 from vector<2x2xf32>
    %11 = vector.extract %c_1[1, 1] : f32 from vector<2x2xf32>
    %12 = llvm.bitcast %m : vector<2xi16> to i32
    %13 = llvm.inline_asm has_side_effects "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9, $10, $11}, {$12, $13, $14, $15}, $16, 0x0;", "=f,=f,=f,=f,r,r,r,r,r,r,r,r,f,f,f,f,r" %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12 {convergent} : (vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, f32, f32, f32, f32, i32) -> !llvm.struct<(f32, f32, f32, f32)>
    %14 = llvm.extractvalue %13[0] : !llvm.struct<(f32, f32, f32, f32)>
    %15 = llvm.extractvalue %13[1] : !llvm.struct<(f32, f32, f32, f32)>
    %16 = llvm.extractvalue %13[2] : !llvm.struct<(f32, f32, f32, f32)>
    %17 = llvm.extractvalue %13[3] : !llvm.struct<(f32, f32, f32, f32)>
    %d = vector.from_elements %14, %15, %16, %17 : vector<2x2xf32>
    llvm.return
  }
}

// ---- sparse_with_a_selector
// seed: nvgpu-gpu-to-nvvm mma-sp-sync
gpu.module @m {
  gpu.func @k(%a: vector<2x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf16>, %m: vector<2xi16>) kernel {
    %d = nvgpu.mma.sp.sync(%a, %b, %c) metadata(%m) {mmaShape = [16, 8, 16], sparsitySelector = 1 : i32} : (vector<2x2xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: !llvm.array<2 x vector<2xf16>>, %b: !llvm.array<2 x vector<2xf16>>, %c: !llvm.array<2 x vector<2xf16>>, %m: vector<2xi16>) attributes {gpu.kernel, nvvm.kernel} {
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.array<2 x vector<2xf16>> to vector<2x2xf16>
    %b_1 = builtin.unrealized_conversion_cast %b : !llvm.array<2 x vector<2xf16>> to vector<2x2xf16>
    %c_1 = builtin.unrealized_conversion_cast %c : !llvm.array<2 x vector<2xf16>> to vector<2x2xf16>
    %0 = vector.extract %a_1[0] : vector<2xf16> from vector<2x2xf16>
    %1 = vector.extract %a_1[1] : vector<2xf16> from vector<2x2xf16>
    %2 = vector.extract %b_1[0] : vector<2xf16> from vector<2x2xf16>
    %3 = vector.extract %b_1[1] : vector<2xf16> from vector<2x2xf16>
    %4 = vector.extract %c_1[0] : vector<2xf16> from vector<2x2xf16>
    %5 = vector.extract %c_1[1] : vector<2xf16> from vector<2x2xf16>
    %6 = llvm.bitcast %m : vector<2xi16> to i32
    %7 = llvm.inline_asm has_side_effects "mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {$0, $1}, {$2, $3}, {$4, $5}, {$6, $7}, $8, 0x1;", "=r,=r,r,r,r,r,r,r,r" %0, %1, %2, %3, %4, %5, %6 {convergent} : (vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, i32) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
    %8 = llvm.extractvalue %7[0] : !llvm.struct<(vector<2xf16>, vector<2xf16>)>
    %9 = llvm.extractvalue %7[1] : !llvm.struct<(vector<2xf16>, vector<2xf16>)>
    %10 = vector.extract %8[0] : f16 from vector<2xf16>
    %11 = vector.extract %8[1] : f16 from vector<2xf16>
    %12 = vector.extract %9[0] : f16 from vector<2xf16>
    %13 = vector.extract %9[1] : f16 from vector<2xf16>
    %d = vector.from_elements %10, %11, %12, %13 : vector<2x2xf16>
    llvm.return
  }
}

// ---- sparse_s8
// seed: nvgpu-gpu-to-nvvm mma-sp-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x4xi8>, %b: vector<4x4xi8>, %c: vector<2x2xi32>, %m: vector<2xi16>) kernel {
    %d = nvgpu.mma.sp.sync(%a, %b, %c) metadata(%m) {mmaShape = [16, 8, 64]} : (vector<4x4xi8>, vector<4x4xi8>, vector<2x2xi32>) -> vector<2x2xi32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: !llvm.array<4 x vector<4xi8>>, %b: !llvm.array<4 x vector<4xi8>>, %c: !llvm.array<2 x vector<2xi32>>, %m: vector<2xi16>) attributes {gpu.kernel, nvvm.kernel} {
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.array<4 x vector<4xi8>> to vector<4x4xi8>
    %b_1 = builtin.unrealized_conversion_cast %b : !llvm.array<4 x vector<4xi8>> to vector<4x4xi8>
    %c_1 = builtin.unrealized_conversion_cast %c : !llvm.array<2 x vector<2xi32>> to vector<2x2xi32>
    %0 = vector.extract %a_1[0] : vector<4xi8> from vector<4x4xi8>
    %1 = vector.extract %a_1[1] : vector<4xi8> from vector<4x4xi8>
    %2 = vector.extract %a_1[2] : vector<4xi8> from vector<4x4xi8>
    %3 = vector.extract %a_1[3] : vector<4xi8> from vector<4x4xi8>
    %4 = llvm.bitcast %0 : vector<4xi8> to i32
    %5 = llvm.bitcast %1 : vector<4xi8> to i32
    %6 = llvm.bitcast %2 : vector<4xi8> to i32
    %7 = llvm.bitcast %3 : vector<4xi8> to i32
    %8 = vector.extract %b_1[0] : vector<4xi8> from vector<4x4xi8>
    %9 = vector.extract %b_1[1] : vector<4xi8> from vector<4x4xi8>
    %10 = vector.extract %b_1[2] : vector<4xi8> from vector<4x4xi8>
    %11 = vector.extract %b_1[3] : vector<4xi8> from vector<4x4xi8>
    %12 = llvm.bitcast %8 : vector<4xi8> to i32
    %13 = llvm.bitcast %9 : vector<4xi8> to i32
    %14 = llvm.bitcast %10 : vector<4xi8> to i32
    %15 = llvm.bitcast %11 : vector<4xi8> to i32
    %16 = vector.extract %c_1[0, 0] : i32 from vector<2x2xi32>
    %17 = vector.extract %c_1[0, 1] : i32 from vector<2x2xi32>
    %18 = vector.extract %c_1[1, 0] : i32 from vector<2x2xi32>
    %19 = vector.extract %c_1[1, 1] : i32 from vector<2x2xi32>
    %20 = llvm.bitcast %m : vector<2xi16> to i32
    %21 = llvm.inline_asm has_side_effects "mma.sp.sync.aligned.m16n8k64.row.col.satfinite.s32.s8.s8.s32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9, $10, $11}, {$12, $13, $14, $15}, $16, 0x0;", "=r,=r,=r,=r,r,r,r,r,r,r,r,r,r,r,r,r,r" %4, %5, %6, %7, %12, %13, %14, %15, %16, %17, %18, %19, %20 {convergent} : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
    %22 = llvm.extractvalue %21[0] : !llvm.struct<(i32, i32, i32, i32)>
    %23 = llvm.extractvalue %21[1] : !llvm.struct<(i32, i32, i32, i32)>
    %24 = llvm.extractvalue %21[2] : !llvm.struct<(i32, i32, i32, i32)>
    %25 = llvm.extractvalue %21[3] : !llvm.struct<(i32, i32, i32, i32)>
    %d = vector.from_elements %22, %23, %24, %25 : vector<2x2xi32>
    llvm.return
  }
}

// ---- sparse_tf32
// seed: nvgpu-gpu-to-nvvm mma-sp-sync
gpu.module @m {
  gpu.func @k(%a: vector<2x1xf32>, %b: vector<2x1xf32>, %c: vector<2x2xf32>, %m: vector<2xi16>) kernel {
    %d = nvgpu.mma.sp.sync(%a, %b, %c) metadata(%m) {mmaShape = [16, 8, 8], tf32Enabled} : (vector<2x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: !llvm.array<2 x vector<1xf32>>, %b: !llvm.array<2 x vector<1xf32>>, %c: !llvm.array<2 x vector<2xf32>>, %m: vector<2xi16>) attributes {gpu.kernel, nvvm.kernel} {
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.array<2 x vector<1xf32>> to vector<2x1xf32>
    %b_1 = builtin.unrealized_conversion_cast %b : !llvm.array<2 x vector<1xf32>> to vector<2x1xf32>
    %c_1 = builtin.unrealized_conversion_cast %c : !llvm.array<2 x vector<2xf32>> to vector<2x2xf32>
    %0 = vector.extract %a_1[0, 0] : f32 from vector<2x1xf32>
    %1 = vector.extract %a_1[1, 0] : f32 from vector<2x1xf32>
    %2 = llvm.bitcast %0 : f32 to i32
    %3 = llvm.bitcast %1 : f32 to i32
    %4 = vector.extract %b_1[0, 0] : f32 from vector<2x1xf32>
    %5 = vector.extract %b_1[1, 0] : f32 from vector<2x1xf32>
    %6 = llvm.bitcast %4 : f32 to i32
    %7 = llvm.bitcast %5 : f32 to i32
    %8 = vector.extract %c_1[0, 0] : f32 from vector<2x2xf32>
    %9 = vector.extract %c_1[0, 1] : f32 from vector<2x2xf32>
    %10 = vector.extract %c_1[1, 0] : f32 from vector<2x2xf32>
    %11 = vector.extract %c_1[1, 1] : f32 from vector<2x2xf32>
    %12 = llvm.bitcast %m : vector<2xi16> to i32
    %13 = llvm.inline_asm has_side_effects "mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {$0, $1, $2, $3}, {$4, $5}, {$6, $7}, {$8, $9, $10, $11}, $12, 0x0;", "=f,=f,=f,=f,r,r,r,r,f,f,f,f,r" %2, %3, %6, %7, %8, %9, %10, %11, %12 {convergent} : (i32, i32, i32, i32, f32, f32, f32, f32, i32) -> !llvm.struct<(f32, f32, f32, f32)>
    %14 = llvm.extractvalue %13[0] : !llvm.struct<(f32, f32, f32, f32)>
    %15 = llvm.extractvalue %13[1] : !llvm.struct<(f32, f32, f32, f32)>
    %16 = llvm.extractvalue %13[2] : !llvm.struct<(f32, f32, f32, f32)>
    %17 = llvm.extractvalue %13[3] : !llvm.struct<(f32, f32, f32, f32)>
    %d = vector.from_elements %14, %15, %16, %17 : vector<2x2xf32>
    llvm.return
  }
}
