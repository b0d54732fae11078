// The register estimates of PTX texts, for tools/registers.py. Not part of the product.
//   one line of standard input:  SM FILE           (SM 80 for sm_80)
//   for each kernel of the file: FILE SM NAME ESTIMATE LOW HIGH SPILL_STORE_BYTES, by tabs
#include <fstream>
#include <iostream>
#include <sstream>

#include "flipflop/passes.hpp"
#include "flipflop/ptx.hpp"

using namespace flipflop;

int main() {
    std::uint32_t sm = 0;
    std::string path;
    while (std::cin >> sm >> path) {
        std::ifstream in(path, std::ios::binary);
        std::ostringstream text;
        text << in.rdbuf();
        const auto result = ptx::parse(std::make_shared<std::string>(text.str()), path);
        for (const ptx::Module& module : result.modules) {
            for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
                if (!module.functions[f].is_entry || !module.functions[f].has_body) continue;
                KernelCode code = analyse_kernel(module, f);
                Resources& r = code.facts.resources;
                estimate_registers(code, sm, r);
                std::cout << path << '\t' << sm << '\t' << module.functions[f].name << '\t' << r.registers_per_thread << '\t' << r.registers_low << '\t'
                          << r.registers_high << '\t' << r.spill_store_bytes.value_or(0) << '\n';
            }
        }
    }
    return 0;
}
