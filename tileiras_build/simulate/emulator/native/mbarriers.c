// Arrivals at mbarriers, and tests of their phases (isa/mbarrier_state_word.py has the fields of a word).
#include "kernels.h"

typedef struct { i64 expected, pending, bytes; } Fields;

INLINE Fields fields_of(u64 word, i64 bias) {
    return (Fields){word & 0xFFFFF, word >> 20 & 0xFFFFF, (i64)(word >> 40 & 0x7FFFFF) - bias};
}

// Returns whether a phase completes; -1, without a change, if places do not ascend or a mbarrier would exceed its range.
i64 arrive(u64 *words, const i64 *places, const i64 *arrivals, const i64 *tx, u64 *before, i64 count, i64 arrivals_step,
           i64 tx_step, i64 drop, i64 bias, i64 limit) {
    for (i64 i = 0; i < count; i++) {
        Fields old = fields_of(words[places[i]], bias);
        i64 bytes = old.bytes + tx[i * tx_step];
        int is_outside = old.bytes > limit || old.bytes < -limit || bytes > limit || bytes < -limit;
        if (is_outside || old.pending < arrivals[i * arrivals_step] || (i && places[i] <= places[i - 1]) || places[i] < 0)
            return -1;
    }
    i64 any = 0;
    for (i64 i = 0; i < count; i++) {
        u64 word = before[i] = words[places[i]];
        Fields old = fields_of(word, bias);
        i64 arrived = arrivals[i * arrivals_step], left = old.pending - arrived, bytes = old.bytes + tx[i * tx_step];
        i64 is_complete = !left && !bytes, expected = old.expected - arrived * drop;
        u64 phase = (word >> 63 ^ is_complete) << 63;
        words[places[i]] = phase | (u64)(bytes + bias) << 40 | (is_complete ? expected : left) << 20 | expected;
        any |= is_complete;
    }
    return any;
}

// Whether all mbarriers are in a phase other than ``phase``; 2 if one is invalid.
i64 phases_differ(const u64 *words, const i64 *places, i64 count, i64 phase, i64 bias, i64 limit) {
    i64 all = 1;
    for (i64 i = 0; i < count; i++) {
        u64 word = words[places[i]];
        i64 bytes = fields_of(word, bias).bytes;
        if (bytes > limit || bytes < -limit)
            return 2;
        all &= (i64)(word >> 63) != phase;
    }
    return all;
}
