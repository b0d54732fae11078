// Owns: which kernel parameter each of the file's arguments is, and what of it is known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/arguments.hpp"
#include "advise/array_data.hpp"
#include "tuning/spec.hpp"

namespace flipflop::tuning {

struct BoundFile {
    std::vector<advise::ArgumentRequest> arguments;
    std::vector<advise::DataRequest> data;
    std::uint64_t local_bytes{};             ///< dynamic shared memory that the file asks for as an argument
};
/// For a kernel of so many parameters; an error where the file's arguments cannot be its.
[[nodiscard]] tl::expected<BoundFile, std::string> bind_file(const Spec& spec, std::size_t parameters);

/// Bytes of an element of one of the schema's types; "custom" and what is none has no size.
[[nodiscard]] std::optional<std::uint64_t> bytes_of_type(const std::string& type);

}  // namespace flipflop::tuning
