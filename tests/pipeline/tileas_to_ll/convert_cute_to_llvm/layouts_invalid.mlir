// Layouts that contradict themselves, and what has no lowering.
// run: convert-cute-and-cute-nvgpu-to-llvm sm_90

// ---- a_type_that_contradicts_its_value
// seed: lowering-overview companion-cute
func.func @k() {
  %a = cute.static : !cute.layout<"(8,16):(16,1)">
  %b = cute.coalesce %a : (!cute.layout<"(8,16):(16,1)">) -> !cute.layout<"(8,8):(16,1)">
  func.return
}
// ==>
// error[cute-type]: 'cute.coalesce' op makes (8,16) where its type says (8,8)

// ---- shape_and_stride_of_two_forms
func.func @k() {
  %a = cute.static : !cute.shape<"(8,16)">
  %b = cute.static : !cute.stride<"(8,(1,2))">
  %c = cute.make_layout %a stride(%b) : (!cute.shape<"(8,16)">, !cute.stride<"(8,(1,2))">) -> !cute.layout<"(8,16):(?,?)">
  func.return
}
// ==>
// error[cute-algebra]: 'cute.make_layout' op (8,16) and (8,(1,2)) do not have the same form

// ---- layouts_that_do_not_compose
func.func @k() {
  %a = cute.static : !cute.layout<"(6,2):(1,7)">
  %b = cute.static : !cute.layout<"8:1">
  %c = cute.composition %a, %b : (!cute.layout<"(6,2):(1,7)">, !cute.layout<"8:1">) -> !cute.layout<"8:?">
  func.return
}
// ==>
// error[cute-algebra]: 'cute.composition' op cannot compose (6,2):(1,7) and 8:1: 8 is not a multiple of 6

// ---- a_layout_whose_text_is_none
func.func @k(%a: !cute.layout<"(8,16)">) {
  func.return
}
// ==>
// a_layout_whose_text_is_none:1:31: error[parse-failed]: cannot parse: '(8,16)' is not a layout: it needs a colon between shape and stride

// ---- operations_without_a_rewrite_are_named
// seed: lowering-overview companion-cute role-companions
func.func @k(%a: i32) {
  cute.gemm %a : (i32) -> ()
  cute_nvgpu.update_tma_desc %a : (i32) -> ()
  func.return
}
// ==>
// error[illegal-operation]: failed to legalize operation 'cute.gemm' that was explicitly marked illegal; no rewrite of convert-cute-and-cute-nvgpu-to-llvm has it as its root
// error[illegal-operation]: failed to legalize operation 'cute_nvgpu.update_tma_desc' that was explicitly marked illegal; no rewrite of convert-cute-and-cute-nvgpu-to-llvm has it as its root

// ---- a_user_of_another_dialect
func.func @k(%n: i32) {
  %a = cute.make_shape %n : (i32) -> !cute.shape<"(?,4)">
  cutlass.async.exec %a : (!cute.shape<"(?,4)">) -> ()
  func.return
}
// ==>
// error[cute-user]: 'cutlass.async.exec' op uses a value of type !cute.shape<"(?,4)">
