// A schedule says what the code has: its warps, and the strategy whose passes ran.
// run: tileas-check-schedule sm_90

// ---- what_is_chosen_stays_and_the_rest_is_read_from_the_kernel
nv_tileaa.func @k attributes {num_ctas = 2 : i32, num_warps = 4 : i32, schedule = {num_ctas = 2 : i32, num_stages = 3 : i32, mma = ["wgmma"]}} {
^bb0(%n: i32):
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {num_ctas = 2 : i32, num_warps = 4 : i32, schedule = {strategy = "warp-specialize", num_ctas = 2 : i32, num_warps = 4 : i32, mma = ["wgmma"], num_stages = 3 : i32}} {
^bb0(%n: i32):
  nv_tileaa.return
}
