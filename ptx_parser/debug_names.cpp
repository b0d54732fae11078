// Names of functions' parameters in the source, from DWARF 2 to 5 (.debug_info, .debug_abbrev, .debug_str): each
// DW_TAG_subprogram's DW_TAG_formal_parameter children, in order. nvcc writes them with -G, clang with -g. Only names are read;
// whatever is not understood ends the reading of its unit, and the names found so far stay.
#include "debug_names.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "characters.hpp"
#include "debug_bytes.hpp"

namespace flipflop::ptx::detail {
namespace {

// DWARF 5, 7.5.3 to 7.5.6.
constexpr std::uint64_t kFormalParameter = 0x05, kSubprogram = 0x2e;
constexpr std::uint64_t kName = 0x03, kAbstractOrigin = 0x31, kSpecification = 0x47, kLinkageName = 0x6e, kMipsLinkageName = 0x2007;
enum Form : std::uint64_t {
    form_addr = 0x01, form_block2 = 0x03, form_block4, form_data2, form_data4, form_data8, form_string, form_block, form_block1,
    form_data1, form_flag, form_sdata, form_strp, form_udata, form_ref_addr, form_ref1, form_ref2, form_ref4, form_ref8,
    form_ref_udata, form_indirect, form_sec_offset, form_exprloc, form_flag_present, form_strx, form_addrx, form_ref_sup4,
    form_strp_sup, form_data16, form_line_strp, form_ref_sig8, form_implicit_const, form_loclistx, form_rnglistx, form_ref_sup8,
    form_strx1, form_strx2, form_strx3, form_strx4, form_addrx1, form_addrx2, form_addrx3, form_addrx4
};

struct Attribute { std::uint64_t name{}, form{}; };
struct Abbreviation {
    std::uint64_t tag{};
    bool children{};
    std::vector<Attribute> attributes;
};
using Abbreviations = std::unordered_map<std::uint64_t, Abbreviation>;

struct Entry {
    std::string name, linkage;
    std::optional<std::uint64_t> origin;    ///< offset of the entry that has what this one lacks
};
struct Subprogram {
    Entry entry;
    std::size_t depth{};
    std::vector<Entry> parameters;
};

Abbreviations read_abbreviations(const DebugBytes& bytes, std::uint64_t offset) {
    Abbreviations all;
    DebugReader in(bytes);
    in.seek(offset);
    while (!in.done()) {
        const std::uint64_t code = in.uleb();
        if (code == 0) break;
        Abbreviation a;
        a.tag = in.uleb();
        a.children = in.number(1) != 0;
        for (;;) {
            Attribute attribute{in.uleb(), in.uleb()};
            if (attribute.form == form_implicit_const) in.uleb();
            if ((attribute.name == 0 && attribute.form == 0) || in.bad()) break;
            a.attributes.push_back(attribute);
        }
        all.emplace(code, std::move(a));
    }
    return all;
}

class NameReader {
public:
    NameReader(const DebugBytes& info, const DebugBytes& abbreviations, const DebugBytes& strings)
        : info_(info), abbreviations_(abbreviations), strings_(strings), in_(info) {}

    ParameterNames run() {
        while (!in_.done()) unit();
        ParameterNames names;
        for (const Subprogram& s : subprograms_) {
            const std::string name = resolve(s.entry, &Entry::linkage), plain = resolve(s.entry, &Entry::name);
            std::vector<std::string> parameters;
            for (const Entry& p : s.parameters) parameters.push_back(identifier(resolve(p, &Entry::name)));
            auto& kept = names[name.empty() ? plain : name];
            if (parameters.size() > kept.size()) kept = std::move(parameters);   // a declaration may have none
        }
        return names;
    }

private:
    /// What is no name that --arg could take is none.
    static std::string identifier(std::string name) {
        const bool sound = !name.empty() && is_start(name[0]) && std::all_of(name.begin(), name.end(), [](char c) { return is_identifier(c); });
        return sound ? name : std::string();
    }
    /// Offset that a symbol stands for: "label", "end-begin", ".section+12".
    static std::uint64_t offset_of(std::string_view symbol, const DebugBytes& section) {
        const auto label = [&](std::string_view name) -> std::optional<std::uint64_t> {
            const auto found = section.labels.find(name);
            return found == section.labels.end() ? std::nullopt : std::optional(found->second);
        };
        if (const auto plain = label(symbol)) return *plain;
        if (const std::size_t minus = symbol.find('-'); minus != std::string_view::npos) {
            const auto end = label(symbol.substr(0, minus)), begin = label(symbol.substr(minus + 1));
            return end && begin && *end >= *begin ? *end - *begin : section.bytes.size();
        }
        std::uint64_t offset = 0;
        if (const std::size_t plus = symbol.find('+'); plus != std::string_view::npos)
            for (const char c : symbol.substr(plus + 1)) {
                if (c < '0' || c > '9' || offset > section.bytes.size()) break;
                offset = offset * 10 + static_cast<std::uint64_t>(c - '0');
            }
        return offset;
    }
    std::uint64_t section_offset(const DebugBytes& section) {
        const std::string_view symbol = in_.symbol();
        const std::uint64_t number = in_.number(4);
        return symbol.empty() ? number : offset_of(symbol, section);
    }

