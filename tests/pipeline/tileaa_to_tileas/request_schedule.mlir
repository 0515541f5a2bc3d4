// A job without a schedule file requests nothing. Requests are tested in tests/pipeline/schedule.
// run: tileas-request-schedule sm_90

// ---- without_a_file_a_kernel_is_as_it_was
nv_tileaa.func @k attributes {schedule = {num_warps = 8 : i32}} {
^bb0(%n: i32):
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {schedule = {num_warps = 8 : i32}} {
^bb0(%n: i32):
  nv_tileaa.return
}
