#!/usr/bin/env bash
# To be sourced: how the parallel jobs of a stage are run, unless run.sh is told by --cmd. The runner
# is named without its folder, because the words of $cmd are told apart by blanks: path.sh has put
# our scripts on the PATH.

# On this machine, all jobs of a stage at once (limit: run_jobs.sh --max-jobs-run 4):
export cmd=run_jobs.sh

# On a cluster with Slurm, as one array job per stage. Every job says in its log how much memory it
# needs (4 GiB are enough for 10 million trials in a condition, or 18000 utterances in a trial set);
# slurm.sh --help lists other options. X-vectors, which only Kaldi's scripts extract, are then made
# with its slurm.pl and the same options.
# export cmd="slurm.sh --mem 4G"

# With the runners of a Kaldi installation at KALDI_ROOT. Their jobs read path.sh from the folder
# run.sh is called from, so call it from this one and give the tree with --tree.
# export cmd="$KALDI_ROOT/egs/wsj/s5/utils/parallel/run.pl"
# export cmd="$KALDI_ROOT/egs/wsj/s5/utils/parallel/queue.pl --mem 4G"
# export cmd="$KALDI_ROOT/egs/wsj/s5/utils/parallel/slurm.pl --mem 4G"
