// Math that libdevice has no function for.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- a_vector_that_was_not_taken_apart
// seed: nvgpu-gpu-to-nvvm diag-vector-math scalar-before-libdevice
// run: convert-math-to-libdevice sm_90
gpu.module @m {
  gpu.func @k(%v: vector<4xf32>) kernel {
    %r = math.sqrt %v : vector<4xf32>
    gpu.return
  }
}
// ==>
// error[math-vector]: 'math.sqrt' op on 'vector<4xf32>' reaches libdevice, whose functions are scalar; scalarize it first (pass scalarize-vector-math)

// ---- a_vector_of_unknown_length
// seed: nvgpu-gpu-to-nvvm diag-vector-math
gpu.module @m {
  gpu.func @k(%v: vector<[4]xf32>) kernel {
    %r = math.sqrt %v : vector<[4]xf32>
    gpu.return
  }
}
// ==>
// error[math-vector]: 'math.sqrt' op on 'vector<[4]xf32>' reaches libdevice, whose functions are scalar; scalarize it first (pass scalarize-vector-math)

// ---- a_float_of_128_bits
gpu.module @m {
  gpu.func @k(%x: f128) kernel {
    %r = math.sin %x : f128
    gpu.return
  }
}
// ==>
// error[math-no-row]: 'math.sin' op has no libdevice function for 'f128'

// ---- an_integer_of_16_bits
gpu.module @m {
  gpu.func @k(%x: i16) kernel {
    %r = math.absi %x : i16
    gpu.return
  }
}
// ==>
// error[math-no-row]: 'math.absi' op has no libdevice function for 'i16'
