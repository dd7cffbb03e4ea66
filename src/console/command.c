/* command.c - the list of all commands: grammar, rights and help from one row.
 * SPDX-License-Identifier: ISC */
#include "console/command.h"

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "conf/words.h"
#include "console/admin.h"
#include "console/admin_parse.h"
#include "console/console.h"
#include "console/handover.h"
#include "console/table.h"
#include "session/client.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TOPIC_COLUMNS 72	/* of a line of topics in SHOW HELP */

static struct command_group command_group_show(void)
{
	static const struct command commands[] = {
		{ .name = "SHOW", .shows = true, .arg = ARG_OPTIONAL,
		    .help = "SHOW [JSON] <topic> [EXTENDED] [(<column>, ...)]"
		    " [WHERE <column> = <value> [AND ...]]\n"
		    "\t\t[ORDER BY <column> [DESC]] [LIMIT <n>]" },
		{ .name = "SELECT", .shows = true, .arg = ARG_OPTIONAL,
		    .help = "SELECT *|<column>, ... FROM <topic>"
		    " [WHERE ...] [ORDER BY ...] [LIMIT ...]" },
	};

	return (struct command_group){ commands, COUNT(commands) };
}

/* In the order of SHOW HELP. */
static struct command_group (*const groups[])(void) = {
	command_group_show,
	command_group_process,
	command_group_databases,
	command_group_sessions,
};

static const struct command *command_at(size_t i)
{
	for (size_t g = 0; g < COUNT(groups); g++) {
		const struct command_group group = groups[g]();

		if (i < group.count)
			return &group.commands[i];
		i -= group.count;
	}
	return NULL;
}

/* What is wrong with it is seen before rights are looked at. */
static bool fits_grammar(const struct command *row,
    const struct admin_command *cmd)
{
	if (cmd->is_host)
		return row->host;
	if (cmd->is_user || row->arg == ARG_USER)
		return cmd->is_user && row->arg == ARG_USER;
	if (cmd->is_set != (row->arg == ARG_SETTING))
		return false;
	if (!cmd->has_arg)
		return row->arg != ARG_TEXT;
	return row->arg != ARG_NONE && (row->arg != ARG_WORD ||
	    words_find(row->words, cmd->arg) >= 0);
}

const struct command *command_find(const struct admin_command *cmd)
{
	const struct command *row;

	for (size_t i = 0; (row = command_at(i)) != NULL; i++) {
		if (text_casecmp(row->name, cmd->verb) == 0)
			return fits_grammar(row, cmd) ? row : NULL;
	}
	return NULL;
}

void command_near(struct nearest *n)
{
	const struct command *row;

	for (size_t i = 0; (row = command_at(i)) != NULL; i++)
		nearest_offer(n, row->name);
}

/* (spec/logging.md section 8) */
static void log_command(const struct command *row,
    const struct admin_command *cmd)
{
	const char *word = "";

	if (cmd->is_host || cmd->is_user) {
		log_info("%s %s '%s' command issued", row->name,
		    cmd->is_host ? "HOST" : "USER", cmd->value);
		return;
	}
	if (row->arg != ARG_WORD && cmd->has_arg) {
		log_info("%s '%s' command issued", row->name, cmd->arg);
		return;
	}
	if (cmd->has_arg)
		word = row->words[words_find(row->words, cmd->arg)];
	log_info("%s%s%s command issued", row->name, word[0] != '\0' ? " " : "",
	    word);
}

/* The other workers stand still: what is theirs is ours. */
static enum command_result run_in_a_hold(const struct command *row,
    struct console *k, const struct admin_command *cmd, struct err *e)
{
	/* k may end */
	struct admin *const a = k->admin;

	if (a->ops->hold(a->app, e) < 0)
		return COMMAND_FAILED;
	const enum command_result result = row->run(k, cmd, e);

	a->ops->let_go(a->app);
	return result;
}

void command_log_access(struct client *c)
{
	if (c->only_looks && sessions_settings(c->ss)->log_connections)
		log_at(LEVEL_INFO, &c->who,
		    "pgbouncer access from unix socket");
	c->only_looks = false;
}

enum command_result command_run(const struct command *row, struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	const struct admin *const a = k->admin;

	command_log_access(k->client);
	if (row->admin && !k->client->admin)
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "admin access needed"));
	if (row->arg == ARG_DATABASE && !cmd->has_arg)
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "a database is required"));
	if (!row->always && handover_permit(k, e) < 0)
		return COMMAND_FAILED;
	if (row->logged)
		log_command(row, cmd);
	return a->next == NULL ? row->run(k, cmd, e) :
	    run_in_a_hold(row, k, cmd, e);
}

/* (section 5.2) */
void command_help(struct text *out)
{
	const struct command *row;
	const struct view *v;
	size_t line = out->len;

	text_add(out, "\n\tSHOW HELP");
	for (size_t i = 0; (v = view_at(i)) != NULL; i++) {
		if (out->len - line > TOPIC_COLUMNS) {
			line = out->len;
			text_add(out, "\n\tSHOW ");
		} else {
			text_add(out, "|");
		}
		text_add(out, v->topic);
	}
	for (size_t i = 0; (row = command_at(i)) != NULL; i++) {
		if (row->help != NULL)
			text_addf(out, "\n\t%s", row->help);
	}
}
