"""Records of schema 1 as femcg compare writes them, made up but plausible, for test_report.py."""

import math

H200 = {
    "processor": "INTEL(R) XEON(R) PLATINUM 8580",
    "threads": 16,
    "device": "NVIDIA H200",
    "copy_bandwidth": 4.28e12,
}
HOST = {"processor": "INTEL(R) XEON(R) PLATINUM 8580", "threads": 16, "device": "", "copy_bandwidth": 1.9e11}

# name: (fraction of the copy bandwidth, bytes / bytes of csr, padding, fraction of ELLPACK's bytes saved, conversion time / product time)
OPERATORS = {
    "csr": (0.71, 1.0, 1.0, 0.22, None),
    "csr-aligned": (0.78, 1.03, 1.02, 0.20, 9.0),
    "ellpack": (0.83, 1.27, 1.31, 0.0, 14.0),
    "ellpack-r": (0.86, 1.28, 1.31, -0.004, 15.0),
    "sell": (0.89, 1.04, 1.05, 0.19, 21.0),
    "jad": (0.76, 1.02, 1.0, 0.21, 180.0),
    "hyb": (0.64, 1.08, 1.04, 0.16, 33.0),
    "lma-atomic": (0.52, 1.9, 1.0, None, None),
    "lma-coloured": (0.57, 1.9, 1.0, None, None),
    "lma-gather": (0.61, 2.1, 1.0, None, None),
    "matrix-free": (0.33, 0.11, 1.0, None, None),
    "cusparse-csr": (0.74, 1.0, 1.0, None, 0.5),
}


def problem(degree, cells=1_000_000):
    unknowns = (math.isqrt(cells) * degree - 1) ** 2
    return {"dimension": 2, "cell": "quadrilateral", "cells": cells, "degree": degree, "geometric_order": 1,
            "quadrature": degree + 1, "dofs": (math.isqrt(cells) * degree + 1) ** 2, "unknowns": unknowns}  # fmt: skip


def histogram(degree):
    """Row lengths of quadrilaterals: nodes inside a cell, on an edge, and vertices; and some beside the boundary."""
    inner, edge, vertex = (degree + 1) ** 2, (degree + 1) * (2 * degree + 1), (2 * degree + 1) ** 2
    counts = {
        inner: (degree - 1) ** 2 * 1_000_000,
        edge: 2 * (degree - 1) * 999_000,
        vertex: 998_001,
        vertex - degree: 3996,
        edge // 2 + 1: 4,
    }
    return [[length, rows] for length, rows in sorted(counts.items()) if rows > 0]


def record(name, degree=1, precision="double", device="cuda", options=None, sweep=None, speed=1.0, **of_problem):
    """A timed record; what it says about speed follows from the bytes and the operator's share of the bandwidth."""
    share, bytes_ratio, padding, reduction, conversion = OPERATORS[name]
    machine = H200 if device == "cuda" else HOST
    shape = problem(degree, **of_problem)
    word = 8 if precision == "double" else 4
    nonzeros = shape["unknowns"] * (degree + 2) ** 2
    stored = round(bytes_ratio * (nonzeros * (word + 4) + 4 * shape["unknowns"]))
    moved = stored + 2 * word * shape["unknowns"]
    seconds = moved / (machine["copy_bandwidth"] * share * speed)
    per_iteration = seconds + 9 * word * shape["unknowns"] / machine["copy_bandwidth"]
    roof = machine["copy_bandwidth"] / (moved + 9 * word * shape["unknowns"])
    rate = 1 / per_iteration
    assembled = reduction is not None
    comparison = {"status": "timed", "reason": "", "agreement": 1.3e-16, "agreement_bound": 4e-14, "repetitions": 5,
                  "iterations_per_second_minimum": 0.97 * rate, "iterations_per_second_maximum": 1.02 * rate,
                  "roof_iterations_per_second": roof,
                  "break_even_iterations": None if conversion is None or share < 0.72 else conversion / (share - 0.7)}  # fmt: skip
    return {
        "schema": 1, "femcg": "0.1.0", "command": "compare", "case": "cases/papers_square.yaml",
        "title": "Poisson's equation on the unit square", "started": "2026-11-21T05:00:00Z", "machine": machine,
        "problem": shape, "sweep": sweep or {},
        **({"matrix": {"nonzeros": nonzeros, "bandwidth": 1234 * degree, "row_lengths": {
            "minimum": histogram(degree)[0][0], "maximum": histogram(degree)[-1][0], "mean": (degree + 2) ** 2, "deviation": 2.1 * degree,
            "histogram": histogram(degree)}}} if assembled else {}),
        "operator": {"name": name, "options": options or {}, "precision": precision, "device": device, "nonzeros": nonzeros,
                     "stored_bytes": stored, "moved_bytes": moved, "flops": 2 * nonzeros, "padding_ratio": padding, "data_reduction": reduction},
        "seconds": {"assembly": 1.9, "conversion": (conversion or 0) * seconds, "transfer": 0.4 if device == "cuda" else 0},
        "apply": {"median_seconds": seconds, "minimum_seconds": 0.98 * seconds, "maximum_seconds": 1.05 * seconds,
                  "gflops": 2e-9 * nonzeros / seconds, "effective_bandwidth": 1.1 * moved / seconds, "minimum_bandwidth": moved / seconds,
                  "caching_bandwidth": None, "bandwidth_fraction": share * speed},
        "solve": {"preconditioner": "none", "iterations": 200, "iterations_per_second": rate, "unknowns_per_second": rate * shape["unknowns"]},
        "comparison": comparison,
    }  # fmt: skip


