#include "array_data.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "complaints.hpp"

namespace flipflop::advise {

namespace {

std::uint32_t element_bytes_of(std::string_view type) {
    if (type.starts_with('.')) type.remove_prefix(1);
    if (type.size() < 2 || std::string_view("subf").find(type[0]) == std::string_view::npos) return type == "bf16" ? 2 : 0;
    unsigned bits{};
    const auto [end, error] = std::from_chars(type.data() + 1, type.data() + type.size(), bits);
    if (error != std::errc{} || end != type.data() + type.size()) return 0;
    return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? bits / 8 : 0;
}

/// The text behind `'key':` in a .npy header, up to the next comma outside of brackets.
std::optional<std::string> header_value(const std::string& header, const std::string& key) {
    const std::size_t at = header.find("'" + key + "'");
    if (at == std::string::npos) return std::nullopt;
    std::size_t begin = header.find(':', at);
    if (begin == std::string::npos) return std::nullopt;
    ++begin;
    int depth = 0;
    std::size_t end = begin;
    for (; end < header.size(); ++end) {
        const char c = header[end];
        if (c == '(' || c == '[') ++depth;
        if (c == ')' || c == ']') --depth;
        if ((c == ',' || c == '}') && depth <= 0) break;
    }
    std::string value = header.substr(begin, end - begin);
    std::erase_if(value, [](char c) { return c == ' ' || c == '\''; });
    return value;
}

/// 'i', 'u', 'f' or 'b' of a .npy whose header parse_npy has accepted.
char header_kind(const std::vector<std::uint8_t>& file) {
    const std::string head(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(file.size(), 4096)));
    const auto descr = header_value(head, "descr");
    return descr && descr->size() > 1 ? (*descr)[1] : 'u';
}

/// Elements of a shape such as "(3,4)"; nothing when it is none or overflows.
std::optional<std::uint64_t> count_of_shape(std::string_view shape) {
    if (shape.size() < 2 || shape.front() != '(' || shape.back() != ')') return std::nullopt;
    std::uint64_t count = 1;
    const char* at = shape.data() + 1;
    const char* stop = shape.data() + shape.size() - 1;
    while (at < stop) {
        std::uint64_t extent{};
        const auto [end, error] = std::from_chars(at, stop, extent);
        if (error != std::errc{} || __builtin_mul_overflow(count, extent, &count)) return std::nullopt;
        if (end < stop && *end != ',') return std::nullopt;
        at = end < stop ? end + 1 : stop;
    }
    return count;
}

}  // namespace

