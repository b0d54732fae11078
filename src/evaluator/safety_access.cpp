// Loads: where each lane reads, whether it may, what it gets and what that derives from.
#include <algorithm>
#include <bit>

#include "evaluator/safety_warp.hpp"

namespace flipflop::eval {

WarpRun::Located WarpRun::locate(const Value& base, const MemoryOp& m, u32 mask) {
    Located at;
    at.space = m.space;
    at.known = base.known & mask;
    const u64 wrap = p_.module->address_size == 32 ? 0xffffffffu : ~u64{0};
    for (unsigned l = 0; l < kLanes; ++l) at.address[l] = (base.lane[l] + static_cast<u64>(m.offset)) & wrap;
    if (m.space != ptx::Space::generic || !at.known) return at;
    const SpaceWindow w = window_of(p_.map, at.address[static_cast<unsigned>(std::countr_zero(at.known))]);
    at.space = w.space;
    for (u32 lanes = at.known; lanes; lanes &= lanes - 1) {
        const u32 bit = lanes & (0 - lanes);
        u64& address = at.address[static_cast<unsigned>(std::countr_zero(lanes))];
        if (window_of(p_.map, address).space != w.space) at.known &= ~bit;
        address -= w.base;
    }
    return at;
}

void WarpRun::memory(Frame& f, const MicroOp& op, u32 mask, u32 maybe) {
    const MemoryOp& m = p_.memory[op.payload];
    if (m.kind == AccessKind::prefetch) return;
    Access x;
    x.op = op.payload;
    x.sure = uncertain_ ? 0 : mask;
    x.maybe = uncertain_ ? mask | maybe : maybe;
    const u32 lanes = x.lanes();
    static const Value nowhere{};
    x.base = m.address == kNone ? &nowhere : &f.slots[m.address];
    x.at = locate(*x.base, m, lanes);
    x.stride = moved_by(*x.base, b_.domain);
    x.why.clear();
    if (x.maybe && m.writes) {
        x.why = guard_;
        if (maybe) f.from.add_to(x.why, op.guard, maybe);
    }
    if ((x.at.known & lanes) != lanes && m.writes) {
        b_.give_up("where the store at " + line(op) + " goes depends on data");
        return;
    }
    if (m.kind == AccessKind::matrix || m.kind == AccessKind::wmma) return matrix(f, op, m, x);
    if (!in_bounds(op, m, x)) return;
    if (x.at.space == ptx::Space::global) note_span(m, x);
    if (op.op == Op::load) return load(f, op, m, x);
    if (op.op == Op::store) return store(f, op, m, x);
    if (m.atomic) return atomic(f, op, m, x);
    const bool asynchronous = m.kind == AccessKind::plain;
    if (asynchronous && m.reads && x.at.space == ptx::Space::global) return copy_from(f, m, x);
    if (asynchronous && m.writes && x.at.space == ptx::Space::shared) return copy_to(m, x);
    if (m.writes) b_.give_up("what is stored at " + line(op) + " is not followed");
}

void WarpRun::note_span(const MemoryOp& m, const Access& x) {
    u64 low = ~u64{0}, high = 0;
    for (u32 left = x.at.known; left; left &= left - 1) {
        const u64 a = x.at.address[static_cast<unsigned>(std::countr_zero(left))];
        low = std::min(low, a);
        high = std::max(high, a + std::max(1u, m.bytes));
    }
    if (x.at.known) b_.note_span(x.op, x.stride, low, high, m.writes);
}

bool WarpRun::in_bounds(const MicroOp& op, const MemoryOp& m, const Access& x) {
    const u32 symbol = s_.traits.symbol[x.op];
    u64 begin = 0, end = ~u64{0};
    std::string name = "shared memory";
    if (symbol != kNone && p_.map.symbols.contains(symbol) && p_.module->symbols[symbol].byte_size.value_or(0) > 0) {
        begin = p_.map.symbols.at(symbol);
        end = begin + *p_.module->symbols[symbol].byte_size;
        name = std::string(p_.module->symbols[symbol].name);
    } else if (x.at.space == ptx::Space::shared) {
        const bool open_end = p_.map.uses_dynamic_shared && s_.launch.dynamic_shared_bytes == 0;
        end = open_end ? u64{1} << 18 : p_.map.dynamic_shared + s_.launch.dynamic_shared_bytes;
        if (!p_.map.uses_dynamic_shared) end = p_.map.static_shared;
    } else {
        return true;
    }
    const u64 bytes = std::max(1u, m.bytes);
    u64 low = ~u64{0}, high = 0;
    u32 sure = 0;
    for (u32 left = x.at.known; left; left &= left - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(left));
        const u64 a = x.at.address[l];
        if (a < begin || a + bytes > end) {
            if (x.sure & (1u << l)) sure = 1;
            else if (!sure) sure = 2;
        }
        low = std::min(low, a);
        high = std::max(high, a);
    }
    if (sure) {
        b_.breach('e', op.instruction, "the access at " + line(op) + " goes beyond " + name + " (" + std::to_string(end - begin) + " bytes)", sure == 1);
        b_.give_up("an access goes beyond its variable");
        return false;
    }
    if (x.at.space == ptx::Space::shared) {
        b_.domain.tie(x.base->axes);
        if (x.at.known) b_.shared.grow(high + bytes);
    } else if (x.at.known && x.base->axes) {
        Strides s = x.base->stride;
        for (unsigned k = 0; k < kAxes; ++k)
            if (!(x.base->axes & b_.domain.live() & (1u << k))) s[k] = 0;
        b_.domain.at_most(static_cast<i128>(high), s, static_cast<i128>(end - bytes));
        b_.domain.at_least(static_cast<i128>(low), s, static_cast<i128>(begin));
    }
    return true;
}

