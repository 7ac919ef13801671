"""Tables of the run folder: each is declared by the dataclass of its rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from headscope.errors import HeadscopeError

if TYPE_CHECKING:
    import pyarrow as pa

Int32 = Annotated[int, "int32"]
"""A whole number that is stored in four bytes: layers, heads, ranks."""
TYPES = {str: "string", int: "int64", float: "float64", bool: "bool", bytes: "binary"}
"""Arrow's names of the types of columns; Arrow is imported when a table is filled or read."""
Row = TypeVar("Row")


@dataclass(frozen=True)
class Table(Generic[Row]):
    """A table of the run folder: `NAME.parquet`, one column for each field of its row.

    Declare it next to the code that fills it.

    >>> @dataclass(frozen=True)
    ... class Length:
    ...     layer: Int32
    ...     value: float | None
    >>> lengths = Table("lengths", Length)
    >>> stored = lengths.of([Length(0, 2.5), Length(1, None)])
    >>> lengths.rows(stored, layer=1)
    [Length(layer=1, value=None)]
    >>> lengths.rows(stored, value=None)
    [Length(layer=1, value=None)]
    """

    name: str
    row: type[Row]

    @property
    def file(self) -> str:
        """Its file in a run folder."""
        return f"{self.name}.parquet"

    @cached_property
    def schema(self) -> pa.Schema:
        """Its columns."""
        import pyarrow as pa

        hints = get_type_hints(self.row, include_extras=True)
        return pa.schema([(name, column_type(hints[name])) for name in self._defaults])

    def of(self, rows: Iterable[Row]) -> pa.Table:
        """Rows as Arrow stores them."""
        import pyarrow as pa

        names = self.schema.names
        columns = [[getattr(row, name) for name in names] for row in rows]
        by_name = zip(*columns, strict=True) if columns else [[] for _ in names]
        try:
            return pa.table(dict(zip(names, by_name, strict=True)), schema=self.schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise HeadscopeError(f"a row does not fit the table {self.name!r}: {error}") from error

    def rows(self, table: pa.Table, **wanted: object) -> list[Row]:
        """The rows in which every column named has the value wanted; None: no value."""
        import pyarrow.compute as pc

        for column, value in wanted.items():
            if column in table.schema.names:
                cells = table[column]
                table = table.filter(pc.is_null(cells) if value is None else pc.equal(cells, value))
            elif value != self._defaults[column]:
                return []
        names = [name for name in self.schema.names if name in table.schema.names]
        columns = [table[name].to_pylist() for name in names]
        rows = zip(*columns, strict=True)
        return [self.row(**dict(zip(names, values, strict=True))) for values in rows]

    @cached_property
    def _defaults(self) -> dict[str, object]:
        """By column, what stands for it where a table of an earlier version has not got it."""
        fields = dataclasses.fields(self.row)  # type: ignore[arg-type]  # a row is a dataclass
        return {field.name: field.default for field in fields}

    def empty(self) -> pa.Table:
        """The table without rows."""
        return self.schema.empty_table()


def column_type(hint: Any) -> pa.DataType:
    """The Arrow type of a field's annotation.

    >>> column_type(list[str]), column_type(float | None)
    (ListType(list<item: string>), DataType(double))
    """
    import pyarrow as pa

    if get_origin(hint) is Annotated:
        return pa.type_for_alias(hint.__metadata__[0])
    arguments = get_args(hint)
    if get_origin(hint) in (list, tuple):
        return pa.list_(column_type(arguments[0]))
    if NoneType in arguments:
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        return column_type(inner)
    return pa.type_for_alias(TYPES[hint])
