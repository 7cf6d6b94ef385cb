import numpy as np

from libs.flux.models.peak_window import peak_windows, running_sums


def test_the_hour_of_highest_use_of_each_day():
    minute = np.arange(0, 2 * 1440, 10)
    use = np.zeros(len(minute))
    use[(minute >= 600) & (minute < 660)] = 2.0
    use[(minute >= 1440 + 300) & (minute < 1440 + 360)] = 3.0
    use[minute == 2000] = 17.0  # a spike is no peak: 17 / 6 of an hour's samples
    windows = peak_windows(use[None], minute)
    assert minute[windows.first[0]].tolist() == [600, 1740]
    assert windows.means(running_sums(use[None]), np.array([0])).tolist() == [[2.0, 3.0]]


def test_an_hour_that_an_event_cut_short_is_no_window():
    minute = np.array([m for m in range(0, 1440, 10) if not 600 <= m < 650])
    use = np.where(minute == 650, 100.0, 1.0)
    first = minute[peak_windows(use[None], minute).first[0, 0]]
    assert first >= 650  # 600 to 660 has only one sample


def test_a_day_of_which_little_was_measured_does_not_count():
    minute = np.arange(0, 1440 + 300, 10)
    assert peak_windows(np.ones((1, len(minute))), minute).first.shape == (1, 1)


def test_nothing_reported_is_not_zero():
    total, count = running_sums(np.array([[1.0, np.nan, 3.0]]))
    assert (total[0, -1], count[0, -1]) == (4.0, 2.0)
