/* input_watch.c - which file a thread waits for, seen by another.
 * SPDX-License-Identifier: ISC */
#include "base/input_watch.h"

#include <string.h>

#include "base/text.h"

static _Thread_local struct input_watch *mine;

void input_watch_init(struct input_watch *w, const char *barred)
{
	pthread_mutex_init(&w->lock, NULL);
	w->steps = 0;
	w->path[0] = w->barred[0] = '\0';
	if (barred != NULL)
		text_copy(w->barred, sizeof w->barred, barred);
}

void input_watch_fini(struct input_watch *w)
{
	pthread_mutex_destroy(&w->lock);
}

void input_watch_set(struct input_watch *w)
{
	mine = w;
}

static bool is_barred(const char *path)
{
	return path[0] != '\0' && strcmp(path, mine->barred) == 0;
}

int input_watch_begin(const char *path)
{
	if (mine == NULL)
		return 0;
	pthread_mutex_lock(&mine->lock);
	mine->steps += 1 + mine->steps % 2;
	text_copy(mine->path, sizeof mine->path, path);
	pthread_mutex_unlock(&mine->lock);
	if (!is_barred(path))
		return 0;
	input_watch_end();
	return -1;
}

void input_watch_end(void)
{
	if (mine == NULL)
		return;
	pthread_mutex_lock(&mine->lock);
	mine->steps += mine->steps % 2;
	pthread_mutex_unlock(&mine->lock);
}

bool input_watch_look(struct input_watch *w, char *path,
    unsigned long *steps)
{
	pthread_mutex_lock(&w->lock);
	const bool waits = w->steps % 2 == 1;

	*steps = w->steps;
	if (waits)
		memcpy(path, w->path, sizeof w->path);
	pthread_mutex_unlock(&w->lock);
	return waits;
}
