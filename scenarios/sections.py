"""What the sections of a scenario file are made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1)]
Millis = Annotated[int, Field(strict=True, ge=1)]
Flag = Annotated[bool, Field(strict=True)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_enum_values=False)
