# SPDX-License-Identifier: MIT
"""Stores as xarray, tables as pandas; skipped where these are missing."""

import os
import unittest

import mgk
import numpy as np
from support import MODEL, attention_like

try:
    import pandas
    import xarray
    import h5netcdf
except ImportError:
    h5netcdf = None


@unittest.skipIf(h5netcdf is None, "pandas, xarray or h5netcdf is missing")
class Frames(unittest.TestCase):
    def test_pandas(self):
        table = mgk.ranks(attention_like(2, 2, 3, 5, 5))
        frame = table.to_pandas()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(list(frame), table.columns)
        means = frame.groupby("layer")["rank"].mean()
        self.assertEqual(means[1], table.where(layer=1)["rank"].mean())

    def test_xarray(self):
        mgk.dump(
            MODEL, ["some text of 25 characters", "another"], "frames.h5", layers=[1, 4], force=True
        )
        with mgk.open("frames.h5") as store:
            self.assertIsInstance(store, xarray.Dataset)
            a = store["attention"]
            self.assertEqual(a.shape, (2, 2, 4, 26, 26))
            np.testing.assert_allclose(a[0].sum(a.dims[-1]), 1, atol=1e-5)
            values = a.values
        table = mgk.ranks("frames.h5")
        self.assertEqual(sorted(set(table["layer"])), [1, 4])
        again = mgk.ranks(values, lengths=[26, 7])
        np.testing.assert_array_equal(table["rank"], again["rank"])

    def test_a_data_array(self):
        a = attention_like(2, 3, 4, 5, 5)
        data = xarray.DataArray(a, dims=("layer", "sample", "head", "query", "key"))
        table = mgk.ranks(data)
        self.assertEqual((table["layer"].max(), table["sample"].max()), (1, 2))

    def test_without(self):
        """What is missing is said."""
        import sys
        import unittest.mock

        with unittest.mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                mgk.ranks(np.eye(2)).to_pandas()
        self.test_xarray()
        with unittest.mock.patch.dict(sys.modules, {"xarray": None}):
            with self.assertRaisesRegex(ImportError, "pip install xarray"):
                mgk.open("frames.h5")
        os.remove("frames.h5")


if __name__ == "__main__":
    unittest.main()