def untimed(made, status, reason, agreement=None):
    """The record with all its measurements 0, as of a combination that was not timed."""
    made["apply"] = {key: None if key == "caching_bandwidth" else 0 for key in made["apply"]}
    made["solve"].update(iterations=0, iterations_per_second=0, unknowns_per_second=0)
    made["operator"].update(nonzeros=0, stored_bytes=0, moved_bytes=0, flops=0, padding_ratio=0, data_reduction=None)
    made["seconds"] = {}
    made["comparison"].update(status=status, reason=reason, agreement=agreement, iterations_per_second_minimum=0,
                              iterations_per_second_maximum=0, roof_iterations_per_second=0, break_even_iterations=None)  # fmt: skip
    return made


def sweep():
    """Twelve operators x degree x precision, csr and csr-aligned also with several threads a row; one disagrees, some failed."""
    records = []
    for degree in (1, 2, 3, 4):
        for precision in ("double", "single"):
            for name in OPERATORS:
                for coop in (1, 2, 4, 8, 16, 32) if name in ("csr", "csr-aligned") else (None,):
                    keys = {"degree": str(degree), "precision": precision} | ({"coop": str(coop)} if coop else {})
                    best = 2 ** (degree if name == "csr" else degree - 1)
                    speed = 1 - 0.13 * abs(math.log2(coop / best)) if coop else 1
                    records.append(
                        record(
                            name,
                            degree,
                            precision,
                            options={"coop": coop} if coop else {},
                            sweep=keys,
                            speed=max(0.2, speed),
                        )
                    )
    for made in records:
        name, degree = made["operator"]["name"], made["problem"]["degree"]
        if name == "hyb" and degree == 4:
            untimed(
                made,
                "failed",
                "not enough memory on the device: hyb needs 71.2 GB and 12.0 GB are free; choose sell, or a smaller mesh",
            )
        if name == "jad" and degree == 3 and made["operator"]["precision"] == "single":
            untimed(made, "disagrees", "differs from the reference product by more than rounding explains", 3.1e-3)
        if name == "cusparse-csr" and degree == 4:
            untimed(
                made,
                "not applicable",
                "operator 'cusparse-csr' has no CPU version; use device: cuda",
            )
    return records


def option():
    """One operator, whose threads a row are swept over all degrees and precisions."""
    return [
        record("csr", degree, precision, options={"coop": coop, "rule": 2012},
               sweep={"degree": str(degree), "precision": precision, "coop": str(coop)}, speed=1 - 0.1 * abs(degree - math.log2(coop)))
        for degree in (1, 2, 3, 4) for precision in ("double", "single") for coop in (1, 2, 4, 8)
    ]  # fmt: skip