/// Adds the words of [address + shift, + bytes) of each lane that the sieve lets through.
void WarpRun::sift_bytes(Provenance& p, const std::array<u64, kLanes>& address, u64 shift, unsigned bytes, u32 lanes) {
    for (u32 m = lanes; m; m &= m - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(m));
        for (u64 word = (address[l] + shift) / 4; word <= (address[l] + shift + bytes - 1) / 4; ++word) {
            const u32 branch = s_.sieve->branch(word);
            if (branch == Sieve::kBranches) continue;
            const u32 c = b_.classes.find({static_cast<i64>(branch) + 1}, false);
            p.open(c);
            p.add(c, l, scrambled(word));
        }
    }
}

/// The powers of these offsets: what was asked last stands first.
const std::array<u64, kLanes>& WarpRun::powers_of(const std::array<u64, kLanes>& offsets) {
    constexpr std::size_t kKept = 32;
    const auto it = std::find_if(lane_powers_.begin(), lane_powers_.end(), [&](const auto& e) { return e.first == offsets; });
    if (it != lane_powers_.end()) {
        std::rotate(lane_powers_.begin(), it, it + 1);
        return lane_powers_.front().second;
    }
    if (lane_powers_.size() >= kKept) lane_powers_.pop_back();
    std::array<u64, kLanes> powers;
    for (unsigned l = 0; l < kLanes; ++l) powers[l] = source_powers().moved(static_cast<i64>(offsets[l]));
    lane_powers_.insert(lane_powers_.begin(), {offsets, powers});
    return lane_powers_.front().second;
}

/// Adds the bytes [address + shift, + bytes) of each lane.
void WarpRun::hash_bytes(Provenance& p, const MovedBy& stride, const std::array<u64, kLanes>& address, u64 shift, unsigned bytes, u32 lanes) {
    if (!lanes) return;
    if (s_.sieve) return sift_bytes(p, address, shift, bytes, lanes);
    const Powers& g = source_powers();
    const u32 c = b_.classes.find(stride, false);
    const bool fresh = !(p.mask & (1u << c));
    p.open(c);
    u64* sum = p.sum[c];
    // Addresses lie in few patterns: powers are kept by the lanes' places relative to the first.
    const auto first = static_cast<unsigned>(std::countr_zero(lanes));
    const u64 base = times(g.of(address[first] + shift), source_run(bytes));
    std::array<u64, kLanes> relative{};
    u64 spread = 0;
    for (unsigned l = 0; l < kLanes; ++l) {
        relative[l] = (lanes >> l) & 1 ? address[l] - address[first] : 0;
        spread |= relative[l];
    }
    if (!spread) {
        for (unsigned l = 0; l < kLanes; ++l)
            if ((lanes >> l) & 1) sum[l] = fresh ? base : plus(sum[l], base);
        return;
    }
    const std::array<u64, kLanes>& powers = powers_of(relative);
    for (u32 m = lanes; m; m &= m - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(m));
        sum[l] = plus(sum[l], times(base, powers[l]));
    }
}

