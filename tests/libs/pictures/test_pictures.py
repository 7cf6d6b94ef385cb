"""Pictures contain all their text."""

import re

import numpy as np
import pytest

from libs.pictures.bars import bars_svg
from libs.pictures.heatmap import heatmap_svg
from libs.pictures.svg import wide

SUBTITLE = "capacity that the model does not explain, as a share of the service; the largest 20 services"


@pytest.mark.parametrize("regions", [1, 3, 12])
def test_a_heat_map_is_as_wide_as_its_words(regions):
    columns = [f"region-{r}" for r in range(regions)]
    picture = heatmap_svg("Residuals", SUBTITLE, ["a", "b"], columns, np.zeros((2, regions)))
    width = float(re.search(r'width="(\d+)"', picture).group(1))
    starts = [float(x) for x in re.findall(r'<text x="([\d.]+)"', picture)]
    assert SUBTITLE in picture
    assert width >= 16 + wide([SUBTITLE])
    assert width >= max(starts)


def test_a_heat_map_has_a_legend_and_no_blank_cell():
    picture = heatmap_svg("Residuals", SUBTITLE, ["a"], ["east", "west"], np.array([[0.2, 0.0]]))
    assert "+20.0%: above it" in picture
    assert "-20.0%: below the model" in picture
    assert picture.count(">0</text>") == 2  # of the legend and of the cell


def test_a_stacked_bar_names_its_parts_and_what_is_not_known_is_no_zero():
    stacked = bars_svg("Pools", ["east"], ["now", "use", "spare"], np.array([[3.0, 2.0, 5.0]]), stacked=[[0], [1, 2]])
    assert ">2.0 + 5.0 spare</text>" in stacked
    assert ">7.0<" not in stacked
    unknown = bars_svg("Models", ["a"], ["error", "sampling"], np.array([[0.1, np.nan]]), percent=True)
    assert ">not known</text>" in unknown
    assert "nan" not in unknown
    assert ">0.0%" not in unknown
