#!/usr/bin/env python3
"""From scores to numbers, intervals and plots, as in a notebook: docs/notebook.py [RESULTS]

Scores of 20 speakers are drawn at random; take your own instead. With the path of a results.json
its values are shown, too.
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import privacy_eval as pe

random = np.random.default_rng(0)
names = np.array([f"s{number:02}" for number in range(20)])
own = np.repeat(names, 30)
others = np.array([(a, b) for a in names for b in names if a != b]).repeat(10, axis=0)
target = random.normal(1.5, 1.2, own.size)
nontarget = random.normal(0, 1, len(others))

# Numbers. Speakers are optional; with them every value has an interval.
result = pe.evaluate(target, nontarget, speakers=(own, others), bootstrap=200)
print(result)  # a table; in a notebook, `result` alone shows it as HTML
print(f"EER {result.values['eer']:.3f}, at most {result.intervals['eer'].high:.3f}")

# Plots, each on axes of your own.
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
pe.plot_det(result, axes[0])
pe.plot_ece(result, axes[1])
pe.plot_scores(result, axes[2])
figure.savefig("notebook.png", dpi=100)

# The results of an evaluation: rows as in results.csv, or a pandas DataFrame by to_frame().
for path in sys.argv[1:]:
    results = pe.load(path)
    print(results)
    for row in results.to_rows():
        if row["metric"] == "eer" and row["variant"] == results.protocol.variant:
            print(row["system"], row["name"], row["value"])
