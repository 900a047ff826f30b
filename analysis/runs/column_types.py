"""Columns of tables that another program has written again: as they were, where their meaning is plain.

pandas and Spark write plain strings in place of dictionaries, integers of other widths, and floats in place of integers
that may be null.
"""

import pyarrow as pa
import pyarrow.compute as pc

FLOAT_EXACT = 2**53
"""Integers up to here are exact as floats of 64 bits."""


def is_plain(found: pa.DataType, expected: pa.DataType) -> bool:
    """True if values of the type ``found`` can mean only one thing in a column of the type ``expected``."""
    found, expected = _values(found), _values(expected)
    if found == expected or pa.types.is_null(found):
        return True
    if _is_number(expected):
        return _is_number(found)
    return _is_text(expected) and _is_text(found)


def is_as_written(found: pa.DataType, expected: pa.DataType) -> bool:
    """True if a column of the type ``found`` holds the same bytes for a value as one that zonelab writes."""
    found, expected = _values(found), _values(expected)
    return bool(found == expected or (_is_text(found) and _is_text(expected)))


def converted(column: pa.Array, field: pa.Field) -> pa.Array:
    """``column`` in the type of ``field``. Raises ``ValueError`` if a value has no place there."""
    if not field.nullable and column.null_count:
        raise ValueError(f"got null; expected {field.type}")
    if column.type == field.type:
        return column
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    try:
        if pa.types.is_floating(plain.type) and pa.types.is_integer(field.type):
            _check_exact(plain)
        values = plain.cast(_values(field.type))
        return values.dictionary_encode().cast(field.type) if pa.types.is_dictionary(field.type) else values
    except pa.ArrowInvalid as error:
        raise ValueError(f"got {plain.type}: {' '.join(str(error).split())}; expected {field.type}") from None


def _check_exact(column: pa.Array) -> None:
    largest = pc.max(pc.abs(column)).as_py()
    if largest is not None and not largest <= FLOAT_EXACT:
        raise pa.ArrowInvalid(f"{largest:g} is no exact integer")


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _values(kind: pa.DataType) -> pa.DataType:
    """The type of the values, which a dictionary keeps apart."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind
