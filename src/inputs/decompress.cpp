#include "inputs/decompress.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

namespace flipflop {
namespace {

using Unpacked = tl::expected<std::string, std::string>;

Unpacked wrong_length(std::uint64_t made, std::uint64_t declared) {
    return tl::unexpected(fmt::format("unpacks to {} bytes where its header says {}", made, declared));
}

}  // namespace

Unpacked unpack_lz4(std::string_view packed, std::uint64_t declared) {
    constexpr std::uint64_t kMost = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
    // One byte of LZ4 stands for at most 255 bytes (length bytes of a match): a longer claim is a lie, found before
    // memory is taken for it.
    if (packed.size() > kMost || declared > kMost || declared > packed.size() * 255 + 64)
        return tl::unexpected(fmt::format("claims {} bytes from {} of LZ4, which cannot be", declared, packed.size()));
    std::string text(static_cast<std::size_t>(declared), '\0');
    const int made = LZ4_decompress_safe(packed.data(), text.data(), static_cast<int>(packed.size()), static_cast<int>(declared));
    if (made < 0) return tl::unexpected(std::string{"is no valid LZ4 block"});
    if (static_cast<std::uint64_t>(made) != declared) return wrong_length(static_cast<std::uint64_t>(made), declared);
    return text;
}

Unpacked unpack_zstd(std::string_view packed, std::uint64_t declared) {
    const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context{ZSTD_createDCtx(), &ZSTD_freeDCtx};
    if (!context) return tl::unexpected(std::string{"no memory to unpack it"});
    // A frame may claim any length; the buffer starts at a likely ratio and grows with what comes.
    std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(declared, packed.size() * 32 + 4096)), '\0');
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    std::size_t made = 0;
    for (;;) {
        ZSTD_outBuffer out{text.data(), text.size(), made};
        const std::size_t left = ZSTD_decompressStream(context.get(), &out, &in);
        if (ZSTD_isError(left) != 0) return tl::unexpected(fmt::format("is no valid zstd frame: {}", ZSTD_getErrorName(left)));
        const bool stuck = out.pos == made && in.pos == in.size;
        made = out.pos;
        if (left == 0) break;
        if (made == text.size()) {
            if (text.size() == declared) return tl::unexpected(fmt::format("unpacks to more than the {} bytes its header says", declared));
            text.resize(static_cast<std::size_t>(std::min<std::uint64_t>(declared, text.size() * 2)));
        } else if (stuck) {
            return tl::unexpected(std::string{"is a zstd frame that ends too early"});
        }
    }
    if (made != declared) return wrong_length(made, declared);
    text.resize(made);
    return text;
}

}  // namespace flipflop
