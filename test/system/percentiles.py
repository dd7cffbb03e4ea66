# percentiles.py - SHOW LATENCIES against values that are known otherwise.
# SPDX-License-Identifier: ISC
PER_MILLE = {"p50_us": 500, "p90_us": 900, "p95_us": 950, "p99_us": 990,
             "p999_us": 999, "max_us": 1000}


def percentile(values, per_mille):
    """The nearest rank."""
    return sorted(values)[-(-len(values) * per_mille // 1000) - 1]


def assert_exact(row, low, high=None):
    """The percentiles since the start are those of low, within 5 %. Where
    each value lies between one of low and one of high, so does each
    percentile."""
    assert int(row["total_count"]) == len(low)
    for name, n in PER_MILLE.items():
        least, most = percentile(low, n), percentile(high or low, n)
        assert 0.95 * least <= int(row["total_" + name]) <= 1.05 * most, (
            name, row, least, most)
