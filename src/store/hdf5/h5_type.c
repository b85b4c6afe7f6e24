/* SPDX-License-Identifier: MIT */
/* The number types that this library writes, and those that it accepts. */
#include "store/hdf5/h5.h"

/* IEEE 754 binary16, as h5py and HDF5 itself lay it out: 1 + 5 + 10 bits. */
static hid_t half_type(void)
{
    hid_t type = H5Tcopy(H5T_NATIVE_FLOAT);
    if (type < 0)
        return type;
    if (H5Tset_fields(type, 15, 10, 5, 0, 10) < 0 || H5Tset_size(type, 2) < 0 ||
        H5Tset_ebias(type, 15) < 0) {
        mgk_h5_close(type);
        return H5I_INVALID_HID;
    }
    return type;
}

hid_t mgk_h5_real_type(mgk_store_real real)
{
    if (real == STORE_F16)
        return half_type();
    return H5Tcopy(real == STORE_F32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE);
}

/* Whether the type equals `usual` in either byte order. */
static bool matches(hid_t type, hid_t usual)
{
    hid_t other = H5Tcopy(usual);
    H5T_order_t order = H5Tget_order(usual) == H5T_ORDER_LE ? H5T_ORDER_BE : H5T_ORDER_LE;
    bool same =
        H5Tequal(type, usual) > 0 || (H5Tset_order(other, order) >= 0 && H5Tequal(type, other) > 0);
    mgk_h5_close(other);
    return same;
}

static bool is_usual_real(hid_t type)
{
    hid_t half = half_type();
    bool usual =
        matches(type, H5T_IEEE_F32LE) || matches(type, H5T_IEEE_F64LE) || matches(type, half);
    mgk_h5_close(half);
    return usual;
}

static bool is_usual_integer(hid_t type)
{
    const hid_t usual[] = {H5T_STD_I8LE, H5T_STD_I16LE, H5T_STD_I32LE, H5T_STD_I64LE,
                           H5T_STD_U8LE, H5T_STD_U16LE, H5T_STD_U32LE, H5T_STD_U64LE};
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (matches(type, usual[i]))
            return true;
    return false;
}

bool mgk_h5_is_usual(hid_t type)
{
    switch (H5Tget_class(type)) {
    case H5T_FLOAT:
        return is_usual_real(type);
    case H5T_INTEGER:
        return is_usual_integer(type);
    default:
        return true;
    }
}

static H5T_conv_ret_t refuse_overflow(H5T_conv_except_t exception, hid_t from, hid_t to,
                                      void *source, void *target, void *overflow)
{
    (void)from, (void)to, (void)source, (void)target;
    if (exception != H5T_CONV_EXCEPT_RANGE_HI && exception != H5T_CONV_EXCEPT_RANGE_LOW)
        return H5T_CONV_UNHANDLED;
    *(bool *)overflow = true;
    return H5T_CONV_ABORT;
}

hid_t mgk_h5_transfer(hid_t type, bool *overflow)
{
    enum { BUFFER = 1 << 14 }; /* HDF5 clears it, 1 MiB if nobody says otherwise, at every call */
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    *overflow = false;
    if (transfer >= 0 && H5Tget_class(type) == H5T_FLOAT)
        H5Pset_buffer(transfer, BUFFER, NULL, NULL);
    if (transfer < 0 || H5Tget_class(type) != H5T_INTEGER ||
        H5Pset_type_conv_cb(transfer, refuse_overflow, overflow) >= 0)
        return transfer;
    mgk_h5_close(transfer);
    return H5I_INVALID_HID;
}

mgk_status mgk_h5_overflow(const mgk_h5_file *file, const char *name, hid_t type)
{
    H5Eclear2(H5E_DEFAULT);
    return mgk_fail(STATUS_FORMAT, "%s: \"%s\" holds a number beyond %zu bits", file->path, name,
                    8 * H5Tget_size(type));
}
