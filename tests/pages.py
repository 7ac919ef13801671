"""Reading what a page has for its script."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any


def page_views(page: str) -> list[dict[str, Any]]:
    """The views of a page, unpacked."""
    (packed,) = re.findall(r'id="views">(.*?)</script>', page, re.DOTALL)
    views: list[dict[str, Any]] = json.loads(zlib.decompress(base64.b64decode(packed)))
    return views


def sentences(view: dict[str, Any], head: str) -> list[str]:
    """What a page says of a head."""
    roles: list[str] = [role["sentence"] for role in view["roles"] if role["head"] == head]
    return [*roles, *view["lines"].get(head, [])]
