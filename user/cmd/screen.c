/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/screen.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/top/view.h"

#define COLS_DEFAULT 80
#define ROWS_DEFAULT 24
#define ESCAPE_MS    50 /* between the bytes of one key, over a slow line */
#define EMPTY_MAX    8

struct screen {
	SCREEN *of;	/* of ncurses; NULL: frames are lines */
	FILE *in, *out; /* its own */
	int fd;		/* of keys, the same as that of `in`; -1 */
	unsigned rows, cols;
	bool colours;
	unsigned empty; /* reads in sequence that had no key */
	struct buf lines;
};

static bool has_locale(void)
{
	static bool done;
	if (!done)
		setlocale(LC_CTYPE, "");
	return done = true;
}

bool screen_is_utf8(void)
{
	return has_locale() && !strcmp(nl_langinfo(CODESET), "UTF-8");
}

static bool size_of(int fd, unsigned *rows, unsigned *cols)
{
	struct winsize w;
	if (ioctl(fd, TIOCGWINSZ, &w) || !w.ws_row || !w.ws_col)
		return false;
	*rows = w.ws_row;
	*cols = w.ws_col;
	return true;
}

unsigned screen_columns(void)
{
	unsigned rows, cols;
	if (isatty(STDOUT_FILENO) && size_of(STDOUT_FILENO, &rows, &cols))
		return cols;
	const char *text = getenv("COLUMNS");
	long n = text ? strtol(text, NULL, 10) : 0;
	return n >= 20 && n <= (long)TOP_COLS_MAX ? (unsigned)n : COLS_DEFAULT;
}

bool screen_measure(struct screen *s)
{
	unsigned rows = ROWS_DEFAULT, cols = COLS_DEFAULT;
	if (!size_of(STDOUT_FILENO, &rows, &cols) && s->of)
		getmaxyx(stdscr, rows, cols);
	/* A line is left for the cursor behind the last one. */
	rows -= !s->of && rows > 2 ? 2 : 0;
	bool is_new = rows != s->rows || cols != s->cols;
	s->rows = rows;
	s->cols = cols;
	if (is_new && s->of)
		resizeterm((int)rows, (int)cols);
	return is_new;
}

/* ---- styles ---- */

/* A pair of colours, and what a style is without them. */
static const struct {
	short colour; /* -1: that of the terminal */
	attr_t with, without;
} styles[TOP_STYLES] = {
	[TOP_PLAIN] = {-1, A_NORMAL, A_NORMAL},
	[TOP_STRONG] = {-1, A_BOLD, A_BOLD},
	[TOP_HEAD] = {-1, A_REVERSE, A_REVERSE},
	[TOP_SORTED] = {-1, A_REVERSE | A_BOLD, A_REVERSE | A_BOLD},
	[TOP_SELECTED] = {COLOR_CYAN, A_REVERSE, A_REVERSE},
	[TOP_FAINT] = {-1, A_DIM, A_NORMAL},
	[TOP_GOOD] = {COLOR_GREEN, A_NORMAL, A_NORMAL},
	[TOP_WARN] = {COLOR_YELLOW, A_BOLD, A_BOLD},
	[TOP_BAD] = {COLOR_RED, A_BOLD, A_BOLD},
};

static void begin_colours(struct screen *s)
{
	const char *none = getenv("NO_COLOR");
	s->colours = has_colors() && !(none && *none) && start_color() == OK;
	if (!s->colours)
		return;
	use_default_colors();
	for (short i = 1; i < TOP_STYLES; i++)
		init_pair(i, styles[i].colour, -1);
}

/* ---- the terminal ---- */

static const int stops[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
#define STOPS (sizeof(stops) / sizeof(*stops))

/* Signals end the run in its order: ncurses would end the program. */
static SCREEN *new_term(FILE *out, FILE *in)
{
	struct sigaction was[STOPS];
	for (size_t i = 0; i < STOPS; i++)
		sigaction(stops[i], NULL, &was[i]);
	/* The handlers of those that stop us, and let us continue, are its own. */
	SCREEN *of = newterm(NULL, out, in);
	for (size_t i = 0; i < 2; i++)
		sigaction(stops[i], &was[i], NULL);
	return of;
}

static bool can_place_text(void)
{
	const char *cup = tigetstr("cup");
	return cup && cup != (const char *)-1;
}

static FILE *open_copy(int fd, const char *mode)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	FILE *f = copy >= 0 ? fdopen(copy, mode) : NULL;
	if (!f && copy >= 0)
		close(copy);
	return f;
}

/* Where keys come from: data may come from standard input. */
static FILE *open_keys(void)
{
	if (isatty(STDIN_FILENO))
		return open_copy(STDIN_FILENO, "r");
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!f && fd >= 0)
		close(fd);
	return f;
}