def cases():
    """Three cases, two of which have one name and one of which --set changed."""
    records = []
    for case, title, changed in (
        ("a/case_10.yaml", "Ten", {}),
        ("b/case_10.yaml", "Other ten", {"compare.iterations": "3"}),
        ("a/case_2.yaml", "Two", {}),
        ("a/case_2.yaml", "Two", {"mesh.box.cell": "triangle", "degree": "3"}),
    ):
        for name in ("csr", "ellpack"):
            made = record(name, 2)
            made.update(case=case, title=title, set=changed)
            records.append(made)
    return records


def devices():
    """Both devices, one problem, against a baseline."""
    records = []
    for device in ("cpu", "cuda"):
        for name in ("csr", "ellpack", "sell", "lma-atomic", "lma-coloured", "matrix-free"):
            made = record(name, 2, device=device)
            ratio = {"sell": 1.12, "ellpack": 0.91}.get(name, 1.003)
            verdict = {"sell": "faster", "ellpack": "slower"}.get(name, "same")
            made["comparison"].update(baseline_ratio=ratio, baseline_verdict=verdict)
            made["comparison"]["predicted_product_seconds"] = made["apply"]["median_seconds"] * (0.8 if name == "sell" else 1.1)
            if name == "sell":
                made["comparison"]["recommendation"] = f"To solve often, use sell on the {device}."
                made["comparison"]["auto"] = {"why": "sell is expected to win", "best": "sell", "regret": 0.125, "of": "solution", "iterations": 300}
            records.append(made)
    return records


def variants():
    """One operator listed with several options, not swept, beside another, on meshes that are refined."""
    records = []
    for refine in (0, 1, 2):
        for name, options in (
            ("sell", {"slice": 32, "sigma": 1}),
            ("sell", {"slice": 32, "sigma": 1024}),
            ("ellpack", {}),
        ):
            records.append(record(name, 2, device="cpu", options=options, sweep={"refine": str(refine)}, cells=10_000 * 4**refine,
                                  speed=1.05 if options.get("sigma") == 1024 else 1))  # fmt: skip
    return records


def columns():
    """Several right-hand sides at once, two degrees; one operator gains nothing from them."""
    records = []
    for degree in (1, 4):
        for sides in (1, 4, 8, 32):
            for name in ("csr", "ellpack", "lma-atomic"):
                gain = 1 if name == "lma-atomic" else sides**0.4
                made = record(name, degree)
                for key in ("median_seconds", "minimum_seconds", "maximum_seconds"):
                    made["apply"][key] *= sides / gain
                for key in ("iterations_per_second", "unknowns_per_second"):
                    made["solve"][key] *= gain
                comparison = made["comparison"]
                for key in ("_minimum", "_maximum"):
                    comparison["iterations_per_second" + key] *= gain
                comparison["roof_iterations_per_second"] *= sides**0.7
                comparison["right_hand_sides"] = sides
                if sides > 1:
                    comparison.update(product_gain=gain, iteration_gain=0.9 * gain)
                records.append(made)
    return records


