#include "candidates.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include <fmt/format.h>

#include "grid_rule.hpp"

namespace flipflop::advise {

namespace {

constexpr std::uint32_t kMostThreads = 1024, kMostZ = 64, kWarp = 32;

struct Target { int major{}, minor{}; char suffix{}; };

std::optional<Target> parse_target(const std::string& text) {
    const std::size_t digits = text.find_first_of("0123456789");
    if (digits == std::string::npos) return std::nullopt;
    int number{};
    const auto [end, error] = std::from_chars(text.data() + digits, text.data() + text.size(), number);
    if (error != std::errc{} || number < 10) return std::nullopt;
    const char suffix = end < text.data() + text.size() ? *end : '\0';
    return Target{number / 10, number % 10, suffix};
}

}  // namespace

std::vector<Dim3> search_space(int dimensions) {
    std::vector<Dim3> blocks;
    if (dimensions <= 1) {
        for (std::uint32_t x = kWarp; x <= kMostThreads; x += kWarp) blocks.push_back({x, 1, 1});
        return blocks;
    }
    for (std::uint32_t z = 1; z <= (dimensions >= 3 ? kMostZ : 1); z *= 2)
        for (std::uint32_t y = 1; y * z <= kMostThreads; y *= 2)
            for (std::uint32_t x = 1; x * y * z <= kMostThreads; x *= 2)
                if (x * y * z >= kWarp) blocks.push_back({x, y, z});
    std::sort(blocks.begin(), blocks.end(), [](Dim3 a, Dim3 b) { return std::tuple(a.count(), a.x, a.y) < std::tuple(b.count(), b.x, b.y); });
    return blocks;
}

Dim3 reference_block(const KernelFacts& kernel, bool ignore_bounds) {
    if (kernel.bounds.required_block) return *kernel.bounds.required_block;
    Dim3 block = kernel.block_dimensions >= 3 ? Dim3{8, 8, 4} : kernel.block_dimensions == 2 ? Dim3{16, 16, 1} : Dim3{256, 1, 1};
    const std::uint64_t most = ignore_bounds ? kMostThreads : kernel.bounds.max_threads.value_or(kMostThreads);
    while (block.count() > std::max<std::uint64_t>(1, most)) {
        std::uint32_t& longest = block.x >= block.y && block.x >= block.z ? block.x : block.y >= block.z ? block.y : block.z;
        longest /= 2;
    }
    return block;
}

std::optional<Obstacle> block_obstacle(const KernelFacts& kernel, Dim3 block, bool ignore_bounds) {
    if (block.x > kMostThreads || block.y > kMostThreads || block.z > kMostZ || block.count() > kMostThreads)
        return Obstacle{"block_size", block.count() > kMostThreads ? fmt::format("{} threads are more than the {} of a block", block.count(), kMostThreads)
                                                                  : fmt::format("the shape {} exceeds 1024 x 1024 x 64", words_of(block))};
    if (ignore_bounds) return std::nullopt;
    if (kernel.bounds.required_block && !(*kernel.bounds.required_block == block))
        return Obstacle{"required_block", fmt::format("the code is fixed to {} (.reqntid)", words_of(*kernel.bounds.required_block))};
    if (kernel.bounds.max_threads && block.count() > *kernel.bounds.max_threads)
        return Obstacle{"max_threads", fmt::format("{} threads exceed the launch bound of {} (.maxntid)", block.count(), *kernel.bounds.max_threads)};
    return std::nullopt;
}

std::optional<Obstacle> cluster_obstacle(const KernelFacts& kernel, std::optional<Dim3> cluster, const ComputeCapability& cc) {
    if (kernel.bounds.cluster && cluster && !(*kernel.bounds.cluster == *cluster))
        return Obstacle{"cluster", fmt::format("the code is fixed to clusters of {}", words_of(*kernel.bounds.cluster))};
    if (!cluster || cluster->count() <= 1) return std::nullopt;
    if (cc.major < 9) return Obstacle{"cluster", fmt::format("compute capability {}.{} has no clusters (9.0 and newer have)", cc.major, cc.minor)};
    if (cluster->count() > 16) return Obstacle{"cluster", fmt::format("a cluster of {} blocks exceeds 16", cluster->count())};
    return std::nullopt;
}

bool ptx_runs_on(const std::string& target_text, const ComputeCapability& cc) {
    const auto target = parse_target(target_text);
    if (!target) return true;   // no number, no claim: the parser has complained
    if (target->suffix == 'a') return cc.major == target->major && cc.minor == target->minor;
    if (target->suffix == 'f') return cc.major == target->major && cc.minor >= target->minor;
    return std::pair(cc.major, cc.minor) >= std::pair(target->major, target->minor);
}

bool cubin_runs_on(const std::string& architecture, const ComputeCapability& cc) {
    const auto target = parse_target(architecture);
    if (!target || target->major != cc.major) return false;
    // Jetson and Drive: machine code goes neither to a newer one nor between them and boards (CUDA Programming Guide, binary compatibility).
    static constexpr std::pair<int, int> kTegra[]{{5, 3}, {6, 2}, {7, 2}, {8, 7}, {11, 0}};
    for (const auto& [major, minor] : kTegra)
        if (major == cc.major && (minor == cc.minor) != (minor == target->minor)) return false;
    return target->suffix == 'a' ? target->minor == cc.minor : target->minor <= cc.minor;
}

}  // namespace flipflop::advise
