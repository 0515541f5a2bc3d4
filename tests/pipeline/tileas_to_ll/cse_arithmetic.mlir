// What arith and math compute twice is computed once; what is read from memory twice may differ.
// run: tileas-cse-arithmetic sm_90

// ---- arithmetic_and_math_that_repeat
// seed: lowering-overview phase-7-cleanup
func.func @k(%a: f32, %b: f32) -> (f32, f32, f32, f32) {
  %x = arith.mulf %a, %b : f32
  %y = arith.mulf %a, %b : f32
  %s = math.sin %x : f32
  %t = math.sin %y : f32
  func.return %x, %y, %s, %t : f32, f32, f32, f32
}
// ==>
func.func @k(%a: f32, %b: f32) -> (f32, f32, f32, f32) {
  %x = arith.mulf %a, %b : f32
  %s = math.sin %x : f32
  func.return %x, %x, %s, %s : f32, f32, f32, f32
}

// ---- reads_of_memory_stay
// seed: lowering-overview phase-7-cleanup
func.func @k(%p: !llvm.ptr) -> (f32, f32) {
  %x = llvm.load %p : !llvm.ptr -> f32
  %y = llvm.load %p : !llvm.ptr -> f32
  func.return %x, %y : f32, f32
}
// ==>
func.func @k(%p: !llvm.ptr) -> (f32, f32) {
  %x = llvm.load %p : !llvm.ptr -> f32
  %y = llvm.load %p : !llvm.ptr -> f32
  func.return %x, %y : f32, f32
}