    void unit() {
        unit_ = in_.at();
        const std::string_view symbol = in_.symbol();
        std::uint64_t length = in_.number(4);
        if (!symbol.empty()) length = offset_of(symbol, info_);
        const std::uint64_t end = std::min<std::uint64_t>(info_.bytes.size(), unit_ + 4 + std::min<std::uint64_t>(length, info_.bytes.size()));
        version_ = in_.number(2);
        if (version_ < 2 || version_ > 5 || length == 0) return in_.seek(info_.bytes.size());
        if (version_ >= 5) in_.skip(1);
        if (version_ >= 5) address_size_ = static_cast<unsigned>(in_.number(1));
        const Abbreviations known = read_abbreviations(abbreviations_, section_offset(abbreviations_));
        if (version_ < 5) address_size_ = static_cast<unsigned>(in_.number(1));
        entries(known, end);
        in_.seek(end);
    }

    void entries(const Abbreviations& known, std::uint64_t end) {
        std::size_t depth = 0;
        std::vector<std::size_t> open;      // subprograms around
        while (!in_.done() && in_.at() < end) {
            const std::uint64_t at = in_.at();
            const std::uint64_t code = in_.uleb();
            if (code == 0) {
                if (depth > 0) --depth;
                while (!open.empty() && subprograms_[open.back()].depth >= depth) open.pop_back();
                continue;
            }
            const auto found = known.find(code);
            if (found == known.end()) return;
            Entry entry;
            for (const Attribute& a : found->second.attributes)
                if (!attribute(a, entry)) return;
            if (found->second.tag == kSubprogram) {
                remember(at, entry);
                if (found->second.children) open.push_back(subprograms_.size());
                subprograms_.push_back({std::move(entry), depth, {}});
            } else if (found->second.tag == kFormalParameter && !open.empty() && subprograms_[open.back()].depth + 1 == depth) {
                remember(at, entry);
                subprograms_[open.back()].parameters.push_back(std::move(entry));
            }
            depth += found->second.children;
        }
    }

    /// Reads or passes over one attribute; false where its form is not known.
    bool attribute(const Attribute& a, Entry& entry) {
        std::uint64_t form = a.form;
        while (form == form_indirect && !in_.done()) form = in_.uleb();
        if (a.name == kName || a.name == kLinkageName || a.name == kMipsLinkageName) {
            std::string& to = a.name == kName ? entry.name : entry.linkage;
            if (form == form_string) { to = in_.string(); return !in_.bad(); }
            if (form == form_strp) {
                DebugReader text(strings_);
                text.seek(section_offset(strings_));
                to = text.string();
                return !in_.bad();
            }
        }
        if (a.name == kAbstractOrigin || a.name == kSpecification)
            if (const unsigned size = form == form_ref1 ? 1 : form == form_ref2 ? 2 : form == form_ref4 || form == form_ref_addr ? 4 : form == form_ref8 ? 8 : 0) {
                const std::uint64_t to = in_.number(size);
                entry.origin = form == form_ref_addr ? to : unit_ + to;
                return !in_.bad();
            }
        return pass(form);
    }

    bool pass(std::uint64_t form) {
        switch (form) {
        case form_flag_present: case form_implicit_const: return true;
        case form_data1: case form_flag: case form_ref1: case form_strx1: case form_addrx1: in_.skip(1); break;
        case form_data2: case form_ref2: case form_strx2: case form_addrx2: in_.skip(2); break;
        case form_strx3: case form_addrx3: in_.skip(3); break;
        case form_data4: case form_ref4: case form_strp: case form_sec_offset: case form_ref_sup4: case form_strp_sup: case form_line_strp:
        case form_strx4: case form_addrx4: in_.skip(4); break;
        case form_ref_addr: in_.skip(version_ == 2 ? address_size_ : 4); break;
        case form_data8: case form_ref8: case form_ref_sig8: case form_ref_sup8: in_.skip(8); break;
        case form_data16: in_.skip(16); break;
        case form_addr: in_.skip(address_size_); break;
        case form_sdata: case form_udata: case form_ref_udata: case form_strx: case form_addrx: case form_loclistx: case form_rnglistx: in_.uleb(); break;
        case form_string: in_.string(); break;
        case form_block1: in_.skip(in_.number(1)); break;
        case form_block2: in_.skip(in_.number(2)); break;
        case form_block4: in_.skip(in_.number(4)); break;
        case form_block: case form_exprloc: in_.skip(in_.uleb()); break;
        default: return false;
        }
        return !in_.bad();
    }

    void remember(std::uint64_t at, const Entry& entry) { entries_.emplace(at, entry); }
    [[nodiscard]] std::string resolve(const Entry& entry, std::string Entry::*what) const {
        const Entry* now = &entry;
        for (int hops = 0; hops < 4; ++hops) {
            if (!(now->*what).empty()) return now->*what;
            const auto next = now->origin ? entries_.find(*now->origin) : entries_.end();
            if (next == entries_.end()) break;
            now = &next->second;
        }
        return {};
    }

    const DebugBytes& info_;
    const DebugBytes& abbreviations_;
    const DebugBytes& strings_;
    DebugReader in_;
    std::uint64_t unit_{}, version_{};
    unsigned address_size_{8};
    std::vector<Subprogram> subprograms_;
    std::unordered_map<std::uint64_t, Entry> entries_;
};

}  // namespace

ParameterNames parameter_names(const std::vector<DebugSection>& sections) {
    const auto bytes_of = [&](std::string_view name) {
        DebugBytes all;
        for (const DebugSection& s : sections)
            if (s.name == name) return assemble_debug(s.body);
        return all;
    };
    const DebugBytes info = bytes_of(".debug_info");
    if (info.bytes.empty()) return {};
    const DebugBytes abbreviations = bytes_of(".debug_abbrev"), strings = bytes_of(".debug_str");
    return NameReader(info, abbreviations, strings).run();
}

}  // namespace flipflop::ptx::detail
