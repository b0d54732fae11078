// A stranger's program: reads an input through the installed library. Every public header must stand alone there.
#include <cstdio>

#include <flipflop/advise.hpp>
#include <flipflop/analysis.hpp>
#include <flipflop/evaluator.hpp>
#include <flipflop/inputs.hpp>
#include <flipflop/models.hpp>
#include <flipflop/report.hpp>

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    if (flipflop::exit_code_of({"FF0801", flipflop::Severity::error, "", {}, "", "", ""}) != 3) return 1;
    const auto inputs = flipflop::read_input(argv[1]);
    if (!inputs) {
        std::fprintf(stderr, "%s\n", inputs.error().message.c_str());
        return 3;
    }
    return inputs->size() == 1 && inputs->front().texts.size() == 1 ? 0 : 1;
}
