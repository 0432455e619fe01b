#!/usr/bin/env python3
"""Ten tasks, cell by cell: docs/notebook.py [RESULTS]

Jupyter, VS Code and Spyder run the cells one by one. Scores of 40 speakers are drawn at random;
take your own instead: a data frame, a dict of lists, or files. With the path of a results.json its
values are shown, too. Writes the plots to notebook.png in the current folder.
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

# %% Trials: enrolled speaker, utterance, its speaker and sex, label, score
random = np.random.default_rng(0)
names = [f"s{number:02}" for number in range(40)]
rows = [(e, f"{s}-{n}", s, "fm"[int(s[1:]) % 2]) for e in names for s in names for n in range(5)]
frame = dict(zip(("enroll", "utt", "spk", "sex"), zip(*rows, strict=True), strict=True))
same = np.array([enrolled == speaker for enrolled, _, speaker, _ in rows])
b1, mine = (pe.Trials(frame, label=same, score=random.normal(shift * same)) for shift in (2.0, 1.5))

# %% 1. All metrics. In a notebook, `result` alone shows the table as HTML.
print(pe.evaluate(b1, bootstrap=0))

# %% 2. With intervals over speakers
result = pe.evaluate(b1, bootstrap=200)
print(f"EER {result['eer']:.3f}, at most {result.intervals['eer'].high:.3f}")
print(result)

# %% 3. By sex, which both speakers of each trial have
print(pe.evaluate(b1, by="sex", bootstrap=0)["eer"])

# %% 4. Two systems compared on the same trials
print(pe.compare({"B1": b1, "mine": mine}, bootstrap=200))

# %% 5. DET curves of both in one plot, and other plots, each on axes of your own
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
pe.plot_det({"B1": b1, "mine": mine}, axes[0])
pe.plot_ece(b1, axes[1])
pe.plot_scores(b1, axes[2])
figure.savefig("notebook.png", dpi=100)

# %% 6. The least protected speakers: by min Cllr, as EERs of five targets are mostly equal
cllr_min = pe.evaluate(b1, by="enrolled", bootstrap=0)["cllr_min"]
print(sorted(cllr_min, key=cllr_min.__getitem__)[:3])

# %% 7. Rank 1 in galleries of 10 and 40 enrolled speakers
print(pe.identify(b1, gallery=[10, 40], bootstrap=200))

# %% 8. From embeddings to an EER
speaker = np.repeat(names, 4)
voices = random.normal(size=(40, 16)).repeat(4, axis=0)
original, anonymized = (voices + random.normal(size=voices.shape) * noise for noise in (1, 3))
trials = pe.score(original, anonymized, enrolled=speaker, trial_speaker=speaker)
print(pe.evaluate(trials, bootstrap=0)["eer"])

# %% 9. From embeddings to DeID and G_VD
print(pe.voice_similarity(original, anonymized, speaker))

# %% 10. Rows of a paper's table in LaTeX
print(pe.evaluate({"B1": b1, "mine": mine}, bootstrap=0).to_latex(["eer", "cllr_min"]))

# %% The results of an evaluation: rows as in results.csv, or a pandas DataFrame by to_frame()
for path in sys.argv[1:] if "ipykernel" not in sys.modules else []:
    table = pe.load(path)
    print(table)
    for row in table.select(metric="eer", variant="challenge"):
        print(row["system"], row["name"], row["value"])
