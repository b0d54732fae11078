// Owns: what can be read back: parameters, initialised and given arrays (the same for the whole launch), shared memory
// of a block, local memory of a warp's lanes. Invariant: a byte that was not given or written by a followed store is
// not known.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "evaluator/operate.hpp"

namespace flipflop::eval {

/// Contents that no thread of the launch changes.
class LaunchMemory {
public:
    LaunchMemory(const Program& program, const Launch& launch);
    /// Reads `bytes` little-endian at an address of param, constant or global space; false when any byte is unknown.
    [[nodiscard]] bool read(ptx::Space space, u64 address, unsigned bytes, u64& value) const;
    /// The anchor of a pointer among the parameters, 0 when the bytes there are none or its address was given.
    [[nodiscard]] u64 anchor(u64 address, unsigned bytes) const;

private:
    [[nodiscard]] const MemoryImage* find(ptx::Space space, u64 address) const;
    std::vector<std::uint8_t> parameters_;
    std::vector<bool> parameters_known_;
    struct Placed { u64 at{}; unsigned bytes{}; u64 anchor{}; };
    std::vector<Placed> placed_;                 ///< pointers whose addresses were assumed
    MemoryImages constants_, globals_;           ///< by address
};

/// Makes Program::constants and Program::globals, once for all launches.
void initial_images(Program& program);

/// Bytes of one block's shared memory.
class SharedShadow {
public:
    void reset(u64 bytes) {
        forget_all();
        data_.resize(bytes);
        known_.resize(bytes);
    }
    void store(u64 address, unsigned bytes, u64 value, bool known);
    void forget_all();
    [[nodiscard]] bool load(u64 address, unsigned bytes, u64& value) const;

private:
    std::vector<std::uint8_t> data_, known_;
    u64 reach_{};                            ///< nothing at or behind it was ever written
};

/// Local memory of a warp, kept as values by offset so that what moves with the domain still does when read back.
class LocalShadow {
public:
    void clear() { cells_.clear(); }
    void store(const Value& address, i64 offset, unsigned bytes, const Value& value, u32 known_address, Lanes lanes, Domain& domain, u32 reason);
    void load(const Value& address, i64 offset, unsigned bytes, u32 known_address, Lanes lanes, Domain& domain, u32 reason, Value& out);
    /// Advances everything along a summarised loop.
    template <class F>
    void for_each(const F& f) { for (auto& [place, value] : cells_) f(value); }
    [[nodiscard]] bool empty() const { return cells_.empty(); }

private:
    std::map<std::pair<u64, unsigned>, Value> cells_;
};

}  // namespace flipflop::eval
