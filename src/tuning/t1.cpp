// T1 files (TuningSchema 1.0). What the published files do beyond the schema is read too: GridDivX and ProblemSize, Size
// as an expression in which a parameter stands for the list of its values, MemType for constant memory.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tuning/arguments.hpp"
#include "tuning/json_place.hpp"
#include "tuning/spec.hpp"

namespace flipflop::tuning {

namespace {

using Json = nlohmann::ordered_json;


class T1Reader {
public:
    T1Reader(std::string file, const std::vector<std::vector<std::string>>& table, const TuneOptions& options) : table_(table), options_(options) { spec_.file = std::move(file); }

    Result<Spec> read(const std::string& text) {
        Json json;
        text_ = text;
        try {
            json = Json::parse(text);
        } catch (const Json::parse_error& e) {
            return tl::unexpected(not_json(text, e.byte));
        } catch (const Json::exception&) {
            return tl::unexpected(wrong("holds a number that is out of range"));
        }
        place_ = "";
        spec_.t1 = true;
        if (!json.is_object() || !object(json, "ConfigurationSpace") || !object(json, "KernelSpecification"))
            return tl::unexpected(wrong("is not a T1 file: it has no ConfigurationSpace and KernelSpecification",
                                        "https://github.com/odgaard/TuningSchema describes T1; docs/tune.md shows one"));
        if (!space(json["ConfigurationSpace"]) || !kernel(json["KernelSpecification"])) return tl::unexpected(std::move(*error_));
        return std::move(spec_);
    }

private:
    static bool object(const Json& json, const char* key) { return json.contains(key) && json[key].is_object(); }

    Diagnostic wrong(std::string message, std::string help = {}, const char* id = "FF0840") const {
        Diagnostic d;
        d.id = id;
        d.file = spec_.file;
        d.message = std::move(message);
        d.help = std::move(help);
        if (place_) d.at = json_place(text_, *place_);
        return d;
    }
    bool fail(std::string message, std::string help = {}, const char* id = "FF0840") {
        if (!error_) error_ = wrong(std::move(message), std::move(help), id);
        return false;
    }
    bool fail(Diagnostic d) {
        if (d.at.line == 0 && d.file == spec_.file && place_) d.at = json_place(text_, *place_);
        if (!error_) error_ = std::move(d);
        return false;
    }

    /// What is complained of from now on stands there.
    void at(std::string pointer) { place_ = std::move(pointer); }
    void into(const std::string& key) { at(*place_ + "/" + key); }

    Diagnostic not_json(const std::string& text, std::size_t byte) const {
        Diagnostic d = wrong("is not JSON from here on");
        const std::string_view before = std::string_view(text).substr(0, byte == 0 ? 0 : std::min(byte - 1, text.size()));
        const std::size_t line = before.rfind('\n');
        d.at.line = static_cast<std::uint32_t>(1 + std::count(before.begin(), before.end(), '\n'));
        d.at.column = static_cast<std::uint32_t>(before.size() - (line == std::string_view::npos ? 0 : line + 1) + 1);
        const std::size_t from = line == std::string_view::npos ? 0 : line + 1;
        const std::size_t end = std::min(text.find('\n', from), text.size());
        if (end - from < 200) d.source_line = text.substr(from, end - from);
        return d;
    }

    /// Numbers and texts of the file as an expression; anything else is of the wrong form.
    std::optional<Expression> expression(const Json& json, const std::string& what) {
        std::string text;
        if (json.is_string()) text = json.get<std::string>();
        else if (json.is_number() || json.is_boolean()) text = json.is_boolean() ? (json.get<bool>() ? "True" : "False") : json.dump();
        else return fail(fmt::format("{} is neither a number nor a text", what)), std::nullopt;
        auto parsed = Expression::parse(std::move(text), {"FF0841", spec_.file, what, json.is_string() ? json_place(text_, *place_) : LineColumn{}});
        if (!parsed) return fail(parsed.error()), std::nullopt;
        return std::move(*parsed);
    }

