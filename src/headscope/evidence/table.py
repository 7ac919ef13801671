"""Tables of the run folder, declared by the dataclasses of their rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc

Int32 = Annotated[int, pa.int32()]
"""An integer that is stored in four bytes: layers, heads, ranks."""
TYPES = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    bytes: pa.binary(),
}
Row = TypeVar("Row")


@dataclass(frozen=True)
class Table(Generic[Row]):
    """A table of the run folder: `NAME.parquet`, with a column for each field of its rows.

    Declare it next to the code that fills it.

    >>> @dataclass(frozen=True)
    ... class Length:
    ...     layer: Int32
    ...     value: float | None
    >>> lengths = Table("lengths", Length)
    >>> stored = lengths.of([Length(0, 2.5), Length(1, None)])
    >>> lengths.rows(stored, layer=1)
    [Length(layer=1, value=None)]
    """

    name: str
    row: type[Row]

    @property
    def file(self) -> str:
        """The name of its file in a run folder."""
        return f"{self.name}.parquet"

    @cached_property
    def schema(self) -> pa.Schema:
        """Its Arrow schema."""
        hints = get_type_hints(self.row, include_extras=True)
        fields = dataclasses.fields(self.row)  # type: ignore[arg-type]  # a row is a dataclass
        return pa.schema([(field.name, column_type(hints[field.name])) for field in fields])

    def of(self, rows: Iterable[Row]) -> pa.Table:
        """Rows as an Arrow table."""
        names = self.schema.names
        columns = [[getattr(row, name) for name in names] for row in rows]
        by_name = zip(*columns, strict=True) if columns else [[] for _ in names]
        return pa.table(dict(zip(names, by_name, strict=True)), schema=self.schema)

    def rows(self, table: pa.Table, **values: object) -> list[Row]:
        """The rows of an Arrow table in which each of these columns has the given value."""
        for column, value in values.items():
            table = table.filter(pc.equal(table[column], value))
        columns = [table[name].to_pylist() for name in self.schema.names]
        return [self.row(*cells) for cells in zip(*columns, strict=True)]

    def empty(self) -> pa.Table:
        """An Arrow table without rows."""
        return self.schema.empty_table()


def column_type(hint: Any) -> pa.DataType:
    """The Arrow type of a field, from its annotation.

    >>> column_type(list[str]), column_type(float | None)
    (ListType(list<item: string>), DataType(double))
    """
    if get_origin(hint) is Annotated:
        return hint.__metadata__[0]
    arguments = get_args(hint)
    if get_origin(hint) in (list, tuple):
        return pa.list_(column_type(arguments[0]))
    if NoneType in arguments:
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        return column_type(inner)
    return TYPES[hint]