tl::expected<ArrayData, std::string> parse_npy(const std::vector<std::uint8_t>& file) {
    if (file.size() < 10) return tl::unexpected(std::string("the header is cut off"));
    const bool wide = file[6] >= 2;
    const std::size_t start = wide ? 12 : 10;
    if (file.size() < start) return tl::unexpected(std::string("the header is cut off"));
    std::size_t length = file[8] | std::size_t{file[9]} << 8;
    if (wide) length |= std::size_t{file[10]} << 16 | std::size_t{file[11]} << 24;
    if (length > file.size() - start) return tl::unexpected(std::string("the header is cut off"));
    const std::string header(file.begin() + static_cast<std::ptrdiff_t>(start), file.begin() + static_cast<std::ptrdiff_t>(start + length));
    const auto descr = header_value(header, "descr"), shape = header_value(header, "shape");
    if (!descr || !shape || descr->size() < 2) return tl::unexpected(std::string("the header names no 'descr' or no 'shape'"));
    std::uint32_t bytes{};
    const char kind = (*descr)[1];
    const auto [end, error] = std::from_chars(descr->data() + 2, descr->data() + descr->size(), bytes);
    if (std::string_view("iufb").find(kind) == std::string_view::npos || error != std::errc{} || end != descr->data() + descr->size() ||
        (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
        return tl::unexpected(fmt::format("elements of type '{}' are not read by kernels", *descr));
    const auto count = count_of_shape(*shape);
    std::uint64_t size{};
    if (!count || __builtin_mul_overflow(*count, std::uint64_t{bytes}, &size)) return tl::unexpected(fmt::format("the shape {} is not understood", *shape));
    if (size != file.size() - start - length)
        return tl::unexpected(fmt::format("the shape {} needs {} bytes, the file holds {}", *shape, size, file.size() - start - length));
    ArrayData data;
    data.element_bytes = bytes;
    data.bytes.assign(file.begin() + static_cast<std::ptrdiff_t>(start + length), file.end());
    if ((*descr)[0] == '>')
        for (std::size_t i = 0; i + bytes <= data.bytes.size(); i += bytes)
            std::reverse(data.bytes.begin() + static_cast<std::ptrdiff_t>(i), data.bytes.begin() + static_cast<std::ptrdiff_t>(i + bytes));
    return data;
}

Result<DataRequest> read_data(const std::string& text) {
    DataRequest request;
    request.text = text;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
        return tl::unexpected(complain_at("FF0720", "--data", text, static_cast<std::uint32_t>(std::min(equals, text.size()) + 1), "the form is NAME=FILE[:TYPE]"));
    request.name = text.substr(0, equals);
    std::string path = text.substr(equals + 1), type;
    if (const std::size_t colon = path.rfind(':'); colon != std::string::npos && element_bytes_of(path.substr(colon + 1)) != 0) {
        type = path.substr(colon + 1);
        path.resize(colon);
    }
    std::error_code error;
    const std::uint64_t size = std::filesystem::is_regular_file(path, error) ? std::filesystem::file_size(path, error) : 0;
    std::ifstream file(path, std::ios::binary);
    if (error || !file || !std::filesystem::is_regular_file(path, error)) return tl::unexpected(complain("FF0721", "--data", fmt::format("cannot read '{}'", path)));
    if (size == 0) return tl::unexpected(complain("FF0721", "--data", fmt::format("'{}' is empty, or no plain file: there is nothing to read", path)));
    if (size > kMostDataBytes) return tl::unexpected(complain("FF0721", "--data", fmt::format("'{}' holds {} bytes, more than the {} that are read", path, size, kMostDataBytes)));
    std::vector<std::uint8_t> bytes(size);
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
    if (static_cast<std::uint64_t>(file.gcount()) != size) return tl::unexpected(complain("FF0721", "--data", fmt::format("cannot read all of '{}'", path)));
    static constexpr std::uint8_t kMagic[]{0x93, 'N', 'U', 'M', 'P', 'Y'};
    if (size >= 6 && std::equal(std::begin(kMagic), std::end(kMagic), bytes.begin())) {
        auto data = parse_npy(bytes);
        if (!data) return tl::unexpected(complain("FF0722", "--data", fmt::format("'{}': {}", path, data.error())));
        if (data->bytes.empty()) return tl::unexpected(complain("FF0722", "--data", fmt::format("'{}' holds no elements", path)));
        const auto kind = header_kind(bytes);
        request.element_type = fmt::format("{}{}", kind == 'f' ? 'f' : kind == 'i' ? 's' : 'u', 8 * data->element_bytes);
        request.data = std::move(*data);
        return request;
    }
    if (type.empty()) return tl::unexpected(complain("FF0722", "--data", fmt::format("'{}' is not a .npy file; raw bytes need their type", path), "write " + text + ":u32, or the type that it has"));
    request.data.element_bytes = element_bytes_of(type);
    request.element_type = type.starts_with('.') ? type.substr(1) : type;
    if (size % request.data.element_bytes != 0)
        return tl::unexpected(complain("FF0722", "--data", fmt::format("'{}' holds {} bytes, no whole number of {} elements", path, size, type)));
    request.data.bytes = std::move(bytes);
    return request;
}

}  // namespace flipflop::advise