    /// An expression of parameters; Kernel Tuner's own names for the block may be missing among them.
    std::optional<Expression> rule(const Json& json, const std::string& what) {
        auto e = expression(json, what);
        if (!e) return std::nullopt;
        for (const std::string& name : e->names())
            if (!spec_.space.find(name)) return fail(fmt::format("{}: '{}' is no tuning parameter", what, name), {}, "FF0842"), std::nullopt;
        return e;
    }

    static std::optional<Value> value(const Json& json) {
        if (json.is_boolean()) return Value::of(json.get<bool>());
        if (json.is_number_integer()) return Value::of(json.get<std::int64_t>());
        if (json.is_number()) return Value::of(json.get<double>());
        if (json.is_string()) return Value::of(json.get<std::string>());
        return std::nullopt;
    }

    bool values_of(const Json& json, const std::string& name, std::vector<Value>& out) {
        const std::string what = fmt::format("values of '{}'", name);
        if (json.is_array()) {   // not in the schema, and unmistakable
            for (const Json& v : json) {
                const auto one = value(v);
                if (!one) return fail(fmt::format("{}: not a number, text or truth value", what));
                out.push_back(*one);
            }
            return true;
        }
        const auto e = expression(json, what);
        if (!e) return false;
        const auto list = e->evaluate();
        if (!list) return fail(list.error());
        if (list->kind == Value::Kind::list) out = *list->list;
        else out.push_back(*list);
        for (const Value& v : out)
            if (v.kind == Value::Kind::list || v.kind == Value::Kind::none) return fail(fmt::format("{}: {} is not a number, text or truth value", what, v.literal()));
        return true;
    }

    /// The same value twice makes the same variant twice; a file that asks for that means something else.
    bool each_once(const Parameter& parameter) {
        std::set<std::string> seen;
        for (const Value& v : parameter.values) {
            // As equal() has it: 1, 1.0 and True are one value.
            const std::string key = v.number() ? fmt::format("{}", v.as_real()) : "'" + v.words();
            if (!seen.insert(key).second) return fail(fmt::format("values of '{}': {} is there twice", parameter.name, v.literal()), {}, "FF0843");
        }
        return true;
    }

    bool of_type(const Parameter& parameter, const std::string& type) {
        static constexpr std::string_view kNumbers[]{"int", "uint", "float", "bool"};
        const bool numbers = std::find(std::begin(kNumbers), std::end(kNumbers), type) != std::end(kNumbers);
        if (type.empty()) return true;
        if (!numbers && type != "string") return fail(fmt::format("'{}' is no type of a tuning parameter", type), "there are int, uint, float, bool and string");
        for (const Value& v : parameter.values)
            if (numbers && !v.number()) return fail(fmt::format("values of '{}': {} is no {}", parameter.name, v.literal(), type));
        return true;
    }

    bool space(const Json& json) {
        at("/ConfigurationSpace");
        if (!json.contains("TuningParameters") || !json["TuningParameters"].is_array()) return fail("ConfigurationSpace has no list TuningParameters");
        std::vector<Parameter> parameters;
        for (std::size_t i = 0; i < json["TuningParameters"].size(); ++i) {
            const Json& p = json["TuningParameters"][i];
            const std::string place = fmt::format("/ConfigurationSpace/TuningParameters/{}", i);
            at(place);
            if (!p.is_object() || !p.contains("Name") || !p["Name"].is_string()) return fail("a tuning parameter has no Name");
            Parameter parameter;
            parameter.name = p["Name"].get<std::string>();
            at(place + "/Name");
            if (!is_macro(parameter.name)) return fail(fmt::format("'{}' is no name for a macro, and so none for a tuning parameter", parameter.name));
            if (std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& o) { return o.name == parameter.name; }))
                return fail(fmt::format("the tuning parameter '{}' is there twice", parameter.name), {}, "FF0843");
            at(place);
            if (!p.contains("Values")) return fail(fmt::format("the tuning parameter '{}' has no Values", parameter.name), {}, "FF0843");
            at(place + "/Values");
            if (!values_of(p["Values"], parameter.name, parameter.values) || !each_once(parameter)) return false;
            if (parameter.values.empty()) return fail(fmt::format("the tuning parameter '{}' has no values", parameter.name), "give at least one: \"Values\": \"[1]\"", "FF0843");
            at(place + "/Type");
            if (p.contains("Type") && !p["Type"].is_string()) return fail("the type of a tuning parameter is a text");
            if (!of_type(parameter, text(p, "Type"))) return false;
            parameters.push_back(std::move(parameter));
            spec_.defaults.push_back(p.contains("Default") ? value(p["Default"]) : std::nullopt);
        }
        std::vector<Expression> conditions;
        if (!read_conditions(json, conditions)) return false;
        at("/ConfigurationSpace");
        if (!apply_options(parameters, conditions)) return false;
        take_values(table_, parameters);
        auto space = Space::make(std::move(parameters), std::move(conditions), spec_.file);
        if (!space) return fail(space.error());
        spec_.space = std::move(*space);
        return true;
    }

