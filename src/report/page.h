/* SPDX-License-Identifier: MIT */
/* The parts of the page as they are in the folder page/, put into the library when it is built. */
#ifndef MGK_REPORT_PAGE_H
#define MGK_REPORT_PAGE_H

/*
 * The page. Places in it are comments, see report.c:
 *
 *   <!--@ style -->                    one of the parts that report.c makes
 *   <!--@ picture KIND MEASURE: … -->  a picture, and what it shows
 *   <!--@ when mixture -->             up to <!--@ end -->: only for models with several keys
 */
extern const char mgk_report_page[];
extern const char mgk_report_style[];
extern const char mgk_report_script[];

#endif
