// Owns: several compilations of one computation (--variants): what each was compiled with, from Triton's metadata and a
// table, and their order. Invariant: a variant is compared at its own best launch, and keeps the block it was compiled for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "advise/expression.hpp"
#include "flipflop/advise.hpp"

namespace flipflop::advise {

using Metadata = std::map<std::string, std::string>;

/// A CSV file: a header, then a row a variant. The first column names the variant.
struct VariantTable {
    std::string path;
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;
};
/// FF0766 with line: unreadable, ragged, without rows.
[[nodiscard]] Result<VariantTable> read_variant_table(const std::string& path);

/// The row of an input: its first cell is the path, the file's name with or without its ending, the folder's name, the
/// beginning (8 digits or more) of the input's hash, or the kernel's name. FF0766 when two rows fit differently.
[[nodiscard]] const std::vector<std::string>* row_for(const VariantTable& table, const Input& input, const std::string& kernel);

/// What a kernel was compiled with.
[[nodiscard]] Metadata metadata_of(const Input& input, const VariantTable* table, const std::string& kernel);

/// The numbers of it, for expressions.
[[nodiscard]] Names names_of(const Metadata& metadata);

/// Triton compiles for one block of 32 * num_warps threads, whether the PTX says .reqntid or .maxntid, and for one cluster.
void apply_metadata(const Metadata& metadata, KernelFacts& kernel);

/// Rankings by computation, GPU and case: kernels of one name, or all where every name stands once.
[[nodiscard]] std::vector<VariantRanking> rank_variants(const std::vector<KernelAnalysis>& kernels, Objective objective, const std::vector<PairedError>& paired);

}  // namespace flipflop::advise
