#include "evaluator/memory_state.hpp"

#include <algorithm>
#include <bit>

namespace flipflop::eval {
namespace {

void put(std::vector<std::uint8_t>& bytes, std::size_t at, unsigned count, u64 value) {
    for (unsigned k = 0; k < count && at + k < bytes.size(); ++k) bytes[at + k] = static_cast<std::uint8_t>(value >> (8 * k));
}

}  // namespace

LaunchMemory::LaunchMemory(const Program& program, const Launch& launch) {
    const AddressMap& map = program.map;
    const auto& parameters = program.code->facts.parameters;
    std::vector<u64> bases(map.parameters.size());
    for (std::size_t p = 0; p < map.parameters.size(); ++p) {
        const u64 at = map.parameters[p];
        const std::size_t declared = p < parameters.size() ? parameters[p].bytes : 8;
        const std::size_t size = std::max<std::size_t>(declared, p < launch.arguments.size() ? launch.arguments[p].bytes.size() : 0);
        if (parameters_.bytes.size() < at + size) {
            parameters_.bytes.resize(at + size);
            parameters_.known.resize(at + size);
        }
        if (p >= launch.arguments.size()) continue;
        const ArgumentValue& a = launch.arguments[p];
        for (std::size_t k = 0; k < a.bytes.size(); ++k) {
            parameters_.bytes[at + k] = a.bytes[k];
            parameters_.known[at + k] = a.known.empty() || (k < a.known.size() && a.known[k]);
            if (k < 8) bases[p] |= u64{a.bytes[k]} << (8 * k);
        }
    }
    for (const auto& [index, data] : launch.parameter_data)
        if (index < bases.size()) globals_.push_back({bases[index], data.bytes, std::vector<bool>(data.bytes.size(), true)});
    const auto add = [&](const AddressMap::Object& object, std::vector<Image>& images, bool is_global) {
        const ptx::Symbol& symbol = program.module->symbols[object.symbol];
        const auto given = launch.symbol_data.find(std::string(symbol.name));
        Image image{object.address, {}, {}};
        if (given != launch.symbol_data.end()) {
            image.bytes = given->second.bytes;
            image.known.assign(image.bytes.size(), true);
        } else if (!symbol.initial.empty() && object.bytes <= (u64{1} << 26)) {
            const unsigned element = std::max(1u, ptx::bits_of(symbol.type) / 8);
            image.bytes.resize(object.bytes);
            image.known.assign(object.bytes, true);
            for (std::size_t k = 0; k < symbol.initial.size(); ++k) {
                const ptx::InitialValue& v = symbol.initial[k];
                u64 bits = v.bits;
                if (v.address_of != ptx::SymbolId::none) {
                    const auto target = map.symbols.find(static_cast<u32>(v.address_of));
                    if (target == map.symbols.end()) {
                        for (unsigned b = 0; b < element && k * element + b < image.known.size(); ++b) image.known[k * element + b] = false;
                        continue;
                    }
                    bits += target->second;
                    const ptx::Space space = program.module->symbol(v.address_of).space;
                    if (v.generic && space == ptx::Space::constant) bits += map.constant_window;
                    if (v.generic && space == ptx::Space::shared) bits += map.shared_window;
                    if (v.mask_byte != 0xff) bits = (bits >> (8 * std::min<unsigned>(7, v.mask_byte))) & 0xff;
                }
                put(image.bytes, k * element, std::min(8u, element), bits);
            }
        } else {
            return;
        }
        (void)is_global;
        images.push_back(std::move(image));
    };
    for (const auto& object : map.constants) add(object, constants_, false);
    for (const auto& object : map.globals) add(object, globals_, true);
    const auto by_address = [](const Image& a, const Image& b) { return a.address < b.address; };
    std::stable_sort(constants_.begin(), constants_.end(), by_address);
    std::stable_sort(globals_.begin(), globals_.end(), by_address);
}

const LaunchMemory::Image* LaunchMemory::find(ptx::Space space, u64 address) const {
    if (space == ptx::Space::param) return address < parameters_.bytes.size() ? &parameters_ : nullptr;
    const std::vector<Image>& images = space == ptx::Space::constant ? constants_ : globals_;
    auto it = std::upper_bound(images.begin(), images.end(), address, [](u64 a, const Image& i) { return a < i.address; });
    if (it == images.begin()) return nullptr;
    --it;
    return address - it->address < it->bytes.size() ? &*it : nullptr;
}

bool LaunchMemory::holds(ptx::Space space, u64 address) const { return find(space, address) != nullptr; }

bool LaunchMemory::read(ptx::Space space, u64 address, unsigned bytes, u64& value) const {
    const Image* image = find(space, address);
    if (!image) return false;
    const u64 at = address - image->address;
    if (at + bytes > image->bytes.size()) return false;
    value = 0;
    for (unsigned k = 0; k < bytes; ++k) {
        if (!image->known[at + k]) return false;
        value |= u64{image->bytes[at + k]} << (8 * k);
    }
    return true;
}

void SharedShadow::store(u64 address, unsigned bytes, u64 value, bool known) {
    for (unsigned k = 0; k < bytes; ++k) {
        if (address + k >= data_.size()) return;
        data_[address + k] = static_cast<std::uint8_t>(value >> (8 * k));
        known_[address + k] = known;
    }
}

bool SharedShadow::load(u64 address, unsigned bytes, u64& value) const {
    value = 0;
    if (address >= data_.size() || address + bytes > data_.size()) return false;
    for (unsigned k = 0; k < bytes; ++k) {
        if (!known_[address + k]) return false;
        value |= u64{data_[address + k]} << (8 * k);
    }
    return true;
}

void LocalShadow::store(const Value& address, i64 offset, unsigned bytes, const Value& value, u32 known_address, Lanes lanes,
                        Domain& domain, u32 reason) {
    if (known_address != lanes.active) {
        // Somewhere, not known where: nothing that was there can be trusted for those lanes.
        for (auto& [place, cell] : cells_) cell.known &= ~lanes.active;
        return;
    }
    domain.tie(address.axes);
    std::map<u64, u32> by_place;
    for (u32 m = lanes.active; m; m &= m - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(m));
        by_place[address.lane[l] + static_cast<u64>(offset)] |= 1u << l;
    }
    for (const auto& [place, who] : by_place) {
        for (auto it = cells_.lower_bound({place >= 16 ? place - 16 : 0, 0}); it != cells_.end() && it->first.first < place + bytes; ++it)
            if (it->first != std::pair{place, bytes} && it->first.first + it->first.second > place) it->second.known &= ~who;
        Value& cell = cells_[{place, bytes}];
        write_lanes(cell, value.lane.data(), value.known & who, value.uniform, value.stride, value.axes, {who, kAllLanes}, domain,
                    value.reason ? value.reason : reason);
    }
}

void LocalShadow::load(const Value& address, i64 offset, unsigned bytes, u32 known_address, Lanes lanes, Domain& domain, u32 reason,
                       Value& out) {
    out = Value{};
    domain.tie(address.axes);
    bool first = true;
    for (u32 m = lanes.active & known_address; m; m &= m - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(m));
        const auto it = cells_.find({address.lane[l] + static_cast<u64>(offset), bytes});
        if (it == cells_.end() || !(it->second.known & (1u << l))) continue;
        const Value& cell = it->second;
        if (first) { out.stride = cell.stride; out.axes = cell.axes; first = false; }
        unsigned differ = 0;
        for (unsigned k = 0; k < kAxes; ++k) differ |= out.stride[k] != cell.stride[k] ? 1u << k : 0u;
        domain.tie(differ);
        out.lane[l] = cell.lane[l];
        out.known |= 1u << l;
    }
    out.reason = reason;
}

}  // namespace flipflop::eval
