/* watch.c - does the loop of another thread still turn?
 * SPDX-License-Identifier: ISC */
#include "app/watch.h"

enum watch_news watch_look(struct watch *w, unsigned signs)
{
	const bool hung = watch_hangs(w);

	if (signs != w->seen) {
		*w = (struct watch){ .seen = signs };
		return hung ? WATCH_IS_BACK : WATCH_NONE;
	}
	if (hung)
		return WATCH_NONE;
	w->missed++;
	return watch_hangs(w) ? WATCH_HANGS : WATCH_NONE;
}

void watch_give_up(struct watch *w, unsigned signs)
{
	*w = (struct watch){ .seen = signs, .missed = WATCH_LOOKS };
}
