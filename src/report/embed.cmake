# SPDX-License-Identifier: MIT
# Writes files as arrays of C. Usage: cmake -DOUTPUT=FILE.c -DPAGE=FILE -DSTYLE=FILES -DSCRIPT=FILES
# -P embed.cmake; each of the three is a list of files separated by commas, which become one text.
set(text "/* Made of the files in page/ by embed.cmake. */\n#include \"report/page.h\"\n")
foreach(part page style script)
    string(TOUPPER ${part} files)
    string(REPLACE "," ";" files "${${files}}")
    set(bytes "")
    foreach(name IN LISTS files)
        file(READ ${name} hex HEX)
        string(REGEX REPLACE "(..)" "'\\\\x\\1'," hex "${hex}")
        string(APPEND bytes "${hex}\n")
    endforeach()
    string(APPEND text "\nconst char mgk_report_${part}[] = {\n${bytes}0};\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
