// Owns: what is to be tuned: a kernel's source, its space, its launch rules and arguments, from a T1 file (TuningSchema,
// as Kernel Tuner, KTT and the FAIR benchmark hub publish them) or from --define and --restrict on a source file.
// Invariant: every expression is parsed and names only what has a value; nothing in a file is ever executed.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flipflop/launch.hpp"
#include "flipflop/tune.hpp"
#include "tuning/space.hpp"

namespace flipflop::tuning {

/// One entry of the file's Arguments.
struct Argument {
    enum class Memory : std::uint8_t { scalar, vector, local, symbol };
    std::string name, type;                  ///< "float", "int32", ...
    Memory memory{Memory::vector};
    bool constant{};                         ///< of constant memory: a symbol, which may or may not be a kernel parameter too
    bool output{};
    std::string fill;                        ///< Constant, Random, ...
    std::optional<Value> value;              ///< FillValue
    std::optional<Expression> elements;      ///< Size
    std::string source;                      ///< DataSource, relative to the file
};

struct Spec {
    std::string file;                        ///< as given
    std::string source;                      ///< the kernel's file
    std::string kernel;                      ///< empty: the only one there is
    bool t1{};
    Space space;
    std::vector<std::optional<Value>> defaults;              ///< by parameter
    std::vector<std::string> compiler_options;
    std::array<std::optional<Expression>, 3> block;          ///< threads on each axis
    std::optional<std::vector<Expression>> problem_size;     ///< as many axes as are given
    /// Divisors of the problem by axis; empty: the file has none, then the block divides (as Kernel Tuner).
    std::array<std::optional<std::vector<Expression>>, 3> divisors;
    std::array<std::optional<Expression>, 3> global_size;    ///< used where there is no problem size
    bool global_size_is_threads{};           ///< OpenCL's way to count
    std::optional<Expression> shared_memory; ///< dynamic, in bytes
    std::vector<Argument> arguments;
    std::vector<Diagnostic> notes;           ///< what the file says and is not used
};

/// FF0840: not JSON or not of this form; FF0841: an expression; FF0842 to FF0844: the space; FF0845: not CUDA.
[[nodiscard]] Result<Spec> read_t1(const std::string& text, const std::string& file, const std::vector<std::vector<std::string>>& table,
                                   const TuneOptions& options);
/// --define and --restrict; with a T1 file they replace a parameter's values and add conditions. FF0785 and FF0786.
[[nodiscard]] Result<Parameter> parameter_of(const std::string& text);
[[nodiscard]] Result<Expression> condition_of(const std::string& text);
[[nodiscard]] Result<Spec> spec_of_options(const TuneOptions& options, const std::vector<std::vector<std::string>>& table);

/// --block 'TILE,BY': FF0786.
[[nodiscard]] Result<std::array<std::optional<Expression>, 3>> block_of_option(const std::string& text, const Space& space);

/// A CSV file: the first row are names. FF0787 where it cannot be read.
[[nodiscard]] Result<std::vector<std::vector<std::string>>> read_table(const std::string& file);
/// The configurations of a table whose columns are named as the parameters (others are passed over), in its order.
[[nodiscard]] Result<Configurations> configurations_of(const Space& space, const std::vector<std::vector<std::string>>& table, const std::string& file);
/// With a table, a parameter's values are those that the table uses.
void take_values(const std::vector<std::vector<std::string>>& table, std::vector<Parameter>& parameters);
/// 16, 0.5, True, text.
[[nodiscard]] Value value_of_text(const std::string& text);

/// How one configuration is launched.
struct Geometry {
    Dim3 block;
    std::optional<Dim3> grid;                ///< empty: by the grid rules of the command line
    std::optional<std::uint64_t> shared_bytes;
    std::string obstacle;                    ///< why it cannot be launched, or empty
};
[[nodiscard]] Result<Geometry> geometry_of(const Spec& spec, const std::uint16_t* configuration);
/// Elements of a vector argument; parameters stand for the list of their values, as in "max(filter_width)".
[[nodiscard]] Result<std::uint64_t> elements_of(const Spec& spec, const Argument& argument);

/// "block_size_x=16, tile=2"
[[nodiscard]] std::string words_of(const Space& space, const std::uint16_t* configuration);

}  // namespace flipflop::tuning
