#include "table/text.h"

#include <errno.h>

#include "base/file.h"
#include "base/locale.h"

/* Opens, writes and closes the temporary file. */
static mgk_status write_body(const char *path, const char *temporary,
                             mgk_status (*body)(FILE *file, const void *state), const void *state)
{
    mgk_plain_locale scope;
    FILE *file = fopen(temporary, "w");
    if (!file)
        return mgk_fail_write(path, errno);
    mgk_status status = mgk_plain_locale_begin(&scope);
    if (status == STATUS_OK) {
        status = body(file, state);
        mgk_plain_locale_end(&scope);
    }
    if (status == STATUS_OK)
        return mgk_close_written(file, path);
    fclose(file);
    return status;
}

mgk_status mgk_table_write_text(const char *path, bool force,
                                mgk_status (*body)(FILE *file, const void *state),
                                const void *state)
{
    mgk_output output;
    TRY(mgk_output_open(path, force, &output));
    mgk_status status = write_body(path, output.temporary, body, state);
    if (status != STATUS_OK) {
        mgk_output_discard(&output);
        return status;
    }
    return mgk_output_commit(&output);
}
