"""The file that states where an administration listens and who may change something: JSON, one object."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from zonelab.cluster.process.settings_file import read_settings

LOOPBACK_NAMES = ("127.0.0.1", "localhost")


class AdminSettings(BaseModel):
    """``port`` 0 takes a free one.

    ``token``: who shows it (``Authorization: Bearer …``) may change something; without a token nobody may.
    ``hosts``: further names under which the administration may be asked for, beside those of the loopback.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = "127.0.0.1"
    port: int = Field(default=0, ge=0, lt=65536)
    token: str | None = Field(default=None, min_length=16, repr=False)
    hosts: tuple[str, ...] = ()


TOKEN_VARIABLE = "ZONELAB_ADMIN_TOKEN"
"""Environment variable with a token for settings whose file has none, such as one that comes with the program."""


def read_admin_settings(path: Path, *, token: str | None = None) -> AdminSettings:
    """``token`` is for a file without one. Raises ``ClusterError`` with one line for each thing that is wrong."""

    def complete(settings: AdminSettings) -> AdminSettings:
        if settings.token is not None or token is None:
            return settings
        return AdminSettings.model_validate({**settings.model_dump(), "token": token})

    return read_settings(AdminSettings, path, what="administration settings", complete=complete)
