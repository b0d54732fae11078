"""The card with one term of the models switched off at a time: what each is worth on these sets (docs/models/time.md)."""
from figures import collect

OFF = 1e9   # a rate so high, or a bandwidth so wide, that its term vanishes

TERMS = {
    "as shipped": [],
    "shared memory passes": [f"shared_load_instructions={OFF}", f"shared_wavefronts={OFF}"],
    "L1 passes (bytes, lines, requests)": [f"l1_load_bytes_per_clk_sm={OFF}", f"l1_lines_per_clk={OFF}", f"global_requests={OFF}"],
    "L2 port and bandwidth": [f"l2_to_sm_bytes={OFF}", f"l2_bandwidth_gbs={OFF}"],
    "DRAM": [f"dram_bandwidth_gbs={OFF}", f"dram_sustained_bandwidth_gbs={OFF}", f"dram_copy_bandwidth_gbs={OFF}"],
    "FMA pipe": [f"fp32={OFF}", f"int32_mul={OFF}"],
    "two FMA pipes reach 0.7": ["fp32_dual_pipe_share=1"],
    "integer and XU pipes": [f"int32_add={OFF}", f"sfu={OFF}"],
    "tensor pipe": [f"tensor_fp16={OFF}"],
    "memory latencies": ["l1_hit_latency_cycles=1", "l2_hit_latency_cycles=1", "dram_latency_cycles=1", "shared_latency_cycles=1"],
    "start of a block and its warps": ["block_lifetime_cycles=0.001", "warp_start_cycles=0.001"],
    "issue of blocks": ["block_issue_cycles=0.001"],
    "launch": ["launch_latency_us=0.001"],
    "smooth joining of latency (a hard maximum)": ["norm_latency=30"],
    "smooth joining of pipes (a hard maximum)": ["norm_pipes=30"],
    "pipes beside each other (their sum)": ["norm_pipes=1"],
    "smooth joining of SM and DRAM (a hard maximum)": ["norm_memory=30"],
}


def mean(values):
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None


def run(flipflop, chosen, options, predict_all):
    """One row a term; `predict_all(settings)` writes the tables of predictions anew."""
    tuned = [s for s in chosen if s.family not in ("streams",)]
    rows = []
    for name, settings in TERMS.items():
        predict_all(tuned, settings)
        time = [e for e in collect(flipflop, options.work, tuned) if e["quantity"] == "time"]
        spread = [e["model"]["spearman"] for e in time if e["median_over_best"] >= 1.5 and e["family"] != "attention"]
        rows.append({"term": name, "spearman": mean(spread), "first_regret": mean(e["model"]["first_regret"] for e in time), "mape": mean(e["mape"] for e in time),
                     "mape_one_scale": mean(e["mape_one_scale"] for e in time), "sets": len(time)})
    return rows


def markdown(rows):
    lines = ["### What each term is worth", "", "Each row switches one term off and changes nothing else; means over the tuning sets and attention. A term that changes nothing here is not tested by these sets.", "",
             "| off | rank corr., sets of spread 1.5 and more | regret of the first pick | error | one scale |", "|---|---|---|---|---|"]
    for row in rows:
        lines.append(f"| {row['term']} | {row['spearman']:.3f} | {row['first_regret'] * 100:.1f} % | {row['mape'] * 100:.1f} % | {row['mape_one_scale'] * 100:.1f} % |")
    return lines + [""]
