#!/usr/bin/env python3
"""From scores to numbers, intervals and plots, cell by cell: docs/notebook.py [RESULTS]

Jupyter, VS Code and Spyder run the cells one by one. Scores of 20 speakers are drawn at random;
take your own instead. With the path of a results.json its values are shown, too. Writes the plots
to notebook.png in the current folder.
"""

# %% Setup
import signal
import sys

import matplotlib

if "ipykernel" not in sys.modules:  # a script: no window, and `| head` ends it quietly
    matplotlib.use("Agg")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)

import matplotlib.pyplot as plt
import numpy as np

import privacy_eval as pe

# %% Scores of target and nontarget trials, and their speakers
random = np.random.default_rng(0)
names = np.array([f"s{number:02}" for number in range(20)])
own = np.repeat(names, 30)
others = np.array([(a, b) for a in names for b in names if a != b]).repeat(10, axis=0)
target = random.normal(1.5, 1.2, own.size)
nontarget = random.normal(0, 1, len(others))
trials = pe.Trials(
    score=np.append(target, nontarget),
    label=np.repeat([1, 0], [own.size, len(others)]),
    enrolled_speaker=np.append(own, others[:, 0]),
    trial_speaker=np.append(own, others[:, 1]),
)

# %% Numbers. Speakers are optional; with them every value has an interval.
result = pe.evaluate(trials, bootstrap=200)
print(result)  # a table; in a notebook, `result` alone shows it as HTML
print(f"EER {result['eer']:.3f}, at most {result.intervals['eer'].high:.3f}")

# %% Plots, each on axes of your own; another call on the same axes adds a curve.
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
weaker = pe.evaluate(target - 0.7, nontarget)
pe.plot_det(result, axes[0], label="one attacker")
pe.plot_det(weaker, axes[0], label="a weaker one")
pe.plot_ece(result, axes[1])
pe.plot_scores(result, axes[2])
figure.savefig("notebook.png", dpi=100)

# %% The results of an evaluation: rows as in results.csv, or a pandas DataFrame by to_frame().
for path in sys.argv[1:] if "ipykernel" not in sys.modules else []:
    results = pe.load(path)
    print(results)
    for row in results.to_rows():
        if row["metric"] == "eer" and row["variant"] == results.protocol.variant:
            print(row["system"], row["name"], row["value"])