    bool read_conditions(const Json& json, std::vector<Expression>& conditions) {
        at("/ConfigurationSpace/Conditions");
        if (!json.contains("Conditions") || json["Conditions"].is_null()) return true;
        if (!json["Conditions"].is_array()) return fail("Conditions is no list");
        for (const Json& c : json["Conditions"]) {
            at(fmt::format("/ConfigurationSpace/Conditions/{}", conditions.size()));
            if (c.is_object()) into("Expression");
            const Json text = c.is_object() && c.contains("Expression") ? c["Expression"] : c;
            if (!text.is_string()) return fail(fmt::format("condition {} is no text with an expression", conditions.size() + 1), "such as {\"Expression\": \"a * b <= 1024\"}");
            auto e = expression(text, fmt::format("condition {}", conditions.size() + 1));
            if (!e) return false;
            for (const std::string& name : e->names())
                if (!names_a_parameter(json, name)) return fail(fmt::format("the condition '{}' names '{}', which is no tuning parameter", e->text(), name), {}, "FF0842");
            conditions.push_back(std::move(*e));
        }
        return true;
    }

    /// Of the file, or of --define.
    bool names_a_parameter(const Json& json, const std::string& name) const {
        for (const Json& p : json["TuningParameters"])
            if (p["Name"] == name) return true;
        return std::any_of(options_.defines.begin(), options_.defines.end(), [&](const std::string& d) { return d.substr(0, d.find('=')) == name; });
    }

