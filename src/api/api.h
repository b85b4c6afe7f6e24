/* What the functions of mgk.h share. */
#ifndef MGK_API_H
#define MGK_API_H

#include "base/status.h"
#include "mgk.h"

/* The public result of an internal status; the message stays this thread's. */
mgk_result mgk_api_result(mgk_status status);

#endif
