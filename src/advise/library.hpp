// Owns: the texts of all inputs as modules, and their kernels by name. Input: inputs as read_input gave them. Invariant: of
// a library larger than kKeptText only the modules in work are in memory; what was parsed is parsed again when it is needed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "advise/kernel_analysis.hpp"
#include "advise/parallel.hpp"
#include "advise/select_kernels.hpp"
#include "flipflop/analysis.hpp"
#include "flipflop/ptx.hpp"

namespace flipflop::advise {

/// PTX of that size stays parsed (about eight times as much memory); of more, this much at a time.
inline constexpr std::size_t kKeptText = std::size_t{16} << 20;

class Library {
public:
    /// Parses everything once. Summaries, with what the parser has to say, go into `analysis`.
    Library(const std::vector<Input>& inputs, Analysis& analysis);

    [[nodiscard]] const std::vector<KernelName>& names() const { return names_; }
    [[nodiscard]] const Input& input_of(std::size_t kernel) const { return *texts_[places_[kernel].text].input; }

    /// Of modules that come and go: `comes` for each chosen kernel of those in work, `go` when they are about to go.
    struct Hooks {
        std::function<void(const KernelPlace&)> comes;
        std::function<void()> go;
    };

    /// Calls work(position in `chosen`, place, threads of its own) for each chosen kernel, on some threads, a few modules
    /// at a time.
    template <class Work>
    void each(const std::vector<std::size_t>& chosen, unsigned threads, Work&& work, const Hooks& hooks = {}) {
        for (std::size_t begin = 0; begin < chosen.size();) {
            const std::size_t end = load_from(chosen, begin);
            for (std::size_t i = begin; hooks.comes && i < end; ++i) hooks.comes(place_of(chosen[i]));
            const unsigned outer = end - begin >= threads ? threads : 1;
            parallel_for(end - begin, outer, [&](std::size_t i) { work(begin + i, place_of(chosen[begin + i]), outer > 1 ? 1 : threads); });
            if (!keeps_all_) {
                if (hooks.go) hooks.go();
                for (Text& text : texts_) text.parsed.reset();
            }
            begin = end;
        }
    }

private:
    struct Text {
        const Input* input{};
        const PtxText* text{};
        std::unique_ptr<ptx::ParseResult> parsed;    ///< empty where it is not in memory
    };
    struct Place { std::size_t text{}, module{}; std::uint32_t entry{}; };

    [[nodiscard]] KernelPlace place_of(std::size_t kernel) const;
    /// Parses the texts of the kernels from `begin` on, as many as fit; the position behind the last one.
    std::size_t load_from(const std::vector<std::size_t>& chosen, std::size_t begin);

    std::vector<Text> texts_;
    std::vector<Place> places_;                      ///< by kernel
    std::vector<KernelName> names_;
    bool keeps_all_{};
};

}  // namespace flipflop::advise
