"""The image of container zones, for those who build it without starting zones."""

from cluster.real.zones.image import BuiltImage, build_image

__all__ = ["BuiltImage", "build_image"]
