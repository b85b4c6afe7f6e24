/* Reads a whole file, for mgk-h5-probe. */
#ifndef MGK_STORE_H5_SURVEY_H
#define MGK_STORE_H5_SURVEY_H

/*
 * Opens the file and reads every object, attribute, type, shape, label, list of filters and index
 * of chunks, the strings or some of very many, and of numbers the first and the last. What
 * is wrong with them is of no interest here: readers say it.
 */
void mgk_h5_survey(const char *path);

#endif