static int open_term(struct screen *s)
{
	s->of = new_term(s->out, s->in ? s->in : stdin);
	if (!s->of)
		return -ENOTTY;
	set_term(s->of);
	if (!can_place_text()) {
		endwin();
		delscreen(s->of);
		s->of = NULL;
		return 0;
	}
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	begin_colours(s);
	return 0;
}

int screen_open(struct screen **ret)
{
	struct screen *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	has_locale();
	s->fd = -1;
	int err = buf_init(&s->lines, STDOUT_FILENO, 1 << 16);
	s->out = open_copy(STDOUT_FILENO, "w");
	s->in = open_keys();
	if (s->in)
		s->fd = fileno(s->in);
	if (!err)
		err = s->out ? open_term(s) : -EMFILE;
	if (err) {
		screen_close(s);
		return err;
	}
	screen_measure(s);
	*ret = s;
	return 0;
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	if (s->of) {
		endwin();
		delscreen(s->of);
	}
	if (s->in)
		fclose(s->in);
	if (s->out)
		fclose(s->out);
	buf_done(&s->lines);
	free(s);
}

int screen_fd(const struct screen *s)
{
	return s->fd;
}

unsigned screen_rows(const struct screen *s)
{
	return s->rows;
}

unsigned screen_cols(const struct screen *s)
{
	return s->cols;
}

/* ---- keys ---- */

static uint32_t key_of(int c)
{
	static const struct {
		int curses;
		uint32_t key;
	} keys[] = {
		{'\r', TOP_KEY_ENTER},
		{'\n', TOP_KEY_ENTER},
		{KEY_ENTER, TOP_KEY_ENTER},
		{27, TOP_KEY_ESCAPE},
		{KEY_BACKSPACE, TOP_KEY_BACKSPACE},
		{127, TOP_KEY_BACKSPACE},
		{8, TOP_KEY_BACKSPACE},
		{KEY_UP, TOP_KEY_UP},
		{KEY_DOWN, TOP_KEY_DOWN},
		{KEY_PPAGE, TOP_KEY_PAGE_UP},
		{KEY_NPAGE, TOP_KEY_PAGE_DOWN},
		{KEY_HOME, TOP_KEY_HOME},
		{KEY_END, TOP_KEY_END},
	};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].curses == c)
			return keys[i].key;
	if (c >= KEY_F(0) && c <= KEY_F(12))
		return TOP_KEY_F0 + (uint32_t)(c - KEY_F(0));
	return c >= 0x20 && c < 0x7f ? (uint32_t)c : 0;
}

/* Of a terminal that gives lines: q and Enter, as any key. */
static int read_byte(const struct screen *s)
{
	int n = 0;
	unsigned char c;
	if (s->fd < 0 || ioctl(s->fd, FIONREAD, &n) || n < 1 || read(s->fd, &c, 1) != 1)
		return ERR;
	return c == '\n' ? ' ' : c;
}

uint32_t screen_key(struct screen *s)
{
	for (;;) {
		int c = s->of ? getch() : read_byte(s);
		if (c == ERR) {
			s->empty++;
			return 0;
		}
		s->empty = 0;
		uint32_t key = key_of(c);
		if (key)
			return key;
	}
}

bool screen_is_gone(const struct screen *s)
{
	return s->empty > EMPTY_MAX;
}

/* ---- a frame ---- */

static void show_lines(struct screen *s, const struct top_frame *f)
{
	top_frame_text(f, &s->lines);
	buf_puts(&s->lines, "\n");
	buf_flush(&s->lines);
}

static void put_cell(const struct screen *s, int row, int col, const struct top_cell *c)
{
	cchar_t shown;
	wchar_t text[2] = {c->code ? (wchar_t)c->code : L' ', 0};
	attr_t attr = s->colours ? styles[c->style].with : styles[c->style].without;
	setcchar(&shown, text, attr, s->colours ? (short)c->style : 0, NULL);
	mvadd_wch(row, col, &shown);
}

void screen_show(struct screen *s, const struct top_frame *f)
{
	if (!s->of) {
		show_lines(s, f);
		return;
	}
	erase();
	for (unsigned row = 0; row < f->rows; row++)
		for (unsigned col = 0; col < f->cols; col++) {
			const struct top_cell *c = &f->cell[row * f->cols + col];
			if (c->code || c->style)
				put_cell(s, (int)row, (int)col, c);
		}
	bool asks = f->cursor_row >= 0;
	curs_set(asks);
	if (asks)
		move(f->cursor_row, f->cursor_col);
	refresh();
}