def preconditioners():
    """Two operators with each of four preconditioners, solved to the end; one does not get there."""
    records = []
    for preconditioner, iterations, set_up in (("jacobi", 400, 0.1), ("chebyshev", 120, 0.2), ("multigrid", 8, 0.5), ("boomeramg", 11, 3.0)):
        for name in ("csr", "sell"):
            made = record(name, sweep={"preconditioner": preconditioner})
            made["solve"].update(preconditioner=preconditioner, preconditioner_options={"degree": 2} if preconditioner == "chebyshev" else {})
            history = [[i, 10 ** (-8 * i / iterations), 0.01 * i] for i in range(0, iterations + 1, max(1, iterations // 50))]
            reason = "max_iterations" if preconditioner == "jacobi" and name == "csr" else "converged"
            made["solution"] = {"reason": reason, "iterations": iterations, "set_up_seconds": set_up, "loop_seconds": 0.01 * iterations,
                                "seconds": set_up + 0.01 * iterations, "relative_residual": 1e-8, "history": history}  # fmt: skip
            records.append(made)
    return records


def matrices():
    """Two matrices from files; CG was not timed for the first, which is not positive definite."""
    records = []
    for file, unknowns, ordering in (
        ("ldoor.mtx", 952_203, "given"),
        ("audikw_1.mtx", 943_695, "reverse-cuthill-mckee"),
    ):
        for name in ("csr", "ellpack", "sell", "jad"):
            made = record(name, 1, device="cpu")
            made.update(command="matrix", case=file, title="")
            made["problem"] = {"matrix": file, "unknowns": unknowns, "symmetric": True, "ordering": ordering}
            lengths = [[n, max(1, round(90_000 * math.exp(-(((n - 40) / 18) ** 2))))] for n in range(1, 346, 3)]
            made["matrix"]["row_lengths"] = {
                "minimum": 1,
                "maximum": 343,
                "mean": 40.2,
                "deviation": 15.6,
                "histogram": lengths,
            }
            if ordering != "given":
                made["matrix"]["bandwidth_before"] = 925_946
            if file == "ldoor.mtx":
                made["solve"].update(iterations=0, iterations_per_second=0, unknowns_per_second=0)
                made["comparison"].update(
                    iterations_per_second_minimum=0, iterations_per_second_maximum=0, roof_iterations_per_second=0
                )
            records.append(made)
    return records


HOSTILE = "</script><img src=x onerror=\"window.broken=1\"><!--<script>window.broken=1</script> & '@RECORDS@' \\u003c \u2028 \u202e"


def hostile():
    """Text from outside that would rather be markup, everywhere that text comes from outside."""
    records = []
    for name in ("csr", "ellpack", "sell"):
        made = record(name, options={HOSTILE: HOSTILE}, sweep={HOSTILE: name + HOSTILE})
        made.update(
            title=HOSTILE,
            case=HOSTILE,
            started=HOSTILE,
            femcg=HOSTILE,
            command=HOSTILE,
            machine={**H200, "processor": HOSTILE, "device": HOSTILE},
        )
        made["operator"]["name"] = name + HOSTILE
        records.append(made)
    untimed(records[2], "failed", HOSTILE)
    return records


def zeros():
    """Timed, and every measurement zero."""
    records = []
    for name in ("csr", "sell"):
        made = record(name)
        made["apply"] = {key: 0 for key in made["apply"]}
        made["solve"].update(iterations_per_second=0, unknowns_per_second=0)
        made["operator"].update(stored_bytes=0, moved_bytes=0, data_reduction=0)
        made["comparison"].update(iterations_per_second_minimum=0, iterations_per_second_maximum=0, roof_iterations_per_second=0,
                                  break_even_iterations=0, agreement=0, agreement_bound=0)  # fmt: skip
        made["machine"] = {**H200, "copy_bandwidth": 0}
        records.append(made)
    return records


def single():
    return [record("csr", 3)]


def failures():
    """Nothing was timed."""
    return [
        untimed(
            record(name, device="cpu"), "interrupted" if name == "sell" else "failed", "stopped before it was timed"
        )
        for name in ("csr", "sell")
    ]


PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def a_run(processes=1, unknowns=80_000, rate=100.0):
    """A result.json, as femcg run writes it."""
    quantities = {
        "minimum": 20.0, "maximum": 80.0, "integral": 0.25, "flux": {"bottom": 68.25, "air": -68.25},
        "groups": {"bottom": {"area": 0.5, "mean": 80.0, "minimum": 80.0, "maximum": 80.0, "flux": 68.25},
                   "air": {"area": 1.5, "mean": 40.0, "minimum": 20.0, "maximum": 79.0, "flux": -68.25}},
        "regions": {"plate": {"volume": 0.125, "mean": 60.0}}, "probes": {"tip": 21.5},
        "balance": {"in": 68.25, "out": 68.25, "sources": 0, "sinks": 0, "relative_error": 1e-12},
    }  # fmt: skip
    made = {
        "schema": 1, "femcg": "0.1.0", "command": "run", "case": "cases/heat_sink.yaml", "title": "Heat sink", "set": {"output.vtu": "false"},
        "started": "2026-11-21T05:00:00Z", "machine": {"processor": "A processor", "device": "A processor", "threads": 2},
        "solution": {"name": "warmth", "unit": "degC"},
        "problem": {"dimension": 3, "cell": "tetrahedron", "cells": 15_000, "degree": 3, "unknowns": unknowns},
        "operator": {"name": "csr", "options": {}, "precision": "double", "device": "cpu", "stored_bytes": 42_000_000},
        "seconds": {"solve": 1.5, "total": 2.0, "steps": [{"step": "meshing", "device": "cpu", "seconds": 0.498}, {"step": "iterating", "device": "cpu", "seconds": 1.5},
                                                          {"step": "starting", "device": "cpu", "seconds": 0.002}]},
        "solve": {"preconditioner": "jacobi", "iterations": 150, "reason": "converged", "true_relative_residual": 9e-9,
                  "iterations_per_second": rate, "unknowns_per_second": rate * unknowns},
        "quantities": quantities, "error": {"l2": 1.25e-5, "h1": 2.5e-3}, "remarks": ["joined 7 solids at 6 shared faces"],
    }  # fmt: skip
    if processes > 1:
        made["distribution"] = {"partition": "curve", "mode": "task", "imbalance": 1.1, "waiting_fraction": 0.2}
        made["processes"] = [{"rank": rank, "cells": 10, "unknowns": 5, "seconds": {"multiplying": 1.0, "waiting": 0.25}} for rank in range(processes)]
    return made


def run():
    made = a_run(2)
    made["history"] = [{"name": "", "points": [[k, 10 ** (-k / 20), 0.01 * k] for k in range(151)]}]
    made["picture"] = PIXEL
    made["tuning"] = {"why": "C 16 was faster", "fraction": [0.8, 0.9, 1, 1]}
    return [made]


def runs():
    """One problem on 1, 2 and 4 processes, at 100, 90 and 80%; and one that grows with them, at 100, 95 and 85%."""
    strong = [a_run(p, rate=100.0 * p * e) for p, e in ((1, 1), (2, 0.9), (4, 0.8))]
    weak = [a_run(p, unknowns=20_000 * p + 100 * (p > 1), rate=400 * e * p * 20_000 / (20_000 * p + 100 * (p > 1))) for p, e in ((1, 1), (2, 0.95), (4, 0.85))]
    return strong + weak


def study():
    """Degrees 1 and 2 on three meshes, with rates; one point failed. What flows in falls, what flows out is the same."""
    made = a_run(1)
    for of_one_run in ("problem", "operator", "seconds", "solve", "apply", "quantities"):
        made.pop(of_one_run, None)
    made |= {"seconds": {"total": 2.5}, "sweep": ["degree", "mesh.refine"], "points": []}
    for degree in (1, 2):
        for refine in range(4):
            point = {"point": len(made["points"]) + 1, "values": {"degree": str(degree), "mesh.refine": str(refine)}}
            if (degree, refine) == (2, 3):
                made["points"].append(point | {"status": "failed", "failure": "it needs 71.2 GB and 1 GB is free"})
                continue
            quantities = {"minimum": -3 - 0.1 * refine, "maximum": 0, "integral": 1, "groups": {"left": {"flux": 7 - 0.3 * refine * degree, "mean": 1}, "right": {"flux": -7, "mean": 2}}, "probes": {"tip": 1000 + 0.01 * refine}}
            made["points"].append(point | {"status": "converged", "wall_seconds": 0.1 * 4**refine, "solved_together": 1, "problem": {"unknowns": 100 * 4**refine}, "operator": {"name": "csr"}, "solve": {"iterations": 20 * 2**refine, "true_relative_residual": 9e-9}, "quantities": quantities, "error": {"l2": 0.1 * 2 ** (-refine * (degree + 1)), "h1": 2.0 ** (-refine * degree)}} | ({"rate": {"l2": degree + 1, "h1": degree}} if refine else {}))
    made["changes"] = [
        {"quantity": "u at tip", "points": [1, 2, 3, 4], "values": [1000, 1000.01, 1000.02, 1000.03], "rates": [None, None]},
        {"quantity": "flux of left", "load": "sun <b>", "points": [5, 6, 7], "values": [7, 6.4, 6.25], "rates": [2.0], "limit": 6.2},
    ]
    return [made]


def nothing():
    return []