void WarpRun::load(Frame& f, const MicroOp& op, const MemoryOp& m, Access& x) {
    const FunctionProgram& code = fn(f);
    const u32 mask = x.lanes();
    const Lanes lanes{mask, f.alive};
    const unsigned bytes = m.element_bytes;
    std::vector<u32> written;
    Saved before;
    if (x.maybe && !uncertain_) {            // under a predicate that depends on data
        for (u32 k = 0; k < op.list_count; ++k)
            if (code.lists[op.list + k] != kNone) written.push_back(code.lists[op.list + k]);
        before = save(f, written);
    }
    Provenance p;
    for (u32 k = 0; k < op.list_count; ++k) {
        const u32 d = code.lists[op.list + k];
        if (d == kNone) continue;
        Value out;
        p.clear();
        p.lost = mask & ~x.at.known;
        const u64 shift = u64{k} * bytes;
        switch (x.at.space) {
        case ptx::Space::global: load_global(m, x, shift, out, p); break;
        case ptx::Space::shared: load_shared(m, x, shift, out, p); break;
        case ptx::Space::local: load_local(m, x, shift, out, p); break;
        default: load_constant(m, x, shift, out, p); break;
        }
        if (op.kind == Kind::signed_int && op.reg_width > bytes * 8 && out.known) {
            b_.domain.tie(out.axes);
            out.axes = 0;
            out.stride = {};
            for (u64& v : out.lane) v = static_cast<u64>(sign_extend(v, bytes * 8)) & width_mask(op.reg_width);
        }
        f.from.assign(d, p, lanes);
        f.from.set_shaped(d, x.shaped || (lanes.active != lanes.alive && f.from.shaped(d)));
        const u32 known = out.known & mask;
        bool uniform = known == mask && known;
        if (uniform) {
            const u64 v = out.lane[static_cast<unsigned>(std::countr_zero(known))];
            for (u32 left = known; left; left &= left - 1) uniform &= out.lane[static_cast<unsigned>(std::countr_zero(left))] == v;
            if (uniform) out.lane.fill(v);
        }
        if (!known) write_unknown(f.slots[d], lanes, 1);
        else write_lanes(f.slots[d], out.lane.data(), known, uniform, out.stride, out.axes, lanes, b_.domain, 1);
    }
    if (written.empty()) return;
    Provenance why;
    why.clear();
    f.from.add_to(why, op.guard, x.maybe);
    join(f, written, before, why, x.maybe);
}

void WarpRun::load_global(const MemoryOp& m, const Access& x, u64 shift, Value& out, Provenance& p) {
    const unsigned bytes = m.element_bytes;
    u32 lanes = x.at.known;
    const bool watched = s_.watched[x.op];
    const bool written = !b_.global.entries().empty();
    for (u32 left = (written || watched || s_.has_data) ? lanes : 0; left; left &= left - 1) {
        const u32 bit = left & (0 - left);
        const auto l = static_cast<unsigned>(std::countr_zero(left));
        const u64 address = x.at.address[l] + shift;
        if (watched) b_.global.note_read(address, bytes, x.stride, thread(l), b_.order.now());
        if (b_.global.touches(address, bytes)) {
            Element e;
            MovedBy value_stride{};
            const auto found = b_.global.find(address, bytes, x.stride, thread(l), index_, b_.order, e, value_stride);
            if (found == GlobalWrites::Found::unordered) { p.lost |= bit; lanes &= ~bit; continue; }
            if (found == GlobalWrites::Found::value) {
                lanes &= ~bit;
                if (e.lost) p.lost |= bit;
                for (unsigned k = e.mask; k; k &= k - 1) {
                    const auto c = static_cast<u32>(std::countr_zero(k));
                    p.open(c);
                    p.add(c, l, e.sum[c]);
                }
                if (e.known && value_stride == MovedBy{}) { out.lane[l] = e.bits; out.known |= bit; }
                else if (e.known) p.lost |= bit;
                continue;
            }
        }
        u64 value = 0;
        if (s_.has_data && s_.memory.read(ptx::Space::global, address, bytes, value)) {
            out.lane[l] = value;
            out.known |= bit;
        }
    }
    if (out.known) b_.domain.tie(x.base->axes);
    hash_bytes(p, x.stride, x.at.address, shift, bytes, lanes);
}

/// Shared memory that nobody has written is a source like any other: what derives from it differs from what does not.
void WarpRun::add_junk(Provenance& p, unsigned lane, u64 address) {
    const u32 c = b_.classes.find({}, false);
    p.open(c);
    p.add(c, lane, source_powers().of(p_.map.shared_window + address));
}

void WarpRun::load_constant(const MemoryOp& m, const Access& x, u64 shift, Value& out, Provenance& p) {
    const unsigned bytes = m.element_bytes;
    for (u32 left = x.at.known; left; left &= left - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(left));
        u64 value = 0;
        if (!s_.memory.read(x.at.space, x.at.address[l] + shift, bytes, value)) continue;
        out.lane[l] = value;
        out.known |= 1u << l;
    }
    if (out.known) b_.domain.tie(x.base->axes);
    if (x.at.space == ptx::Space::param) p.lost |= x.at.known & ~out.known;
    else hash_bytes(p, x.stride, x.at.address, shift + p_.map.constant_window, bytes, x.at.known);
}

