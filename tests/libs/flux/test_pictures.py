"""Pictures hold all that is written in them."""

import re

import numpy as np
import pytest

from libs.flux.pictures.heatmap import heatmap_svg
from libs.flux.pictures.svg import wide

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
