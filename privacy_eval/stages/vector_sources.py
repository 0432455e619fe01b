"""X-vectors and back ends as inputs of products: scores, similarity, identification."""

from __future__ import annotations

from collections.abc import Mapping

from ..io.inputs import Inputs
from ..products.freshness import Sources, source_from_fingerprint
from .access import AsvSystems

#: The fingerprint of a set's x-vectors, and the role of the network in it.
VECTORS_NOTE, EXTRACTOR_ROLE = ".xvectors.json", "extractor"


def asv_sources(
    asv: AsvSystems,
    model: tuple[str, str],
    sets: Mapping[str, tuple[str, str]],
    inputs: Inputs,
    own: Sources,
    *,
    plda: bool = True,
) -> Sources:
    """Return the inputs of a product: PLDA back end if needed, `own` sources, x-vectors of sets
    by role, and their network if it is known and the same for all."""
    backend = asv.backend_files(*model) if plda else {}
    scps = {role: asv.find_vectors(*model, *name) for role, name in sets.items()}
    vectors = {f"{r}_vectors": asv.vectors_source(p) for r, p in scps.items()}
    networks = {
        source_from_fingerprint(scp, EXTRACTOR_ROLE, asv.access.tree, inputs, VECTORS_NOTE)
        for scp in scps.values()
    }
    network = networks.pop() if len(networks) == 1 else None
    return {**backend, **own, **vectors, **({EXTRACTOR_ROLE: network} if network else {})}
