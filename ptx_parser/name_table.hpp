// Owns: names with block scopes. Open addressing; a new function costs nothing (generations instead of clearing), a
// closed scope costs as much as it declared. Invariant: find() gives the innermost visible declaration.
#pragma once

#include <string_view>
#include <vector>

#include "characters.hpp"
#include "flipflop/ptx.hpp"

namespace flipflop::ptx::detail {

enum class EntryKind : std::uint8_t { reg, range, symbol, module_register, poisoned };

inline constexpr std::uint32_t kNoEntry = 0xffffffff;

struct Entry {
    const char* name{};
    std::uint32_t length{};
    std::uint32_t value{};      ///< RegId (of the first register of a range) or SymbolId
    std::uint32_t count{};      ///< registers of a range
    std::uint32_t depth{};      ///< how many scopes enclose it
    std::uint32_t scope{};
    std::uint32_t shadowed{kNoEntry};
    std::uint32_t slot{};
    EntryKind kind{EntryKind::symbol};
    Type type{Type::none};
    std::uint8_t vector{1};
    bool has_singles{};         ///< range table: single names of this prefix exist ("%r7" beside "%r<4>")

    [[nodiscard]] std::string_view text() const { return {name, length}; }
};

class NameTable {
public:
    explicit NameTable(std::size_t capacity = 64) : slots_(capacity) {}

    [[nodiscard]] Entry* find(const char* name, std::size_t length, std::uint64_t hash) {
        for (std::size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
            const Slot& slot = slots_[i];
            if (slot.generation != generation_) return nullptr;
            if (slot.hash == hash && slot.entry != kNoEntry) {
                Entry& entry = entries_[slot.entry];
                // Up to 8 characters the hash of a length is the name itself, mixed by a bijection (characters.hpp).
                if (entry.length == length && (length <= 8 || std::memcmp(entry.name, name, length) == 0)) return &entry;
            }
        }
    }
    [[nodiscard]] Entry* shadowed_by(const Entry& entry) {
        return entry.shadowed == kNoEntry ? nullptr : &entries_[entry.shadowed];
    }

    /// Declares a name in the innermost scope. The reference holds until the next declaration.
    Entry& declare(std::string_view name, std::uint64_t hash) {
        if ((used_ + 1) * 5 > slots_.size() * 3) grow();
        std::size_t place = slots_.size();
        std::uint32_t shadowed = kNoEntry;
        for (std::size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
            const Slot& slot = slots_[i];
            if (slot.generation != generation_) {
                if (place == slots_.size()) {
                    place = i;
                    ++used_;
                }
                break;
            }
            if (slot.entry == kNoEntry) {
                if (place == slots_.size()) place = i;
            } else if (slot.hash == hash && entries_[slot.entry].text() == name) {
                place = i;
                shadowed = slot.entry;
                break;
            }
        }
        const auto id = static_cast<std::uint32_t>(entries_.size());
        slots_[place] = {hash, id, generation_};
        Entry& entry = entries_.emplace_back();
        entry.name = name.data();
        entry.length = static_cast<std::uint32_t>(name.size());
        entry.depth = static_cast<std::uint32_t>(marks_.size());
        entry.shadowed = shadowed;
        entry.slot = static_cast<std::uint32_t>(place);
        return entry;
    }

    void open_scope() { marks_.push_back(static_cast<std::uint32_t>(entries_.size())); }
    void close_scope() {
        const std::uint32_t mark = marks_.back();
        marks_.pop_back();
        while (entries_.size() > mark) {
            slots_[entries_.back().slot].entry = entries_.back().shadowed;
            entries_.pop_back();
        }
    }
    [[nodiscard]] std::size_t depth() const { return marks_.size(); }

    void clear() {
        entries_.clear();
        marks_.clear();
        used_ = 0;
        if (++generation_ == 0) {
            slots_.assign(slots_.size(), Slot{});
            generation_ = 1;
        }
    }

private:
    struct Slot {
        std::uint64_t hash{};
        std::uint32_t entry{kNoEntry};
        std::uint32_t generation{};
    };

    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        const std::uint32_t was = generation_;
        generation_ = 1;
        used_ = 0;
        for (const Slot& slot : old) {
            if (slot.generation != was || slot.entry == kNoEntry) continue;
            std::size_t i = slot.hash & (slots_.size() - 1);
            while (slots_[i].generation == generation_) i = (i + 1) & (slots_.size() - 1);
            slots_[i] = {slot.hash, slot.entry, generation_};
            for (std::uint32_t e = slot.entry; e != kNoEntry; e = entries_[e].shadowed)
                entries_[e].slot = static_cast<std::uint32_t>(i);
            ++used_;
        }
    }

    std::vector<Slot> slots_;
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> marks_;
    std::size_t used_{};
    std::uint32_t generation_{1};
};

}  // namespace flipflop::ptx::detail
