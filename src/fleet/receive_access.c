/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/receive_access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

enum { TOKENS_BYTES_MAX = 4 << 20, CREDENTIALS_MAX = 600 };
static const char blanks[] = " \t\r";
static const char default_tenant[] = "default";

bool gg_receive_is_tenant(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t length = strspn(name, allowed);

	/* The store's own tables. */
	if (strcmp(name, "system") == 0)
		return false;
	return length > 0 && length < GG_SEGMENT_TENANT_MAX && name[length] == '\0';
}

static int parse_line(struct gg_receive_access *access, char *line, const char *place,
                      struct gg_error *error)
{
	char *rest = NULL, *token = strtok_r(line, blanks, &rest), *tenant, *more;
	struct gg_receive_token entry = { 0 };
	size_t length;

	if (token == NULL || token[0] == '#')
		return 0;
	tenant = strtok_r(NULL, blanks, &rest);
	more = tenant != NULL ? strtok_r(NULL, blanks, &rest) : NULL;
	if (tenant == NULL || (more != NULL && more[0] != '#'))
		return gg_error_set(error, -EINVAL, place, "Write TOKEN TENANT, or TOKEN *.",
		                    "this is no token with its tenant");
	length = strlen(token);
	if (length < GG_RECEIVE_TOKEN_LEAST || length > GG_RECEIVE_TOKEN_MAX)
		return gg_error_set(error, -EINVAL, place, "Draw one by 'openssl rand -hex 32'.",
		                    "a token has %d to %d characters", GG_RECEIVE_TOKEN_LEAST,
		                    GG_RECEIVE_TOKEN_MAX);
	if (strcmp(tenant, "*") != 0 && !gg_receive_is_tenant(tenant))
		return gg_error_set(error, -EINVAL, place, NULL,
		                    "'%.80s' cannot be a tenant: letters, digits and _ can",
		                    tenant);
	memcpy(entry.token, token, length);
	if (strcmp(tenant, "*") != 0)
		snprintf(entry.tenant, sizeof(entry.tenant), "%s", tenant);
	return gg_array_push(&access->tokens, entry) ? 0 : gg_error_memory(error, "fleet");
}

int gg_receive_access_parse(struct gg_receive_access *ret_access, char *text, const char *name,
                            struct gg_error *error)
{
	struct gg_receive_access access = { 0 };
	char *rest = text, *line, place[300];
	int status = 0;

	for (int number = 1; status == 0 && (line = strsep(&rest, "\n")) != NULL; number++) {
		snprintf(place, sizeof(place), "%.200s, line %d", name, number);
		status = parse_line(&access, line, place, error);
	}
	if (status == 0 && access.tokens.count == 0)
		status = gg_error_set(error, -EINVAL, name, NULL, "there is no token in it");
	if (status < 0)
		gg_receive_access_done(&access);
	else
		*ret_access = access;
	return status;
}

int gg_receive_access_read(struct gg_receive_access *ret_access, const char *path,
                           struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat file;
	ssize_t count = 1;

	if (fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && (file.st_mode & S_IROTH) != 0) {
		close(fd);
		return gg_error_set(error, -EPERM, path, "chmod 600 protects it.",
		                    "everybody on this machine can read the tokens");
	}
	while (count > 0 && text.length < TOKENS_BYTES_MAX) {
		char bytes[4096];

		count = read(fd, bytes, sizeof(bytes));
		if (count > 0)
			gg_buf_append(&text, bytes, (size_t)count);
	}
	close(fd);
	if (count < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	gg_buf_append(&text, "", 1);
	if (text.failed)
		return gg_error_memory(error, "fleet");
	return gg_receive_access_parse(ret_access, text.data, path, error);
}

void gg_receive_access_done(struct gg_receive_access *access)
{
	gg_array_done(&access->tokens);
}

/* Decodes base64.  Returns false if the text is not base64, or too long. */
static bool decode_base64(const char *text, char *out, size_t out_size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned bits = 0, value = 0;
	size_t length = 0;

	for (; *text != '\0' && *text != '='; text++) {
		const char *digit = strchr(digits, *text);

		if (digit == NULL)
			return false;
		value = (value << 6 | (unsigned)(digit - digits)) & 0xffffff;
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		if (length + 1 >= out_size)
			return false;
		out[length++] = (char)(value >> bits & 0xff);
	}
	out[length] = '\0';
	return strlen(out) == length;
}

/* Finds the token; the time depends on the number of tokens alone. */
static const struct gg_receive_token *find_token(const struct gg_receive_access *access,
                                                 const char *given)
{
	const struct gg_receive_token *found = NULL;
	char padded[GG_RECEIVE_TOKEN_MAX + 1] = { 0 };
	size_t length = strlen(given);

	if (length > GG_RECEIVE_TOKEN_MAX)
		return NULL;
	memcpy(padded, given, length);
	for (size_t i = 0; i < access->tokens.count; i++) {
		const struct gg_receive_token *token = &access->tokens.items[i];
		unsigned difference = 0;

		for (size_t k = 0; k < sizeof(padded); k++)
			difference |= (unsigned char)(padded[k] ^ token->token[k]);
		if (difference == 0)
			found = token;
	}
	return found;
}

int gg_receive_access_tenant(const struct gg_receive_access *access, const char *authorization,
                             const char *wanted, char tenant[GG_SEGMENT_TENANT_MAX])
{
	char credentials[CREDENTIALS_MAX] = "", *password = credentials;
	const char *named = wanted != NULL && wanted[0] != '\0' ? wanted : NULL;
	const struct gg_receive_token *token;

	if (access->tokens.count == 0) {
		snprintf(tenant, GG_SEGMENT_TENANT_MAX, "%s", default_tenant);
		return 200;
	}
	if (authorization == NULL)
		return 401;
	if (strncasecmp(authorization, "Bearer ", 7) == 0) {
		snprintf(credentials, sizeof(credentials), "%s", authorization + 7);
	} else if (strncasecmp(authorization, "Basic ", 6) == 0) {
		if (!decode_base64(authorization + 6, credentials, sizeof(credentials)))
			return 401;
		password = strchr(credentials, ':');
		if (password == NULL)
			return 401;
		*password++ = '\0';
		if (named == NULL && credentials[0] != '\0')
			named = credentials;
	} else {
		return 401;
	}
	token = find_token(access, password);
	if (token == NULL)
		return 401;
	/* Its own tenant: naming another one is a mistake that must not go unnoticed. */
	if (token->tenant[0] != '\0') {
		if (named != NULL && strcmp(named, token->tenant) != 0)
			return 403;
		snprintf(tenant, GG_SEGMENT_TENANT_MAX, "%s", token->tenant);
		return 200;
	}
	if (named == NULL || !gg_receive_is_tenant(named))
		return 403;
	snprintf(tenant, GG_SEGMENT_TENANT_MAX, "%s", named);
	return 200;
}
