#include "evaluator/memory_state.hpp"

#include "evaluator/anchors.hpp"

#include <algorithm>
#include <bit>

namespace flipflop::eval {
namespace {

void put(std::vector<std::uint8_t>& bytes, std::size_t at, unsigned count, u64 value) {
    for (unsigned k = 0; k < count && at + k < bytes.size(); ++k) bytes[at + k] = static_cast<std::uint8_t>(value >> (8 * k));
}

void sort_images(MemoryImages& images) {
    std::stable_sort(images.begin(), images.end(), [](const auto& a, const auto& b) { return a->address < b->address; });
}

std::shared_ptr<const MemoryImage> image_of(const Program& program, const AddressMap::Object& object) {
    const AddressMap& map = program.map;
    const ptx::Symbol& symbol = program.module->symbols[object.symbol];
    auto image = std::make_shared<MemoryImage>();
    image->address = object.address;
    image->symbol = object.symbol;
    const unsigned element = std::max(1u, ptx::bits_of(symbol.type) / 8);
    image->own.resize(object.bytes);
    const auto forget = [&](std::size_t from) {
        if (image->known.empty()) image->known.assign(object.bytes, true);
        for (unsigned b = 0; b < element && from + b < image->known.size(); ++b) image->known[from + b] = false;
    };
    for (std::size_t k = 0; k < symbol.initial.size(); ++k) {
        const ptx::InitialValue& v = symbol.initial[k];
        u64 bits = v.bits;
        if (v.address_of != ptx::SymbolId::none) {
            const auto target = map.symbols.find(static_cast<u32>(v.address_of));
            if (target == map.symbols.end()) { forget(k * element); continue; }
            bits += target->second;
            const ptx::Space space = program.module->symbol(v.address_of).space;
            if (v.generic && space == ptx::Space::constant) bits += map.constant_window;
            if (v.generic && space == ptx::Space::shared) bits += map.shared_window;
            if (v.mask_byte != 0xff) bits = (bits >> (8 * std::min<unsigned>(7, v.mask_byte))) & 0xff;
        }
        put(image->own, k * element, std::min(8u, element), bits);
    }
    image->bytes = image->own;
    return image;
}

}  // namespace

void initial_images(Program& program) {
    constexpr u64 largest = u64{1} << 26;
    for (const auto& [objects, images] : {std::pair{&program.map.constants, &program.constants}, std::pair{&program.map.globals, &program.globals}}) {
        for (const AddressMap::Object& object : *objects)
            if (!program.module->symbols[object.symbol].initial.empty() && object.bytes <= largest) images->push_back(image_of(program, object));
        sort_images(*images);
    }
}

u64 LaunchMemory::anchor(u64 address, unsigned bytes) const {
    for (const Placed& p : placed_)
        if (p.at == address && p.bytes == bytes) return p.anchor;
    return 0;
}

LaunchMemory::LaunchMemory(const Program& program, const Launch& launch) {
    const AddressMap& map = program.map;
    const auto& parameters = program.code->facts.parameters;
    std::vector<u64> bases(map.parameters.size());
    for (std::size_t p = 0; p < map.parameters.size(); ++p) {
        const u64 at = map.parameters[p];
        const std::size_t declared = p < parameters.size() ? parameters[p].bytes : 8;
        const std::size_t size = std::max<std::size_t>(declared, p < launch.arguments.size() ? launch.arguments[p].bytes.size() : 0);
        if (parameters_.size() < at + size) {
            parameters_.resize(at + size);
            parameters_known_.resize(at + size);
        }
        if (p >= launch.arguments.size()) continue;
        const ArgumentValue& a = launch.arguments[p];
        for (std::size_t k = 0; k < a.bytes.size(); ++k) {
            parameters_[at + k] = a.bytes[k];
            parameters_known_[at + k] = a.known.empty() || (k < a.known.size() && a.known[k]);
            if (k < 8) bases[p] |= u64{a.bytes[k]} << (8 * k);
        }
        if (p >= parameters.size()) continue;
        const auto place = [&](u64 offset, unsigned bytes, bool always) {
            u64 address = 0;
            if (!read(ptx::Space::param, at + offset, bytes, address) || address == 0) return;
            // A structure is given or not as a whole; no GPU has addresses of more than 48 bits, so those were assumed.
            if (always || address >> 48) placed_.push_back({at + offset, bytes, anchor_of_address(address)});
        };
        if (parameters[p].kind == ParameterKind::pointer) place(0, std::min(8u, parameters[p].bytes), !a.given);
        else if (parameters[p].kind == ParameterKind::aggregate)
            for (const ParameterField& field : parameters[p].fields)
                if (field.kind == ParameterKind::pointer) place(field.offset, 8, false);
    }
    constants_ = program.constants;
    globals_ = program.globals;
    const auto give = [](MemoryImages& images, u64 address, const ArrayData& data, u32 symbol) {
        auto image = std::make_shared<MemoryImage>();
        image->address = address;
        image->bytes = data.bytes;
        image->symbol = symbol;
        std::erase_if(images, [&](const auto& i) { return symbol != kNone && i->symbol == symbol; });
        images.push_back(std::move(image));
    };
    for (const auto& [index, data] : launch.parameter_data)
        if (index < bases.size()) give(globals_, bases[index], data, kNone);
    for (const auto& [objects, images] : {std::pair{&map.constants, &constants_}, std::pair{&map.globals, &globals_}})
        for (const AddressMap::Object& object : *objects) {
            if (launch.symbol_data.empty()) break;
            const auto given = launch.symbol_data.find(std::string(program.module->symbols[object.symbol].name));
            if (given != launch.symbol_data.end()) give(*images, object.address, given->second, object.symbol);
        }
    sort_images(constants_);
    sort_images(globals_);
}

const MemoryImage* LaunchMemory::find(ptx::Space space, u64 address) const {
    const MemoryImages& images = space == ptx::Space::constant ? constants_ : globals_;
    auto it = std::upper_bound(images.begin(), images.end(), address, [](u64 a, const auto& i) { return a < i->address; });
    if (it == images.begin()) return nullptr;
    --it;
    return address - (*it)->address < (*it)->bytes.size() ? it->get() : nullptr;
}

bool LaunchMemory::read(ptx::Space space, u64 address, unsigned bytes, u64& value) const {
    std::span<const std::uint8_t> from = parameters_;
    const std::vector<bool>* known = &parameters_known_;
    if (space != ptx::Space::param) {
        const MemoryImage* image = find(space, address);
        if (!image) return false;
        from = image->bytes;
        known = &image->known;
        address -= image->address;
    }
    if (address >= from.size() || bytes > from.size() - address) return false;
    value = 0;
    for (unsigned k = 0; k < bytes; ++k) {
        if (!known->empty() && !(*known)[address + k]) return false;
        value |= u64{from[address + k]} << (8 * k);
    }
    return true;
}

void SharedShadow::store(u64 address, unsigned bytes, u64 value, bool known) {
    reach_ = std::max(reach_, std::min<u64>(address, data_.size()) + bytes);
    for (unsigned k = 0; k < bytes; ++k) {
        if (address + k >= data_.size()) return;
        data_[address + k] = static_cast<std::uint8_t>(value >> (8 * k));
        known_[address + k] = known;
    }
}

void SharedShadow::forget_all() {
    // Only what was ever written has something to forget: a block may be given far more than it touches.
    std::fill_n(known_.begin(), std::min<u64>(reach_, known_.size()), std::uint8_t{0});
    reach_ = 0;
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
        set_anchor(cell, value.anchor, who, kAllLanes);
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
        if (first) { out.stride = cell.stride; out.axes = cell.axes; out.anchor = cell.anchor; first = false; }
        unsigned differ = 0;
        for (unsigned k = 0; k < kAxes; ++k) differ |= out.stride[k] != cell.stride[k] ? 1u << k : 0u;
        domain.tie(differ);
        out.lane[l] = cell.lane[l];
        out.known |= 1u << l;
    }
    out.reason = reason;
}

}  // namespace flipflop::eval
