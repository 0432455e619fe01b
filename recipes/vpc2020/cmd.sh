#!/usr/bin/env bash
# To be sourced: how the parallel jobs of a stage are run. The runner is named without its folder,
# because the words of $cmd are told apart by blanks: path.sh has put our scripts on the PATH.

# On this machine, all jobs of a stage at once (limit: run_jobs.sh --max-jobs-run 4):
export cmd=run_jobs.sh

# On a cluster, with the runners of a Kaldi installation at KALDI_ROOT. Their jobs read path.sh
# from the folder run.sh is called from, so call it from this one and give the tree with --tree.
# export cmd="$KALDI_ROOT/egs/wsj/s5/utils/parallel/run.pl"
# export cmd="$KALDI_ROOT/egs/wsj/s5/utils/parallel/queue.pl --mem 4G"
# export cmd="$KALDI_ROOT/egs/wsj/s5/utils/parallel/slurm.pl --mem 4G"
