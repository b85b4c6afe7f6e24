/* SPDX-License-Identifier: MIT */
/* HDF5 with the calls of 1.10, which newer releases keep under this name. */
#ifndef MGK_STORE_H5_LIBRARY_H
#define MGK_STORE_H5_LIBRARY_H

#define H5_USE_110_API
#include <hdf5.h>

#endif
