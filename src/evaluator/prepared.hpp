// Owns: what an Evaluator keeps of a kernel between launches.
#pragma once

#include "evaluator/program.hpp"
#include "flipflop/evaluator.hpp"

namespace flipflop {

struct Evaluator::Prepared {
    eval::Program program;
    EvaluatorOptions options;
};

}  // namespace flipflop
