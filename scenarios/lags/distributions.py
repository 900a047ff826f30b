"""The lags that scenarios name, as distributions that draw many delays at once."""

from collections.abc import Callable, Mapping

from zonelab.analysis.lags import distributions as many
from zonelab.cluster.links.lag import Constant, Drawn, Lag, Mixture, Named, Trace

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
        case Constant():
            return many.Constant(lag.delay_ms)
        case Drawn():
            return _FORMS[lag.form](*lag.numbers)
        case Mixture():
            return many.Mixture(tuple((weight, distribution_of(part)) for weight, part in lag.parts))
        case Trace():
            return many.Recorded(lag.path, lag.delays_ms)
        case Named():
            return distribution_of(lag.lag)
    raise TypeError(f"{type(lag).__name__}: no distribution is known for it")
