"""The HTTP API of Youzan's queue, the JSON of gmq's web monitor, and metrics."""
