# SPDX-License-Identifier: MIT
"""Reports."""

import html
import os
import re
import unittest

import mgk
from support import MODEL, TEXTS, attention_like


def without_numbers(page):
    """A page without the numbers of its pictures, which go on from page to page."""
    return re.sub(r"(image|clip|mask|source|surface)-?[0-9]+", r"\1", page)


class Reports(unittest.TestCase):
    def test_tables_and_stores(self):
        mgk.dump(MODEL, TEXTS, "report-store.h5", force=True)
        table = mgk.diversity("report-store.h5", output="report-table.json", force=True)
        page = mgk.report([table, "report-store.h5"])
        self.assertIn('"report-store.h5"', page.html)
        self.assertIn("token", page.html)
        same = mgk.report(["report-table.json", "report-store.h5"])
        written = same.html.replace("report-table.json", "table-0.json")
        self.assertEqual(without_numbers(page.html), without_numbers(written))
        fewer = mgk.report(["report-table.json", "report-store.h5"], samples=1, tokens=4)
        self.assertLess(len(fewer.html), len(same.html))

    def test_saving(self):
        page = mgk.report(mgk.diversity(attention_like(4, 2, 2, 8, 8), axes="sample,layer,head"))
        page.save("report.html", force=True)
        with open("report.html", encoding="utf-8") as file:
            self.assertEqual(file.read(), page.html)
        with self.assertRaises(mgk.Error) as caught:
            page.save("report.html")
        self.assertEqual(caught.exception.status, mgk.Status.EXISTS)
        self.assertRegex(repr(page), r"<mgk.Report of \d.\d MB>")

    def test_notebooks_show_it(self):
        page = mgk.report(mgk.diversity(attention_like(4, 2, 2, 8, 8), axes="sample,layer,head"))
        frame = page._repr_html_()
        begin, end = '<iframe srcdoc="', '" style='
        self.assertTrue(frame.startswith(begin))
        self.assertEqual(html.unescape(frame[len(begin) : frame.index(end)]), page.html)

    def test_refusals(self):
        mgk.dump(MODEL, TEXTS, "report-alone.h5", force=True)
        with self.assertRaises(mgk.Error):
            mgk.report("report-alone.h5")
        with self.assertRaises(mgk.Error):
            mgk.report("missing.csv")
        page = mgk.report(mgk.diversity("report-alone.h5", measures="entropy"))
        with self.assertRaisesRegex(ValueError, r"ends in .html, not 'page.txt'"):
            page.save("page.txt")
        self.assertFalse(os.path.exists("page.txt"))
        with self.assertRaises(TypeError):
            mgk.report(attention_like(2, 2, 2, 4, 4))
        self.assertFalse(os.path.exists("missing.csv"))


if __name__ == "__main__":
    unittest.main()
