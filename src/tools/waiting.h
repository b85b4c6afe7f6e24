/* SPDX-License-Identifier: MIT */
/* How the threads of a program wait for each other. */
#ifndef MGK_TOOLS_WAITING_H
#define MGK_TOOLS_WAITING_H

/*
 * Lets threads that wait go to sleep soon, unless the user has chosen by OMP_WAIT_POLICY or
 * GOMP_SPINCOUNT. By default a waiting thread of GNU OpenMP runs in a circle 300,000 times, which
 * takes milliseconds. Beside another job it takes the core from the very thread that it waits for,
 * and a program of many short steps becomes many times slower. A thousand times, some tens of
 * microseconds, is what OpenMP itself takes once it has more threads than cores; on an idle machine
 * nothing waits longer (docs/performance.md). OpenMP reads the number when the program is loaded,
 * so the program, `name`, replaces itself by itself. Call it before anything else has effects. If
 * the program cannot be started again, this returns, and only the environment has changed.
 */
void mgk_wait_briefly(const char *name, char **argv);

#endif
