"""FORMS: the valid modifiers and operands of each instruction, with one row per form.

Source: the syntax lines of the PTX ISA 9.0, section 9.7. A row has the same structure, ``modifiers: operands``:

- Modifiers are groups of words, separated by ``/``, in the order of the text. An instruction has one word of each group; of a
  group that starts with ``?`` at most one, with ``*`` any number in any order. ``<int>`` stands for a row of ``TYPES``,
  ``...`` for anything.
- Operands are letters of ``OPERANDS``. An optional one is followed by ``?``, and all operands after it are optional.

``verify_instruction_forms.py`` rejects instructions that match no row. The table lists the forms that the emulator supports, a
subset of the ISA. Handlers check what depends on more than the kinds of operands (shapes of matrices, fields of descriptors).
"""

from __future__ import annotations

# Abbreviations of groups of words.
TYPES = {
    "int": "u16 s16 u32 s32 u64 s64",
    "whole": "u8 s8 u16 s16 u32 s32 u64 s64",
    "word": "u32 s32 u64 s64",
    "bits": "b16 b32 b64",
    "half": "f16 f16x2 bf16 bf16x2",
    "scalar": "b16 b32 b64 u16 s16 u32 s32 u64 s64 f32 f64",
    "memory": "b8 b16 b32 b64 u8 s8 u16 s16 u32 s32 u64 s64 f32 f64",
    "number": "u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64",
    "narrow2": "e4m3x2 e5m2x2 e2m1x2 e2m3x2 e3m2x2",
    "narrow4": "e4m3x4 e5m2x4 e2m1x4 e2m3x4 e3m2x4",
    "rounding": "rn rz rm rp",
    "convert": "rn rz rm rp rna rni rzi rmi rpi ftz sat satfinite relu",
    "own": "shared shared::cta",
    "shared": "shared shared::cta shared::cluster",
    "space": "global const local param param::entry param::func shared shared::cta shared::cluster",
    "order": "weak volatile relaxed acquire release acq_rel mmio cta cluster gpu sys",
    "integers": "eq ne lt le gt ge lo ls hi hs",
    "mma": (
        "cta_group::1 cta_group::2 kind::f16 kind::tf32 kind::f8f6f4 kind::i8 kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4 ashift "
        "scale_vec::1X scale_vec::2X scale_vec::4X block16 block32 "
        + " ".join(
            f"collector::{m}::{use}"
            for m in ("a", "b0", "b1", "b2", "b3")
            for use in ("fill", "use", "lastuse", "discard")
        )
    ),
    "group": "cta_group::1 cta_group::2",
    "factor": "f16 bf16 tf32 f64 s8 u8 s4 u4 e4m3 e5m2 e3m2 e2m3 e2m1",
    "floats": "eq ne lt le gt ge equ neu ltu leu gtu geu num nan",
    "logic": "and or xor",
    "cache": (
        "nc ca cg cs lu cv wb wt L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate "
        "L2::cache_hint L2::64B L2::128B L2::256B L2::evict_normal L2::evict_first L2::evict_last unified"
    ),
}

# Letter -> the operands that it stands for, as a pattern over their shapes (``check_forms.shape``), and in words.
OPERANDS = {
    "d": ("[r_]", "a register"),
    "D": ("[rQ_]", "a register"),
    "Q": ("[Q_]", "a register of 128 bits"),
    "p": ("[p_]", "a predicate register"),
    "P": (r"[p_]|[p_]\|[p_]", "one or two predicate registers"),
    "e": (r"[r_]\|[p_]", "a register and a predicate register, d|p"),
    "E": (r"[r_]|[r_]\|[p_]", "a register, or one and a predicate register, d|p"),
    "a": (r"[risnf]|\[n\]", "a register, a number or a name"),
    "A": (r"[rQisnf]|\[n\]", "a register, a number or a name"),
    "q": ("!?p|i|s", "a predicate"),
    "m": (r"\[[rins]\]", "an address in brackets"),
    "t": (r"\[[rns]:(\{[risf]+\}|[risf])\]", "a tensor map and coordinates in brackets"),
    "i": ("i", "a number"),
    "l": ("n", "a name"),
    "j": (r"n|\{n*\}", "the name of a list of labels"),
    "v": (r"\{[r_]+\}|[r_]", "registers in braces"),
    "w": (r"\{[risf]+\}|[risf]", "registers or numbers in braces"),
    "2": (r"\{[r_]{2}\}", "two registers in braces"),
    "4": (r"\{[r_]{4}\}", "four registers in braces"),
    "8": (r"\{[r_]{8}\}", "eight registers in braces"),
    "b": (r"\{[risf]{2}\}", "two registers or numbers in braces"),
    "f": (r"\{[risf]{4}\}", "four registers or numbers in braces"),
    "h": (r"\{[risf]{8}\}", "eight registers or numbers in braces"),
    "g": (r"[risn]|\[[rins]\]", "a descriptor, or an address in brackets"),
    "c": (r"\([^()]*\)", "variables in parentheses"),
    "x": (r"\{[risf]+\}|[rQisnf]|\[[^ ]*\]|!?p", "an operand"),
}