namespace {

/// A lane before this one with the same address: rows of a block read alike, neighbours read one element.
u32 same_before(const std::array<u64, kLanes>& address, u32 lanes, unsigned lane) {
    for (const unsigned back : {1u, 16u, 8u})
        if (lane >= back && ((lanes >> (lane - back)) & 1) && address[lane - back] == address[lane]) return lane - back;
    return kNone;
}

}  // namespace

void WarpRun::load_shared(const MemoryOp& m, Access& x, u64 shift, Value& out, Provenance& p) {
    const u32 lanes = x.at.known;
    if (!lanes) return;
    SharedMemory::Accessor who{0, index_, x.op, false, !x.maybe, false};
    Element e;
    const auto put = [&](unsigned l) {
        const u32 bit = 1u << l;
        if (e.known) { out.lane[l] = e.bits; out.known |= bit; }
        x.shaped |= e.shaped;
        if (e.lost) p.lost |= bit;
        for (unsigned k = e.mask; k; k &= k - 1) p.sum[std::countr_zero(k)][l] = e.sum[static_cast<std::size_t>(std::countr_zero(k))];
        if (e.junk) add_junk(p, l, x.at.address[l] + shift);
    };
    const auto first = static_cast<unsigned>(std::countr_zero(lanes));
    bool same = true;
    for (u32 left = lanes; left; left &= left - 1) same &= x.at.address[static_cast<unsigned>(std::countr_zero(left))] == x.at.address[first];
    if (same) {
        const auto last = 31 - static_cast<unsigned>(std::countl_zero(lanes));
        for (const unsigned l : {last, first}) {
            who.thread = thread(l);
            b_.shared.read(x.at.address[l] + shift, m.element_bytes, who, b_.order, e);
            if (last == first) break;
        }
        for (unsigned k = e.mask; k; k &= k - 1) p.open(static_cast<u32>(std::countr_zero(k)));
        for (u32 left = lanes; left; left &= left - 1) put(static_cast<unsigned>(std::countr_zero(left)));
        return;
    }
    u32 shared_by_two = 0;
    for (u32 left = lanes; left; left &= left - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(left));
        who.thread = thread(l);
        const u32 like = same_before(x.at.address, lanes, l);
        if (like != kNone) {
            // That two threads read it is all that matters to who writes it.
            if (!(shared_by_two & (1u << like))) b_.shared.note(x.at.address[l] + shift, m.element_bytes, who, b_.order);
            shared_by_two |= (1u << like) | (1u << l);
            const u32 bit = 1u << l;
            out.lane[l] = out.lane[like];
            if (out.known & (1u << like)) out.known |= bit;
            if (p.lost & (1u << like)) p.lost |= bit;
            for (unsigned k = p.mask; k; k &= k - 1) p.sum[std::countr_zero(k)][l] = p.sum[std::countr_zero(k)][like];
            continue;
        }
        b_.shared.read(x.at.address[l] + shift, m.element_bytes, who, b_.order, e);
        for (unsigned k = e.mask; k; k &= k - 1) p.open(static_cast<u32>(std::countr_zero(k)));
        put(l);
    }
}

void WarpRun::load_local(const MemoryOp& m, Access& x, u64 shift, Value& out, Provenance& p) {
    b_.domain.tie(x.base->axes);
    bool first = true;
    for (u32 left = x.at.known; left; left &= left - 1) {
        const u32 bit = left & (0 - left);
        const auto l = static_cast<unsigned>(std::countr_zero(left));
        const auto it = local_.find({x.at.address[l] + shift, m.element_bytes});
        if (it == local_.end()) { p.lost |= bit; continue; }
        const LocalCell& cell = it->second;
        x.shaped |= cell.shaped;
        p.lost |= cell.from.lost & bit;
        for (unsigned k = cell.from.mask; k; k &= k - 1) {
            const auto c = static_cast<u32>(std::countr_zero(k));
            p.open(c);
            p.sum[c][l] = cell.from.sum[c][l];
        }
        if (!(cell.value.known & bit)) continue;
        if (first) { out.stride = cell.value.stride; out.axes = cell.value.axes; first = false; }
        unsigned differ = 0;
        for (unsigned k = 0; k < kAxes; ++k) differ |= out.stride[k] != cell.value.stride[k] ? 1u << k : 0u;
        b_.domain.tie(differ);
        out.lane[l] = cell.value.lane[l];
        out.known |= bit;
    }
}

}  // namespace flipflop::eval
