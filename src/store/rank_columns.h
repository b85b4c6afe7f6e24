/* The columns of a rank file and the grid of its spectra, for its writer and its reader. */
#ifndef MGK_STORE_RANK_COLUMNS_H
#define MGK_STORE_RANK_COLUMNS_H

#include "store/hdf5/h5.h"
#include "store/rank_file.h"

#define MGK_RANK_FORMAT "mgk-ranks"
#define MGK_RANK_VERSION 1

typedef struct mgk_rank_column {
    const char *name;
    bool real;     /* f64 rather than int32 */
    size_t offset; /* of the pointer in mgk_rank_file */
    bool optional;
    const char *codes; /* what the integers 0, 1, ... stand for; NULL: themselves */
} mgk_rank_column;

enum { RANK_COLUMNS = 20 };
extern const mgk_rank_column mgk_rank_columns[RANK_COLUMNS];

/* The pointer of a column. */
void **mgk_rank_column_of(mgk_rank_file *ranks, const mgk_rank_column *column);

/* Element type of a column in files and memory. */
hid_t mgk_rank_column_type(const mgk_rank_column *column);

enum { SPECTRUM_INDEX = 3, SPECTRUM_RANK = 4 };

/* Labels and scales of the axes of /singular_values. */
extern const char *const mgk_spectrum_labels[SPECTRUM_RANK];
extern const char *const mgk_spectrum_scales[SPECTRUM_RANK];

/* The numbers that occur along each of the first three axes. */
typedef struct mgk_spectrum_grid {
    size_t count[SPECTRUM_RANK];
    int32_t *values[SPECTRUM_INDEX]; /* [count], ascending */
} mgk_spectrum_grid;

/* Collects the grid from the columns. */
mgk_status mgk_spectrum_grid_open(const mgk_rank_file *ranks, mgk_spectrum_grid *out);

/* Releases it; a zeroed grid is accepted. */
void mgk_spectrum_grid_close(mgk_spectrum_grid *grid);

/* Where the spectrum of the matrix in a row starts. */
void mgk_spectrum_place(const mgk_spectrum_grid *grid, const mgk_rank_file *ranks, size_t row,
                        hsize_t start[SPECTRUM_RANK]);

#endif