_FLOAT = "*<rounding> ftz sat relu oob approx full"
_ATOMIC = "*<order> global <shared> noftz L2::cache_hint"

_MMA_MODIFIERS = "?satfinite / f16 f32 f64 s32 / <factor> / <factor> / f16 f32 f64 s32"
_BULK_REDUCTIONS = (
    "add / ?noftz / <word> f32 f64 f16 bf16",
    "min max / <word> f16 bf16",
    "inc dec / u32",
    "and or xor / b32 b64",
)

FORMS: dict[str, tuple[str, ...]] = {
    # -- integers
    "add sub": (
        "*sat cc / <int> u16x2 s16x2: d a a",
        "*<rounding> ftz sat / f32 f64 f32x2 <half>: d a a",
        "*<rounding> ftz sat / f32 / f16 bf16: d a a",
    ),
    "addc subc": ("?cc / <word>: d a a",),
    "mul": ("hi lo / <int>: d a a", "wide / u16 s16 u32 s32: d a a", f"{_FLOAT} / f32 f64 f32x2 <half>: d a a"),
    "mad fma": (
        "hi lo / *sat cc / <int>: d a a a",
        "wide / u16 s16 u32 s32: d a a a",
        f"{_FLOAT} / f32 f64 f32x2 <half>: d a a a",
        f"{_FLOAT} / f32 / f16 bf16: d a a a",
    ),
    "madc": ("hi lo / ?cc / <word>: d a a a",),
    "mul24": ("hi lo / u32 s32: d a a",),
    "mad24": ("hi lo / ?sat / u32 s32: d a a a",),
    "sad": ("<int>: d a a a",),
    "div": ("<int>: d a a", f"{_FLOAT} / f32 f64: d a a"),
    "rem": ("<int>: d a a",),
    "min max": (
        "?relu / <int> u16x2 s16x2: d a a a?",
        "*ftz NaN xorsign abs / f32 f64 <half>: d a a a?",
    ),
    "abs neg": ("s16 s32 s64: d a", "?ftz / f32 f64 <half>: d a"),
    "and or xor": ("<bits>: d a a", "pred: p q q"),
    "not": ("<bits>: d a", "pred: p q"),
    "cnot": ("<bits>: d a",),
    "shl": ("<bits>: d a a",),
    "shr": ("<bits> <int>: d a a",),
    "shf": ("l r / clamp wrap / b32: d a a a",),
    "bfe": ("<word>: d a a a",),
    "bfi": ("b32 b64: d a a a a",),
    "bmsk": ("clamp wrap / b32: d a a",),
    "szext": ("clamp wrap / u32 s32: d a a",),
    "bfind": ("?shiftamt / <word>: d a",),
    "brev popc clz": ("b32 b64: d a",),
    "fns": ("b32: d a a a",),
    "prmt": ("b32 / ?f4e b4e rc8 ecl ecr rc16: d a a a",),
    "lop3": ("b32: d a a a i", "and or / b32: e a a a i q"),
    "dp4a": ("u32 s32 / u32 s32: d a a a",),
    "dp2a": ("lo hi / u32 s32 / u32 s32: d a a a",),
    # -- floats
    "copysign": ("f32 f64: d a a",),
    "sqrt rcp rsqrt": (f"{_FLOAT} / f32 f64: d a",),
    "ex2 tanh": (f"{_FLOAT} / f32 <half>: d a",),
    "lg2 sin cos": (f"{_FLOAT} / f32: d a",),
    "testp": ("finite infinite number notanumber normal subnormal / f32 f64: p a",),
    # -- moves, comparisons, conversions
    "mov": (
        "pred: p q",
        "<scalar>: d a",
        "b128: Q A",
        "b16: 2 a",
        "b32 b64: 2 a",
        "b32 b64: 4 a",
        "b16: d b",
        "b32 b64: d b",
        "b32 b64: d f",
        "b128: 2 Q",
        "b128: Q b",
    ),
    "selp": ("<scalar>: d a a q",),
    "slct": ("?ftz / <scalar> / s32 f32: d a a a",),
    "setp": (
        "<integers> / <bits> <int>: P a a",
        "<integers> / <logic> / <bits> <int>: P a a q",
        "<floats> / ?ftz / f32 f64 <half>: P a a",
        "<floats> / <logic> / ?ftz / f32 f64 <half>: P a a q",
    ),
    "set": (
        "<integers> / u32 s32 f32 / <bits> <int>: d a a",
        "<integers> / <logic> / u32 s32 f32 / <bits> <int>: d a a q",
        "<floats> / ?ftz / u16 s16 u32 s32 f32 <half> / f32 f64 <half>: d a a",
        "<floats> / <logic> / ?ftz / u16 s16 u32 s32 f32 <half> / f32 f64 <half>: d a a q",
    ),
    "cvt": (
        "pack / sat / u16 s16 / s32: d a a",
        "pack / sat / u8 s8 / s32 / b32: d a a a",
        "*<convert> / <number> / <number>: d a",
        "*<convert> / tf32 / f32: d a",
        "*<convert> / f16x2 bf16x2 <narrow2> ue8m0x2 / f32: d a a",
        "rs / *relu satfinite / f16x2 bf16x2 / f32: d a a a",
        "rs / *relu satfinite / <narrow4> / f32: d f a",
        "*<convert> / <narrow2> / f16x2 bf16x2: d a",
        "*<convert> scaled::n2::ue8m0 / f16x2 bf16x2 / <narrow2>: d a a?",
        "*<convert> / ue8m0x2 / bf16x2: d a",
        "*<convert> / bf16x2 / ue8m0x2: d a",
    ),
    "cvta": ("?to / <space> / u32 u64: d a",),
    "isspacep": ("<space>: p a",),
    "getctarank": ("?shared::cluster / u32 u64: d a",),
    "mapa": ("?shared::cluster / u32 u64: d a a",),
    # -- memory
    "ld ldu": (
        "*<order> <space> <cache> / <memory>: d m a?",
        "*<order> <space> <cache> / b128: Q m a?",
        "*<order> <space> <cache> / v2 / <memory>: 2 m a?",
        "*<order> <space> <cache> / v4 / <memory>: 4 m a?",
        "*<order> <space> <cache> / v8 / <memory>: 8 m a?",
    ),
    "st": (
        "*<order> <space> <cache> / <memory>: m a a?",
        "*<order> <space> <cache> / b128: m Q a?",
        "*<order> <space> <cache> / v2 / <memory>: m b a?",
        "*<order> <space> <cache> / v4 / <memory>: m f a?",
        "*<order> <space> <cache> / v8 / <memory>: m h a?",
        "async / *<order> shared::cluster mbarrier::complete_tx::bytes / b32 b64 u32 u64 s32 s64 f32 f64: m a m",
        "async / *<order> shared::cluster mbarrier::complete_tx::bytes / v2 / b32 b64 u32 u64 s32 s64 f32 f64: m b m",
        "async / *<order> shared::cluster mbarrier::complete_tx::bytes / v4 / b32 u32 s32 f32: m f m",
    ),
    "prefetch prefetchu discard applypriority": ("...: m i?",),
    "createpolicy": ("...: d x? x? x? x?",),
    "atom": (
        f"{_ATOMIC} / add / {_ATOMIC} / <word> f32 f64 <half>: d m a a?",
        f"{_ATOMIC} / min max / {_ATOMIC} / <word>: d m a a?",
        f"{_ATOMIC} / and or xor / ?L2::cache_hint / b32 b64: d m a a?",
        f"{_ATOMIC} / exch / ?L2::cache_hint / b32 b64: d m a a?",
        f"{_ATOMIC} / cas / ?L2::cache_hint / b16 b32 b64: d m a a a?",
        f"{_ATOMIC} / inc dec / ?L2::cache_hint / u32: d m a a?",
        f"{_ATOMIC} / exch / ?L2::cache_hint / b128: Q m Q a?",
        f"{_ATOMIC} / cas / ?L2::cache_hint / b128: Q m Q Q a?",
        f"{_ATOMIC} / add / {_ATOMIC} / v2 / {_ATOMIC} / f32 <half>: 2 m b a?",
        f"{_ATOMIC} / add / {_ATOMIC} / v4 / {_ATOMIC} / f32 <half>: 4 m f a?",
        f"{_ATOMIC} / add / {_ATOMIC} / v8 / {_ATOMIC} / f16 bf16: 8 m h a?",
        f"{_ATOMIC} / min max / {_ATOMIC} / v2 / {_ATOMIC} / <half>: 2 m b a?",
        f"{_ATOMIC} / min max / {_ATOMIC} / v4 / {_ATOMIC} / <half>: 4 m f a?",
        f"{_ATOMIC} / min max / {_ATOMIC} / v8 / {_ATOMIC} / f16 bf16: 8 m h a?",
    ),
    "red": (
        f"{_ATOMIC} / add / {_ATOMIC} / <word> f32 f64 <half>: m a a?",
        f"{_ATOMIC} / min max / {_ATOMIC} / <word>: m a a?",
        f"{_ATOMIC} / and or xor / ?L2::cache_hint / b32 b64: m a a?",
        f"{_ATOMIC} / inc dec / ?L2::cache_hint / u32: m a a?",
        f"{_ATOMIC} / add / {_ATOMIC} / v2 / {_ATOMIC} / f32 <half>: m b a?",
        f"{_ATOMIC} / add / {_ATOMIC} / v4 / {_ATOMIC} / f32 <half>: m f a?",
        f"{_ATOMIC} / add / {_ATOMIC} / v8 / {_ATOMIC} / f16 bf16: m h a?",
        f"{_ATOMIC} / min max / {_ATOMIC} / v2 / {_ATOMIC} / <half>: m b a?",
        f"{_ATOMIC} / min max / {_ATOMIC} / v4 / {_ATOMIC} / <half>: m f a?",
        f"{_ATOMIC} / min max / {_ATOMIC} / v8 / {_ATOMIC} / f16 bf16: m h a?",
        "async / *<order> shared::cluster mbarrier::complete_tx::bytes / inc dec / u32: m a m",
        "async / *<order> shared::cluster mbarrier::complete_tx::bytes / min max / u32 s32: m a m",
        "async / *<order> shared::cluster mbarrier::complete_tx::bytes / add / u32 s32 u64: m a m",
        "async / *<order> shared::cluster mbarrier::complete_tx::bytes / and or xor / b32: m a m",
    ),
    "tensormap": (
        "cp_fenceproxy / ...: m m i",
        "replace / tile / global_address / ?global <own> / b1024 / b64: m a",
        "replace / tile / rank elemtype interleave_layout swizzle_mode swizzle_atomicity fill_mode / ?global <own> / b1024 / b32: m a",
        "replace / tile / box_dim global_dim element_stride / ?global <own> / b1024 / b32: m i a",
        "replace / tile / global_stride / ?global <own> / b1024 / b64: m i a",
    ),
    # -- barriers
    "bar": (
        "warp / sync: a",
        "?cta / sync: a a?",
        "?cta / arrive: a a",
        "?cta / red / popc / u32: d a a? q",
        "?cta / red / and or / pred: p a a? q",
    ),
    "barrier": (
        "cluster / arrive wait / *release relaxed acquire aligned:",
        "?cta / sync / ?aligned: a a?",
        "?cta / arrive / ?aligned: a a",
        "?cta / red / popc / ?aligned / u32: d a a? q",
        "?cta / red / and or / ?aligned / pred: p a a? q",
    ),
    "membar fence": ("...: m? i?",),
    "mbarrier": (
        "pending_count / b64: d a",
        "init / ?<own> / b64: m a",
        "inval / ?<own> / b64: m",
        "expect_tx complete_tx / *<order> <shared> / b64: m a",
        "arrive arrive_drop / *<order> <shared> noComplete / b64: d m a?",
        "arrive arrive_drop / *<order> <shared> / b64: m a?",
        "arrive arrive_drop / expect_tx / *<order> <shared> / b64: d m a",
        "arrive arrive_drop / expect_tx / *<order> <shared> / b64: m a",
        "test_wait / *parity <order> <own> / b64: p m a",
        "try_wait / *parity <order> <own> / b64: p m a a?",
    ),
    "clusterlaunchcontrol": (
        "try_cancel / async / ... / b128: m m",
        "query_cancel / is_canceled / pred / b128: p Q",
        "query_cancel / get_first_ctaid / v4 / b32 / b128: 4 Q",
        "query_cancel / get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z / b32 / b128: d Q",
    ),
    "griddepcontrol": ("launch_dependents wait:",),
    # -- control
    "bra": ("?uni: l",),
    "brx": ("idx / ?uni: a j",),
    "call": ("?uni: c? x c? l?",),
    "ret exit": ("?uni:",),
    "trap brkpt": (":",),
    "pmevent": ("?mask: i",),
    "nanosleep": ("u32: a",),
    "setmaxnreg": ("inc dec / sync / aligned / u32: i",),
    # -- warps
    "shfl": ("sync / up down bfly idx / b32: E a a a a",),
    "vote": (
        "sync / all any uni / pred: p q a",
        "sync / ballot / b32: d q a",
        "all any uni / sync / pred: p q a",
        "all any uni / pred: p q",
        "ballot / b32: d q",
    ),
    "activemask": ("b32: d",),
    "match": ("any / sync / b32 b64: d a a", "all / sync / b32 b64: E a a"),
    "redux": (
        "sync / add min max / u32 s32: d a a",
        "sync / and or xor / b32: d a a",
        "sync / min max / *abs NaN / f32: d a a",
    ),
    "elect": ("sync: e a",),
    # -- matrices
    "ldmatrix": ("sync / aligned / ...: v m",),
    "stmatrix": ("sync / aligned / ...: m w",),
    "movmatrix": ("sync / aligned / m8n8 / trans / b16: d a",),
    "mma": (
        f"sync / aligned / ... / {_MMA_MODIFIERS}: v w w w",
        f"sp sp::ordered_metadata / sync / aligned / ... / {_MMA_MODIFIERS}: v w w w w i",
        f"sync / aligned / ... / block_scale / ... / {_MMA_MODIFIERS} / ue8m0 ue4m3: v w w w w b w b",
        f"sp::ordered_metadata / sync / aligned / ... / block_scale / ... / {_MMA_MODIFIERS} / ue8m0 ue4m3: v w w w w i w b w b",
    ),
    "wgmma": (
        "fence commit_group / sync / aligned:",
        "wait_group / sync / aligned: i",
        "mma_async / sync / aligned / ... / f16 f32 s32 / <factor> / <factor> / ?satfinite: v w w q i? i? i? i?",
        "mma_async / sp / sync / aligned / ... / f16 f32 s32 / <factor> / <factor> / ?satfinite: v w w x i q? i? i? i? i?",
    ),
    # -- copies
    "cp": (
        "async / ca cg / ...: m m i x? x?",
        "async / commit_group wait_all:",
        "async / wait_group: i",
        "async / mbarrier / arrive / *noinc <own> / b64: m",
        "async / bulk / commit_group:",
        "async / bulk / wait_group / ?read: i",
        "async / bulk / prefetch / ...: m a a?",
        "async / bulk / prefetch / tensor / ...: t x? x?",
        "async / bulk / <shared> / global <shared> / ...: m m a m a?",
        "async / bulk / <shared> / global <shared> / ... / multicast::cluster / ...: m m a m a a?",
        "async / bulk / global / <own> / ...: m m a a? a?",
        "async / bulk / tensor / 1d 2d 3d 4d 5d / ?<group> / <shared> / global / ...: m t m x? x?",
        "async / bulk / tensor / 1d 2d 3d 4d 5d / ?<group> / <shared> / global / ... / multicast::cluster / ...: m t m x x? x?",
        "async / bulk / tensor / 1d 2d 3d 4d 5d / global / <own> / ...: t m x? x?",
        *(f"reduce / async / bulk / <shared> / <shared> / ... / {what}: m m a m" for what in _BULK_REDUCTIONS),
        *(f"reduce / async / bulk / global / <own> / ... / {what}: m m a a?" for what in _BULK_REDUCTIONS),
        "reduce / async / bulk / tensor / 1d 2d 3d 4d 5d / global / <own> / ...: t m x?",
    ),
    # -- tensor memory
    "tcgen05": (
        "alloc / ...: m a",
        "dealloc / ...: a a",
        "relinquish_alloc_permit / ...:",
        "ld / sync / aligned / ...: v m i?",
        "ld / red / sync / aligned / ...: v d m",
        "ld / red / sync / aligned / 16x32bx2 / ...: v d m i",
        "st / sync / aligned / ...: m w",
        "st / sync / aligned / ...: m i w",
        "wait::ld wait::st / sync / aligned:",
        "fence::before_thread_sync fence::after_thread_sync:",
        "commit / ...: m",
        "commit / ... / multicast::cluster / ...: m a",
        "cp / ...: m a",
        "shift / ...: m",
        "mma / *<mma>: m g a a q i?",
        "mma / *<mma>: m g a a f q i?",
        "mma / *<mma>: m g a a h q i?",
        "mma / *<mma> / block_scale / *<mma>: m g a a m m q",
        "mma / sp / *<mma>: m g a m a q i?",
        "mma / sp / *<mma>: m g a m a f q i?",
        "mma / sp / *<mma>: m g a m a h q i?",
        "mma / sp / *<mma> / block_scale / *<mma>: m g a m a m m q",
        "mma / ws / *<mma>: m g a a q a?",
        "mma / ws / sp / *<mma>: m g a m a q a?",
    ),
}
