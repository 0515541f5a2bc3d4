// What printf and assertions cannot do is refused by name.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- printf_of_a_vector
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    gpu.printf "%f", %v : vector<2xf32>
    gpu.return
  }
}
// ==>
// error[printf-type]: 'gpu.printf' op cannot print a value of type vector<2xf32>

// ---- assert_in_a_loop
gpu.module @m {
  gpu.func @k(%n: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    scf.for %i = %c0 to %n step %n {
      cf.assert %c, "x"
      scf.yield
    }
    gpu.return
  }
}
// ==>
// error[assert-region]: 'cf.assert' op is in a region of one block; convert scf to cf first

// ---- assertfail_of_another_type
gpu.module @m {
  llvm.func @__assertfail(i32)
  gpu.func @kernel(%c: i1) kernel {
    cf.assert %c, "x"
    gpu.return
  }
}
// ==>
// error[symbol-taken]: 'cf.assert' op calls @__assertfail of type !llvm.func<void (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)>, but the module defines another one
