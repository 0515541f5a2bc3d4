// Matmuls and loads that have no instruction.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- mma_of_f32_without_tf32
gpu.module @m {
  gpu.func @k(%a: vector<4x1xf32>, %b: vector<2x1xf32>, %c: vector<2x2xf32>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 8]} : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}
// ==>
// error[mma-tf32]: 'nvgpu.mma.sync' op multiplies f32 as tf32 only; set tf32Enabled

// ---- mma_shape_of_two_sizes
gpu.module @m {
  gpu.func @k(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}
// ==>
// mma_shape_of_two_sizes: error[ir-invalid]: the module does not verify: 'nvgpu.mma.sync' op expected mmaShape to have three integers m, n, k

// ---- sparse_of_f64
gpu.module @m {
  gpu.func @k(%a: vector<2x1xf64>, %b: vector<2x1xf64>, %c: vector<2x2xf64>, %m: vector<2xi16>) kernel {
    %d = nvgpu.mma.sp.sync(%a, %b, %c) metadata(%m) {mmaShape = [16, 8, 8]} : (vector<2x1xf64>, vector<2x1xf64>, vector<2x2xf64>) -> vector<2x2xf64>
    gpu.return
  }
}
// ==>
// error[mma-type]: 'nvgpu.mma.sp.sync' op cannot accumulate elements of type f64

// ---- ldmatrix_of_three
// seed: nvgpu-gpu-to-nvvm ldmatrix
gpu.module @m {
  gpu.func @k(%s: memref<64x64xf16, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 3 : i32, transpose = false} : memref<64x64xf16, 3> -> vector<3x2xf16>
    gpu.return
  }
}
// ==>
// ldmatrix_of_three: error[ir-invalid]: the module does not verify: 'nvgpu.ldmatrix' op loads 1, 2 or 4 matrices, got 3

// ---- ldmatrix_into_another_shape
// seed: nvgpu-gpu-to-nvvm ldmatrix
gpu.module @m {
  gpu.func @k(%s: memref<64x64xf16, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 4 : i32, transpose = false} : memref<64x64xf16, 3> -> vector<2x2xf16>
    gpu.return
  }
}
// ==>
// ldmatrix_into_another_shape: error[ir-invalid]: the module does not verify: 'nvgpu.ldmatrix' op result must have 4 rows, but got 'vector<2x2xf16>'

// ---- strides_that_the_pointer_of_a_kernel_does_not_say
// seed: lowering-overview one-type-converter memref-descriptor
gpu.module @m {
  gpu.func @k(%s: memref<8x8xf16, strided<[?, 1]>, 3>) kernel {
    gpu.return
  }
}
// ==>
// error[kernel-strides]: 'gpu.func' op takes the pointer of a 'memref<8x8xf16, strided<[?, 1]>, 3 : i64>' alone, and not its strides; pass what is known at run time as arguments of their own

// ---- a_row_of_a_matrix_whose_strides_a_kernel_does_not_have
gpu.module @m {
  gpu.func @k(%s: memref<8x8xf16, strided<[?, 1]>, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, strided<[?, 1]>, 3> -> vector<1x2xf16>
    gpu.return
  }
}
// ==>
// error[memref-sizes]: 'nvgpu.ldmatrix' op needs the sizes of a 'memref<8x8xf16, strided<[?, 1]>, 3 : i64>' of which there is a pointer alone
// error[kernel-strides]: 'gpu.func' op takes the pointer of a 'memref<8x8xf16, strided<[?, 1]>, 3 : i64>' alone, and not its strides; pass what is known at run time as arguments of their own

// ---- fragment_of_one_dimension
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<8xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf16>) kernel {
    %d = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<8xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    gpu.return
  }
}
// ==>
// fragment_of_one_dimension: error[ir-invalid]: the module does not verify: 'nvgpu.mma.sync' op matrixA must be 2 dimensional vector, but got 'vector<8xf16>'

