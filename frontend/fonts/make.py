"""Make the two fonts of the page from those of the npm packages in frontend/node_modules.

Headscope Sans is Inter between the weights 400 and 700, Headscope Serif is Source Serif 4 at weight
600, drawn for headings. Both have only the characters that the page needs, and other names, because
"Source" is reserved by the licence (OFL.txt). The same sources give the same bytes. Run it after a
new version of a package or another choice of characters, then `make frontend`:

    cd frontend && npm ci
    python -m venv /tmp/fonts && /tmp/fonts/bin/pip install fonttools==4.68.0 brotli==1.2.1
    /tmp/fonts/bin/python fonts/make.py
"""

# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

HERE = Path(__file__).parent
PACKAGES = HERE.parent / "node_modules"
INTER = PACKAGES / "inter-ui" / "variable" / "InterVariable.woff2"
SOURCE_SERIF = (
    PACKAGES / "@fontsource-variable" / "source-serif-4" / "files"
) / "source-serif-4-latin-opsz-normal.woff2"

# Basic Latin and Latin-1, then Latin Extended-A and the Romanian letters.
LATIN = "".join(map(chr, [*range(0x20, 0x7F), *range(0xA0, 0x100)]))
EXTENDED = "".join(map(chr, range(0x100, 0x180))) + "ȘșȚț"
PUNCTUATION = "–—‘’‚“”„…‹›•−€\u2009\u202f"  # with thin spaces
SIGNS = "←→↑↓≤≥≈≠†‡▲▼␣"

COPYRIGHT, FAMILY, STYLE, UNIQUE, FULL, VERSION, POSTSCRIPT = range(7)
LICENCE, LICENCE_ADDRESS, TYPOGRAPHIC_FAMILY, TYPOGRAPHIC_STYLE = 13, 14, 16, 17


def make(
    source: Path,
    *,
    name: str,
    style: str,
    characters: str,
    features: list[str],
    axes: dict[str, float | tuple[float, float]],
) -> Path:
    """Write `characters` of `source` within `axes` as a font called `name`; where it is."""
    font = TTFont(source, recalcTimestamp=False)
    options = Options(layout_features=features, name_IDs=[COPYRIGHT, VERSION], notdef_outline=True)
    options.drop_tables += ["STAT"]  # it lists the styles that a menu of fonts would offer
    subsetter = Subsetter(options)
    subsetter.populate(text=characters)
    subsetter.subset(font)
    font = instantiateVariableFont(font, axes)
    if "fvar" in font:
        font["fvar"].instances = []
    rename(font, name, style)
    font.flavor = "woff2"
    path = HERE / f"{name.lower().replace(' ', '-')}.woff2"
    font.save(path)
    return path


def rename(font: TTFont, name: str, style: str) -> None:
    """Give `font` its own name; it keeps its copyright line and version."""
    table = font["name"]
    version = str(table.getName(VERSION, 3, 1, 0x409)).split(";")[0]
    copyright_line = str(table.getName(COPYRIGHT, 3, 1, 0x409))
    full = f"{name} {style}".removesuffix(" Regular")
    postscript = f"{name}-{style}".replace(" ", "")
    names = {
        COPYRIGHT: copyright_line,
        FAMILY: full,
        STYLE: "Regular",
        UNIQUE: f"{version};{postscript}",
        FULL: full,
        VERSION: f"{version}; subset for headscope",
        POSTSCRIPT: postscript,
        LICENCE: "This Font Software is licensed under the SIL Open Font License, Version 1.1.",
        LICENCE_ADDRESS: "https://openfontlicense.org",
        TYPOGRAPHIC_FAMILY: name,
        TYPOGRAPHIC_STYLE: style,
    }
    table.names = []
    for number, text in names.items():
        table.setName(text, number, 3, 1, 0x409)


if __name__ == "__main__":
    written = [
        make(
            INTER,
            name="Headscope Sans",
            style="Regular",
            characters=LATIN + EXTENDED + PUNCTUATION + SIGNS,
            features=["kern", "tnum"],  # not `calt`, which would show "->" in a text as an arrow
            axes={"opsz": 14, "wght": (400, 700)},
        ),
        make(
            SOURCE_SERIF,
            name="Headscope Serif",
            style="SemiBold",
            characters=LATIN + "Œœ↑↓" + PUNCTUATION,  # this package has no other signs
            features=["kern", "liga"],  # its figures are tabular
            axes={"opsz": 24, "wght": 600},
        ),
    ]
    for file in written:
        print(f"{file.name}: {file.stat().st_size} bytes")
