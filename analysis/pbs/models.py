"""The models of the paper: fits to the stores of LinkedIn and Yammer, and one of three distant data centres.

Table 3 of Bailis et al., VLDB 2012: delays in ms, Pareto by scale and shape, exponential by rate.
"""

from collections.abc import Mapping
from dataclasses import replace

from zonelab.analysis.lags.distributions import DelayMixture, Distribution, Exponential, Longer, Pareto
from zonelab.analysis.pbs.messages import Legs, Model

WAN_MS = 75.0
"""One way between data centres."""


def same_legs(write: Distribution, others: Distribution) -> Legs:
    """Return legs whose acks, reads and answers have the distribution ``others``."""
    return Legs(write=write, ack=others, read=others, answer=others)


def _fit(pareto_share: float, pareto: Pareto, rate: float) -> DelayMixture:
    return DelayMixture(((pareto_share, pareto), (round(1 - pareto_share, 6), Exponential(1 / rate))))


def _alike(name: str, legs: Legs, about: str) -> Model:
    return Model(name=name, about=f"{about} (table 3 of the paper).", own=legs, other=legs)


_SSD = _fit(0.9122, Pareto(0.235, 10), 1.66)
_DISK = same_legs(_fit(0.38, Pareto(1.05, 1.51), 0.183), _SSD)
_YMMR_OTHERS = _fit(0.982, Pareto(1.5, 3.8), 0.0217)


def _ymmr(shape: float) -> Legs:
    return same_legs(_fit(0.939, Pareto(3, shape), 0.0028), _YMMR_OTHERS)


def _far(legs: Legs) -> Legs:
    return Legs(**{name: Longer(leg, WAN_MS) for name, leg in vars(legs).items()})


MODELS: Mapping[str, Model] = {
    model.name: model
    for model in (
        _alike("lnkd-ssd", same_legs(_SSD, _SSD), "LinkedIn's Voldemort on flash disks"),
        _alike("lnkd-disk", _DISK, "LinkedIn's Voldemort on spinning disks"),
        _alike("ymmr", _ymmr(3.5), "Yammer's Riak, writes with the shape 3.5 of the authors' program"),
        _alike("ymmr-3.35", _ymmr(3.35), "Yammer's Riak, writes with the shape 3.35"),
        replace(
            _alike("wan", _DISK, f"lnkd-disk, and {WAN_MS:g} ms more one way to replicas of other data centres"),
            other=_far(_DISK),
        ),
    )
}
"""``ymmr`` has the shape 3.5 of the authors' own program, ``ymmr-3.35`` that of the paper's table 3."""