    bool apply_options(std::vector<Parameter>& parameters, std::vector<Expression>& conditions) {
        for (const std::string& text : options_.defines) {
            auto p = parameter_of(text);
            if (!p) return fail(p.error());
            const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& o) { return o.name == p->name; });
            if (found != parameters.end()) found->values = std::move(p->values);
            else {
                parameters.push_back(std::move(*p));
                spec_.defaults.emplace_back();
            }
        }
        for (const std::string& text : options_.restricts) {
            auto e = condition_of(text);
            if (!e) return fail(e.error());
            conditions.push_back(std::move(*e));
        }
        return true;
    }

    static bool is_macro(std::string_view name) {
        const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
        return !name.empty() && letter(name.front()) && std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
    }

    std::string text(const Json& json, const char* key) { return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string(); }

    bool kernel(const Json& json) {
        at("/KernelSpecification/Language");
        const std::string language = text(json, "Language");
        if (!language.empty() && language != "CUDA" && language != "CUPY" && language != "NVCUDA")
            return fail(fmt::format("the kernel is written in {}; only CUDA becomes PTX", language), {}, "FF0845");
        at("/KernelSpecification");
        spec_.kernel = text(json, "KernelName");
        spec_.source = text(json, "KernelFile");
        if (spec_.source.empty()) return fail("KernelSpecification has no KernelFile");
        if (spec_.kernel.empty()) return fail("KernelSpecification has no KernelName");
        at("/KernelSpecification/CompilerOptions");
        if (json.contains("CompilerOptions") && !json["CompilerOptions"].is_null() && !json["CompilerOptions"].is_array()) return fail("CompilerOptions is no list");
        if (json.contains("CompilerOptions"))
            for (const Json& o : json["CompilerOptions"]) {
                if (!o.is_string()) return fail("CompilerOptions holds what is not a text");
                spec_.compiler_options.push_back(o.get<std::string>());
            }
        return block(json) && grid(json) && arguments(json);
    }

    bool block(const Json& json) {
        static constexpr const char* kKeys[]{"X", "Y", "Z"};
        static constexpr const char* kNames[]{"block_size_x", "block_size_y", "block_size_z"};
        const Json* const local = object(json, "LocalSize") ? &json["LocalSize"] : nullptr;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            std::string what = fmt::format("LocalSize {}", kKeys[axis]);
            at(fmt::format("/KernelSpecification/LocalSize/{}", kKeys[axis]));
            const bool given = local && local->contains(kKeys[axis]) && !(*local)[kKeys[axis]].is_null();
            // Kernel Tuner's names, where they are parameters or are named without being any: 256, 1, 1.
            const bool kernel_tuners = !given || (*local)[kKeys[axis]] == kNames[axis];
            if (kernel_tuners && !spec_.space.find(kNames[axis])) {
                if (given || (!local && axis == 0)) spec_.notes.push_back(note(fmt::format("{} is no tuning parameter: {} threads, as Kernel Tuner takes it", kNames[axis], axis == 0 ? 256 : 1)));
                spec_.block[axis] = *Expression::parse(axis == 0 && (given || !local) ? "256" : "1", {"FF0841", spec_.file, what});
                continue;
            }
            spec_.block[axis] = rule(given ? (*local)[kKeys[axis]] : Json(kNames[axis]), what);
            if (!spec_.block[axis]) return false;
        }
        return true;
    }

    /// A size without parameters is the same for all: nonsense is said now and not in every row.
    bool is_size(const Expression& e) {
        if (!e.names().empty()) return true;
        const auto size = e.evaluate();
        if (!size) return fail(size.error());
        if (!size->number() || size->as_real() < 1 || size->as_real() > 0x7fffffff) return fail(fmt::format("a problem of {} on one axis", size->literal()), "1 to 2147483647");
        return true;
    }

    bool grid(const Json& json) {
        static constexpr const char* kKeys[]{"X", "Y", "Z"};
        if (json.contains("ProblemSize") && !json["ProblemSize"].is_null()) {
            const Json list = json["ProblemSize"].is_array() ? json["ProblemSize"] : Json::array({json["ProblemSize"]});
            if (list.size() > 3) return fail("ProblemSize has more than three axes");
            spec_.problem_size.emplace();
            for (const Json& size : list) {
                at("/KernelSpecification/ProblemSize");
                if (json["ProblemSize"].is_array()) into(std::to_string(spec_.problem_size->size()));
                auto e = rule(size, fmt::format("ProblemSize {}", spec_.problem_size->size()));
                if (!e || !is_size(*e)) return false;
                spec_.problem_size->push_back(std::move(*e));
            }
        }
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const std::string key = fmt::format("GridDiv{}", kKeys[axis]);
            at("/KernelSpecification/" + key);
            if (!json.contains(key) || json[key].is_null()) continue;
            const Json list = json[key].is_array() ? json[key] : Json::array({json[key]});
            if (list.empty()) continue;   // Kernel Tuner: as if it were not there
            spec_.divisors[axis].emplace();
            for (const Json& divisor : list) {
                auto e = rule(divisor, key);
                if (!e) return false;
                spec_.divisors[axis]->push_back(std::move(*e));
            }
        }
        if (!spec_.problem_size && object(json, "GlobalSize"))
            for (std::size_t axis = 0; axis < 3; ++axis)
                if (json["GlobalSize"].contains(kKeys[axis])) {
                    at(fmt::format("/KernelSpecification/GlobalSize/{}", kKeys[axis]));
                    spec_.global_size[axis] = rule(json["GlobalSize"][kKeys[axis]], fmt::format("GlobalSize {}", kKeys[axis]));
                    if (!spec_.global_size[axis]) return false;
                }
        spec_.global_size_is_threads = text(json, "GlobalSizeType") == "OpenCL";
        if (json.contains("SharedMemory") && !json["SharedMemory"].is_null() && json["SharedMemory"] != 0) {
            at("/KernelSpecification/SharedMemory");
            spec_.shared_memory = rule(json["SharedMemory"], "SharedMemory");
            if (!spec_.shared_memory) return false;
        }
        return true;
    }

    bool arguments(const Json& json) {
        if (!json.contains("Arguments")) return true;
        at("/KernelSpecification/Arguments");
        if (!json["Arguments"].is_array()) return fail("Arguments is no list");
        for (std::size_t i = 0; i < json["Arguments"].size(); ++i) {
            const Json& a = json["Arguments"][i];
            at(fmt::format("/KernelSpecification/Arguments/{}", i));
            if (!a.is_object()) return fail("an entry of Arguments is no object");
            Argument argument;
            argument.name = text(a, "Name");
            argument.type = text(a, "Type");
            const std::string what = fmt::format("argument '{}'", argument.name.empty() ? std::to_string(spec_.arguments.size()) : argument.name);
            const bool sized = bytes_of_type(argument.type).has_value();
            if (!sized && (argument.type != "custom" || text(a, "MemoryType") == "Local")) {
                into("Type");
                return fail(argument.type.empty() ? what + " has no Type" : fmt::format("{}: '{}' is no type that is known", what, argument.type), "there are bool, int8 to int64, uint8 to uint64, half, float, double and their vectors (float4)");
            }
            const std::string memory = text(a, "MemoryType");
            using Memory = Argument::Memory;
            if (memory == "Scalar") argument.memory = Memory::scalar;
            else if (memory == "Vector") argument.memory = Memory::vector;
            else if (memory == "Local") argument.memory = Memory::local;
            else if (memory == "Symbol") argument.memory = Memory::symbol;
            else return fail(fmt::format("{}: MemoryType '{}' is none of Scalar, Vector, Local and Symbol", what, memory));
            argument.constant = argument.memory == Memory::symbol || text(a, "MemType") == "Constant";
            if (argument.memory == Memory::symbol && !text(a, "SymbolName").empty()) argument.name = text(a, "SymbolName");
            argument.output = a.contains("Output") && (a["Output"] == 1 || a["Output"] == true);
            argument.fill = text(a, "FillType");
            argument.source = text(a, "DataSource");
            if (a.contains("FillValue")) argument.value = value(a["FillValue"]);
            if (a.contains("Size")) {
                into("Size");
                argument.elements = expression(a["Size"], what + ": Size");
                if (!argument.elements) return false;
                for (const std::string& name : argument.elements->names())
                    if (name != "ProblemSize" && !spec_.space.find(name)) return fail(fmt::format("{}: Size names '{}', which is no tuning parameter", what, name), {}, "FF0842");
            }
            if (argument.memory == Memory::scalar && !argument.value) return fail(fmt::format("{}: a scalar without FillValue", what));
            spec_.arguments.push_back(std::move(argument));
        }
        return true;
    }

    Diagnostic note(std::string message) const {
        Diagnostic d = wrong(std::move(message), {}, "FF0846");
        d.severity = Severity::note;
        return d;
    }

    const std::vector<std::vector<std::string>>& table_;
    const TuneOptions& options_;
    Spec spec_;
    std::optional<Diagnostic> error_;
    std::string_view text_;
    std::optional<std::string> place_;       ///< JSON pointer to what is being read; empty: it is no JSON
};

}  // namespace

Result<Spec> read_t1(const std::string& text, const std::string& file, const std::vector<std::vector<std::string>>& table, const TuneOptions& options) {
    return T1Reader(file, table, options).read(text);
}

}  // namespace flipflop::tuning
