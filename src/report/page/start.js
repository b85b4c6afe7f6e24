/* SPDX-License-Identifier: MIT */
/* Shows everything. */

showOverview();
showFindings();
showDifferences();
chooseModel(0);
whenever(["model", "sample"], showBar);
whenever(["model"], showClosest);
whenever(["model", "measure"], showMap);
whenever(["model", "layer", "head"], markHead);
whenever(["model", "layer", "head", "sample"], showHead);
whenever(["model", "sample", "query", "chosen"], showTokens);
whenever(["model"], showNumbers);
