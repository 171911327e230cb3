"""As much of SVG as the pictures need: text with classes, which one style sheet colours for light and dark pages."""

from __future__ import annotations

from xml.sax.saxutils import escape

__all__ = ["DARK", "LIGHT", "Svg"]

LIGHT = {
    "page": "#ffffff",
    "frame": "#d0d7de",
    "ink": "#1f2328",
    "faint": "#59636e",
    "grid": "#d8dee4",
    "shade": "#fff4d6",
    "wait": "#8c959f",
    "bad": "#cf222e",
    "a": "#2f6fbd",
    "b": "#d97a14",
    "c": "#2a8f68",
    "none": "#eaeef2",
}
DARK = {
    "page": "#0d1117",
    "frame": "#3d444d",
    "ink": "#f0f6fc",
    "faint": "#9198a1",
    "grid": "#2a313c",
    "shade": "#3a2f12",
    "wait": "#9198a1",
    "bad": "#ff6b63",
    "a": "#5b9bea",
    "b": "#eb9a3f",
    "c": "#49b78c",
    "none": "#21262d",
}
_FILLED = ("page", "shade", "a", "b", "c", "none", "bad")
_DRAWN = ("grid", "wait", "bad", "faint", "ink", "a", "b", "c")


def _rules(colours: dict[str, str]) -> str:
    rules = [f".{name}{{fill:{colours[name]}}}" for name in _FILLED]
    rules += [f".{name}-line{{stroke:{colours[name]};fill:none}}" for name in _DRAWN]
    rules.append(f".card{{fill:{colours['page']};stroke:{colours['frame']}}}")
    rules.append(f"text{{fill:{colours['ink']}}}text.faint{{fill:{colours['faint']}}}text.bad{{fill:{colours['bad']}}}")
    rules.append(f"text.on{{fill:{colours['page']}}}")
    return "".join(rules)


STYLE = (
    "text{font-family:-apple-system,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif;font-size:13px}"
    "text.head{font-size:15px;font-weight:600}text.small{font-size:11px}text.right{text-anchor:end}"
    "text.middle{text-anchor:middle}text.strong{font-weight:600}"
    ".thin{stroke-width:1}.thick{stroke-width:2}.dashed{stroke-dasharray:4 3}.dotted{stroke-dasharray:1.5 3}"
)


class Svg:
    """A picture on a card of its own, so that it can be read on any page."""

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self.width = width
        self.height = height
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
            f'viewBox="0 0 {width} {height}" role="img" aria-labelledby="title description">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="description">{escape(description)}</desc>',
            f"<style>{STYLE}{_rules(LIGHT)}@media (prefers-color-scheme:dark){{{_rules(DARK)}}}</style>",
            f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        ]

    def box(self, x: float, y: float, width: float, height: float, look: str, tip: str = "", radius: float = 0) -> None:
        """A rectangle; ``tip`` is shown where the pointer rests on it."""
        round_ = f' rx="{radius:g}"' if radius else ""
        where = f'x="{x:.5g}" y="{y:.5g}" width="{width:.5g}" height="{height:.5g}"'
        inside = f"><title>{escape(tip)}</title></rect>" if tip else "/>"
        self._parts.append(f'<rect class="{look}" {where}{round_}{inside}')

    def line(self, x1: float, y1: float, x2: float, y2: float, look: str) -> None:
        self._parts.append(f'<line class="{look}" x1="{x1:.5g}" y1="{y1:.5g}" x2="{x2:.5g}" y2="{y2:.5g}"/>')

    def path(self, points: list[tuple[float, float]], look: str) -> None:
        """A closed shape."""
        drawn = "L".join(f"{x:.5g} {y:.5g}" for x, y in points)
        self._parts.append(f'<path class="{look}" d="M{drawn}Z"/>')

    def text(self, x: float, y: float, words: str, look: str = "") -> None:
        named = f' class="{look}"' if look else ""
        self._parts.append(f'<text{named} x="{x:.5g}" y="{y:.5g}">{escape(words)}</text>')

    def write(self) -> str:
        return "\n".join([*self._parts, "</svg>", ""])