// ---- fragment_of_half_a_matrix
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x2xf16>, %b: vector<1x2xf16>, %c: vector<2x2xf16>) kernel {
    %d = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<1x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    gpu.return
  }
}
// ==>
// fragment_of_half_a_matrix: error[ir-invalid]: the module does not verify: 'nvgpu.mma.sync' op expected 128 warp-wide matrix B elements, but got 64

// ---- fragment_of_another_form
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<2x4xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf16>) kernel {
    %d = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<2x4xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    gpu.return
  }
}
// ==>
// fragment_of_another_form: error[ir-invalid]: the module does not verify: 'nvgpu.mma.sync' op expected matrix A to be shaped (4 x 2), but got 'vector<2x4xf16>'

// ---- tf32_of_halves
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf16>) kernel {
    %d = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 16], tf32Enabled} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    gpu.return
  }
}
// ==>
// tf32_of_halves: error[ir-invalid]: the module does not verify: 'nvgpu.mma.sync' op expected tf32 tensor cores only for F32 operands

// ---- two_types
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x2xf16>, %b: vector<2x2xbf16>, %c: vector<2x2xf16>) kernel {
    %d = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xbf16>, vector<2x2xf16>) -> vector<2x2xf16>
    gpu.return
  }
}
// ==>
// two_types: error[ir-invalid]: the module does not verify: 'nvgpu.mma.sync' op matrixA and matrixB must have one element type

// ---- selector_of_seven
// seed: nvgpu-gpu-to-nvvm mma-sp-sync
gpu.module @m {
  gpu.func @k(%a: vector<2x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf16>, %m: vector<2xi16>) kernel {
    %d = nvgpu.mma.sp.sync(%a, %b, %c) metadata(%m) {mmaShape = [16, 8, 16], sparsitySelector = 7 : i32} : (vector<2x2xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    gpu.return
  }
}
// ==>
// selector_of_seven: error[ir-invalid]: the module does not verify: 'nvgpu.mma.sp.sync' op sparsity selector should be 0 or 1

// ---- selector_of_a_whole_warp
// seed: nvgpu-gpu-to-nvvm mma-sp-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x4xi8>, %b: vector<4x4xi8>, %c: vector<2x2xi32>, %m: vector<2xi16>) kernel {
    %d = nvgpu.mma.sp.sync(%a, %b, %c) metadata(%m) {mmaShape = [16, 8, 64], sparsitySelector = 1 : i32} : (vector<4x4xi8>, vector<4x4xi8>, vector<2x2xi32>) -> vector<2x2xi32>
    gpu.return
  }
}
// ==>
// error[mma-selector]: 'nvgpu.mma.sp.sync' op has the metadata of all lanes; leave sparsitySelector at 0

// ---- ldmatrix_of_global_memory
// seed: nvgpu-gpu-to-nvvm ldmatrix
gpu.module @m {
  gpu.func @k(%s: memref<64x64xf16, 1>, %i: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %i] {numTiles = 1 : i32, transpose = false} : memref<64x64xf16, 1> -> vector<1x2xf16>
    gpu.return
  }
}
// ==>
// ldmatrix_of_global_memory: error[ir-invalid]: the module does not verify: 'nvgpu.ldmatrix' op source must be in shared memory, but got 'memref<64x64xf16, 1 : i64>'

// ---- ldmatrix_of_another_type
// seed: nvgpu-gpu-to-nvvm ldmatrix
gpu.module @m {
  gpu.func @k(%s: memref<64x64xf32, 3>, %i: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %i] {numTiles = 1 : i32, transpose = false} : memref<64x64xf32, 3> -> vector<1x2xf16>
    gpu.return
  }
}
// ==>
// ldmatrix_of_another_type: error[ir-invalid]: the module does not verify: 'nvgpu.ldmatrix' op result must have 2 dimensions of 'f32', or be 1 words, but got 'vector<1x2xf16>'
