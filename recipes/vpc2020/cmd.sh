#!/usr/bin/env bash
# To be sourced: default job runner of the stages (--cmd of run.sh). $cmd is split at blanks, so the
# runner is named without its folder: path.sh has put scripts/ on the PATH.

# On this machine, all jobs of a stage at once (limit: run_jobs.sh --max-jobs-run 4):
export cmd=run_jobs.sh

# On a Slurm cluster, as one array job per stage. 4 GiB are enough for 10 million trials per condition
# or 18000 utterances per trial set; slurm.sh --help lists other options. Kaldi's scripts extract
# x-vectors with Kaldi's slurm.pl and the same options.
# export cmd="slurm.sh --mem 4G"

# With the runners of a Kaldi installation at KALDI_ROOT. Their jobs read path.sh in the current
# folder, so call run.sh from this folder and set --tree.
# export cmd="$KALDI_ROOT/egs/wsj/s5/utils/parallel/run.pl"
# export cmd="$KALDI_ROOT/egs/wsj/s5/utils/parallel/queue.pl --mem 4G"
# export cmd="$KALDI_ROOT/egs/wsj/s5/utils/parallel/slurm.pl --mem 4G"
