"""A network that needs no training: it pools MFCC, and has no parameters."""

from __future__ import annotations

_DIMENSION = 30
_WINDOW = 10000

_TEXT = """\
<Nnet3> 
input-node name=input dim={d}
component-node name=statistics component=statistics input=input
component-node name=pooling component=pooling input=statistics
output-node name=output input=Round(pooling, 1)

<NumComponents> 2 
<ComponentName> statistics <StatisticsExtractionComponent> <InputDim> {d} <InputPeriod> 1 \
<OutputPeriod> 1 <IncludeVarinance> T </StatisticsExtractionComponent> 
<ComponentName> pooling <StatisticsPoolingComponent> <InputDim> {statistics} <InputPeriod> 1 \
<LeftContext> 0 <RightContext> {window} <NumLogCountFeatures> 0 <OutputStddevs> T \
<VarianceFloor> 1e-10 </StatisticsPoolingComponent> 
</Nnet3> 
"""  # noqa: W291


def mfcc_statistics_network() -> str:
    """Write a raw nnet3 model, as text, whose x-vectors are means and standard deviations.

    They are of the normalized MFCC of the voiced frames of an utterance: not a speaker
    recognizer for real speech.
    """
    return _TEXT.format(d=_DIMENSION, statistics=2 * _DIMENSION + 1, window=_WINDOW)
