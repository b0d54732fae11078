// Which kernel of head is which kernel of base. A wrong match would excuse a regression, so what is ambiguous is said and
// not guessed.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "flipflop/gate.hpp"
#include "flipflop/passes.hpp"

namespace flipflop::gate {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

/// nvcc -rdc=true: "__nv_static_22__f9a238b3_5_st_cu_main__Z5plainPf", the number being the length of what follows it.
std::string_view without_static_part(std::string_view name) {
    constexpr std::string_view kStatic = "__nv_static_";
    if (!name.starts_with(kStatic)) { return name; }
    std::size_t length = 0;
    const char* const begin = name.data() + kStatic.size();
    const auto [end, error] = std::from_chars(begin, name.data() + name.size(), length);
    const std::size_t skip = static_cast<std::size_t>(end - name.data()) + 2;   // "__"
    if (error != std::errc{} || length > name.size() || skip + length >= name.size()) { return name; }
    return name.substr(skip + length);
}

/// Whole identifiers that hold a hash of the file.
bool is_internal(std::string_view word) { return word.starts_with("_INTERNAL_") || word.starts_with("_GLOBAL__N_"); }
bool is_template_value(std::string_view word) {
    return word == "true" || word == "false" || std::isdigit(static_cast<unsigned char>(word.front())) != 0;
}

struct Group { std::vector<std::size_t> base, head; };
using Key = std::function<std::string(const KernelRecord&)>;

class Matcher {
public:
    Matcher(const std::vector<const KernelRecord*>& base, const std::vector<const KernelRecord*>& head)
        : base_(base), head_(head), base_used_(base.size()), head_used_(head.size()) {}

    /// Pairs what is alone on both sides of a key. `tie`: what tells several of one key apart.
    void by(const Key& key, const std::vector<Key>& ties, std::string_view what) {
        for (const auto& [text, group] : groups(key)) {
            if (text.empty() || group.base.empty() || group.head.empty()) { continue; }
            pair_group(group, ties);
            const Group left = still_free(group);
            if (left.base.empty() || left.head.empty()) { continue; }
            if (left.base.size() == 1 && left.head.size() == 1) {
                pair(left.base.front(), left.head.front());
            } else {
                result_.notes.push_back({"ambiguous", fmt::format("{} kernels of base and {} of head have the {} '{}': none of them is matched by it",
                                                                  left.base.size(), left.head.size(), what, text)});
            }
        }
    }
    Matching finish() {
        for (std::size_t b = 0; b < base_.size(); ++b) {
            if (!base_used_[b]) { result_.pairs.push_back({b, std::nullopt}); }
        }
        for (std::size_t h = 0; h < head_.size(); ++h) {
            if (!head_used_[h]) { result_.pairs.push_back({std::nullopt, h}); }
        }
        return std::move(result_);
    }

private:
    std::map<std::string, Group> groups(const Key& key) const {
        std::map<std::string, Group> result;
        for (std::size_t b = 0; b < base_.size(); ++b) {
            if (!base_used_[b]) { result[key(*base_[b])].base.push_back(b); }
        }
        for (std::size_t h = 0; h < head_.size(); ++h) {
            if (!head_used_[h]) { result[key(*head_[h])].head.push_back(h); }
        }
        return result;
    }
    [[nodiscard]] Group still_free(const Group& group) const {
        Group left;
        std::copy_if(group.base.begin(), group.base.end(), std::back_inserter(left.base), [&](std::size_t b) { return !base_used_[b]; });
        std::copy_if(group.head.begin(), group.head.end(), std::back_inserter(left.head), [&](std::size_t h) { return !head_used_[h]; });
        return left;
    }
    void pair_group(const Group& group, const std::vector<Key>& ties) {
        for (const Key& tie : ties) {
            const Group left = still_free(group);
            if (left.base.size() <= 1 && left.head.size() <= 1) { return; }
            std::map<std::string, Group> parts;
            for (const std::size_t b : left.base) { parts[tie(*base_[b])].base.push_back(b); }
            for (const std::size_t h : left.head) { parts[tie(*head_[h])].head.push_back(h); }
            for (const auto& [text, part] : parts) {
                if (part.base.size() == 1 && part.head.size() == 1) { pair(part.base.front(), part.head.front()); }
            }
        }
    }
    void pair(std::size_t b, std::size_t h) {
        base_used_[b] = true;
        head_used_[h] = true;
        result_.pairs.push_back({b, h});
    }

    const std::vector<const KernelRecord*>& base_;
    const std::vector<const KernelRecord*>& head_;
    std::vector<bool> base_used_, head_used_;
    Matching result_;
};

}  // namespace

std::string normalised_name(std::string_view name) {
    const std::string readable = demangle(std::string(without_static_part(name)));
    std::string out;
    int depth = 0;
    for (std::size_t i = 0; i < readable.size();) {
        const char c = readable[i];
        if (is_word(c)) {
            std::size_t end = i;
            while (end < readable.size() && is_word(readable[end])) { ++end; }
            const std::string_view word = std::string_view(readable).substr(i, end - i);
            out += is_internal(word) ? "_INTERNAL_" : depth > 0 && is_template_value(word) ? "#" : word;
            i = end;
            continue;
        }
        // "operator<" and "operator>>" open and close nothing, but they do not occur in names of kernels.
        depth += c == '<' ? 1 : c == '>' && depth > 0 ? -1 : 0;
        const bool sign = c == '-' && depth > 0 && i + 1 < readable.size() && std::isdigit(static_cast<unsigned char>(readable[i + 1])) != 0;
        if (!sign) { out += c; }
        ++i;
    }
    return out;
}

Matching match_kernels(const std::vector<const KernelRecord*>& base, const std::vector<const KernelRecord*>& head) {
    const Key name = [](const KernelRecord& r) { return r.name; };
    const Key module = [](const KernelRecord& r) { return r.module; };
    const Key fingerprint = [](const KernelRecord& r) { return r.fingerprint; };
    const Key normalised = [](const KernelRecord& r) { return normalised_name(r.name); };
    const Key module_and_fingerprint = [](const KernelRecord& r) { return r.module + "\n" + r.fingerprint; };
    Matcher matcher(base, head);
    matcher.by(name, {module, fingerprint, module_and_fingerprint}, "name");
    matcher.by(normalised, {fingerprint, module_and_fingerprint}, "normalised name");
    matcher.by(fingerprint, {module}, "fingerprint");
    return matcher.finish();
}

}  // namespace flipflop::gate
