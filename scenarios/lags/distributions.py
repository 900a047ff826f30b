"""The lags that scenarios name, as distributions that draw many delays at once."""

from collections.abc import Callable, Mapping

from zonelab.analysis.lags import distributions as many
from zonelab.cluster.links.lag import ConstantLag, DrawnLag, Lag, MixtureLag, NamedLag, TraceLag

_FORMS: Mapping[str, Callable[..., many.Distribution]] = {
    "uniform": many.Uniform,
    "normal": many.Normal,
    "exponential": many.Exponential,
    "lognormal": many.LogNormal,
    "pareto": many.Pareto,
}


def distribution_of(lag: Lag) -> many.Distribution:
    """The distribution of the delays of ``lag``. Raises ``TypeError`` for a kind of lag that is not the lab's."""
    match lag:
        case ConstantLag():
            return many.ConstantDelay(lag.delay_ms)
        case DrawnLag():
            return _FORMS[lag.form](*lag.numbers)
        case MixtureLag():
            return many.DelayMixture(tuple((weight, distribution_of(part)) for weight, part in lag.parts))
        case TraceLag():
            return many.RecordedDelays(lag.path, lag.delays_ms)
        case NamedLag():
            return distribution_of(lag.lag)
    raise TypeError(f"{type(lag).__name__}: no distribution is known for it")
