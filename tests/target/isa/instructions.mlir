// Instructions of the table that no golden file has: what kernels ask for in places that goldens do not show.
gpu.module @m {
  llvm.func @values(%f: f32, %d: f64, %i: i32, %h: f16, %b: i8, %p: !llvm.ptr) {
    %flag = llvm.mlir.constant(false) : i1
    %0 = nvvm.add %f, %f {rounding = "rz"} : f32
    %1 = nvvm.mul %d, %d {rounding = "rn"} : f64
    %2 = nvvm.fma %f, %f, %f {rounding = "rm", ftz} : f32
    %3 = nvvm.div %f, %f {rounding = "full"} : f32
    %4 = nvvm.div %d, %d {rounding = "rn"} : f64
    %5 = nvvm.sqrt %f {rounding = "approx"} : f32
    %6 = nvvm.rsqrt.approx %d : f64
    %7 = nvvm.ex2.approx %f {ftz} : f32
    %8 = nvvm.tanh.approx %f : f32
    %saturated = nvvm.saturate %f : f32
    %inverse = nvvm.rcp.approx %f : f32
    %pair = llvm.mlir.undef : i64
    %half = llvm.mlir.undef : i16
    %rounded = nvvm.fma.pair %pair, %pair, %pair {rounding = "rm"} : i64
    %upper = nvvm.upper.half %pair : (i64) -> i32
    %extreme = nvvm.extreme.pair %i, %i {operation = "max", halves = "bf16x2", nan} : i32
    %rounded_pair = nvvm.round.pair %f, %f {halves = "bf16x2"} : (f32, f32) -> i32
    %sum = nvvm.add.mixed %half, %f {halves = "f16"} : (i16, f32) -> f32
    %difference = nvvm.sub.mixed %half, %f {halves = "bf16"} : (i16, f32) -> f32
    %9 = nvvm.fmin %f, %f {nan} : f32
    %10 = nvvm.fmax %d, %d : f64
    %11 = nvvm.cvt.integer %i {unsigned, rounding = "rz"} : (i32) -> f32
    %12 = nvvm.cvt.f32.f64 %d {rounding = "rm"} : (f64) -> f32
    %13 = nvvm.cvt.float %f {rounding = "rz", target = "bf16"} : (f32) -> i16
    %14 = nvvm.intr.abs %i, %flag : (i32, i1) -> i32
    %15 = nvvm.intr.fabs %f : f32
    %16 = nvvm.intr.floor %f : f32
    %17 = nvvm.intr.ceil %f : f32
    %18 = nvvm.intr.minnum %f, %f : f32
    %19 = nvvm.intr.maxnum %f, %f : f32
    %20 = nvvm.intr.minimum %f, %f : f32
    %21 = nvvm.intr.maximum %f, %f : f32
    %22 = nvvm.intr.umin %i, %i : i32
    %23 = nvvm.intr.umax %i, %i : i32
    %24 = nvvm.prmt %i, %i, %i : i32
    %25 = llvm.nvvm.move %f : f32
    %26 = llvm.nvvm.move %h : f16
    %27 = llvm.nvvm.move %p : !llvm.ptr
    llvm.return
  }
  llvm.func @warps(%i: i32, %a: vector<2xf16>, %f: f32) {
    nvvm.barrier.cta.arrive.aligned.count %i, %i : (i32, i32) -> ()
    nvvm.setmaxregister {action = "inc", count = 240}
    llvm.return
  }
  llvm.func @order(%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %n: i64, %m: i16) {
    nvvm.cluster.arrive.relaxed {aligned}
    nvvm.cluster.arrive
    nvvm.cluster.wait
    nvvm.fence.mbarrier.init
    nvvm.griddepcontrol.wait
    nvvm.griddepcontrol.launch.dependents
    nvvm.memory_clobber
    %first = nvvm.here %n : i64
    nvvm.mbarrier.inval.shared %s : !llvm.ptr<3>
    %0 = llvm.ptrtoint %s : !llvm.ptr<3> to i32
    %1 = nvvm.mapa %0 rank(%0) : i32
    nvvm.tcgen05.commit %s mask(%m) {group = "cg1"} : (!llvm.ptr<3>, i16) -> ()
    nvvm.tensormap.replace %g, %n {field = "global_stride", index = 1} : (!llvm.ptr<1>, i64) -> ()
    %2 = nvvm.read.ptx.sreg.cluster.nctaid.x : i32
    %3 = nvvm.read.ptx.sreg.cluster.nctaid.y : i32
    %4 = nvvm.read.ptx.sreg.cluster.nctaid.z : i32
    llvm.return
  }
}
