"""The charts of the report as files, for papers and slides."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import vl_convert

from headscope._util.atomic import explain_write_errors, write_bytes
from headscope.errors import HeadscopeError
from headscope.report.charts import Chart
from headscope.report.page import drawing, sections_of
from headscope.report.views import views
from headscope.runs import RunResults

FORMATS = ("png", "svg", "pdf")


@dataclass(frozen=True)
class Figures:
    """Where figures go, which, and in which formats.

    Attributes:
        names: parts of names; only figures with one of them are written. None: all.
    """

    folder: Path
    names: tuple[str, ...] = ()
    formats: tuple[str, ...] = ("png", "svg")

    def __post_init__(self) -> None:
        unknown = [one for one in self.formats if one not in FORMATS]
        if unknown:
            raise HeadscopeError(
                f"no figure can be written as {unknown[0]!r}: {', '.join(FORMATS)}"
            )
        if self.folder.suffix.lstrip(".") in FORMATS:
            raise HeadscopeError(
                f"{self.folder} would be a folder: figures are written into one; say the format "
                f"with --figure-format {self.folder.suffix.lstrip('.')}"
            )

    def path(self, title: str) -> Path | None:
        """The file of a figure, without its format; None if it is not wanted."""
        name = re.sub(r"[^\w.-]+", "-", title.replace("'", ""))
        wanted = not self.names or any(part.lower() in name.lower() for part in self.names)
        return self.folder / name if wanted else None

    def write(self, path: Path, svg: str) -> list[Path]:
        """Write a drawing in every format."""
        contents: dict[str, Callable[[], bytes]] = {
            "svg": svg.encode,
            "png": lambda: vl_convert.svg_to_png(svg, scale=2),
            "pdf": lambda: vl_convert.svg_to_pdf(svg),
        }
        written = [path.with_name(f"{path.name}.{one}") for one in self.formats]
        for file, one in zip(written, self.formats, strict=True):
            write_bytes(file, contents[one]())
        return written


def write_figures(
    results: list[RunResults],
    folder: Path,
    names: Sequence[str] = (),
    formats: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Write charts, and sentences with arcs; returns the files.

    Args:
        names: parts of names; only figures with one of them are written.
        formats: of `png`, `svg`, `pdf`.
    """
    figures = Figures(folder, tuple(names), tuple(formats))
    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for title, draw in _drawings(results):
        path = figures.path(title)
        if path is not None:
            written += figures.write(path, draw())
    if names and not written:
        raise HeadscopeError(f"no figure has {' or '.join(map(repr, names))} in its name")
    return written


def _drawings(results: list[RunResults]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every figure: its title, and what draws it as SVG."""
    for part in sections_of(results):
        for chart in part.charts:
            yield f"{part.title}-{chart.name}", partial(_chart, part.title, chart)
    for view in views(results):
        for analysis, _, charts in view.charts():
            for chart in charts:
                yield f"{view.title}-{chart.name}", partial(_chart, view.title, chart)
            for title, pictures in view.pictures(analysis.analysis):
                for picture in pictures:
                    name = f"{view.title}-{analysis.analysis}-{title}-{picture.example}"
                    yield name, partial(drawing, picture)


def _chart(title: str, chart: Chart) -> str:
    about = {"text": f"{title}: {chart.title}", "subtitle": textwrap.wrap(chart.caption, 90)}
    return chart.svg(background="white", title=about)
