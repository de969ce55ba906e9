/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/svg.h"

#include "base/xml.h"
#include <stdarg.h>
#include <stdio.h>

#define TITLE_Y	     28
#define LINE	     17
#define PANEL_REST   12 /* below the last line */
#define SEARCH_WIDTH 260
#define RESET_WIDTH  86

void svg_print(struct buf *b, const char *fmt, ...)
{
	char text[BUF_ROOM_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_puts(b, text);
}

void svg_put_text(struct buf *b, const char *text)
{
	xml_put(b, text, strlen(text));
}

static int line_count(const char *lines)
{
	int n = 0;
	for (; (lines = strchr(lines, '\n')); lines++)
		n++;
	return n;
}

int svg_panel_height(const char *lines)
{
	return TITLE_Y + LINE * (line_count(lines) + 1) + PANEL_REST;
}

void svg_open(struct buf *b, const struct svg *s)
{
	buf_puts(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" ");
	if (s->is_scaled)
		svg_print(b,
			  "viewBox=\"0 0 %d %d\" width=\"100%%\" "
			  "preserveAspectRatio=\"xMidYMin\" ",
			  SVG_WIDTH, s->height);
	else
		svg_print(b, "width=\"%d\" height=\"%d\" ", SVG_WIDTH, s->height);
	svg_print(b,
		  "data-margin=\"%d\" data-level=\"%g\" data-total=\"%.17g\" data-unit=\"%s\">\n",
		  SVG_MARGIN, s->level, s->total, s->unit);
	buf_puts(b, "<title>");
	svg_put_text(b, s->title);
	buf_puts(b, "</title>\n<style><![CDATA[\n");
	buf_put(b, s->style, (size_t)(s->style_end - s->style));
	buf_puts(b, "]]></style>\n");
}

/* What needs the script is not shown without it. */
static void put_tools(struct buf *b, const struct svg *s)
{
	int right = SEARCH_WIDTH + SVG_MARGIN;
	buf_puts(b, "<g id=\"tools\" style=\"display:none\">\n");
	if (s->has_search) {
		svg_print(b,
			  "<foreignObject x=\"%d\" data-right=\"%d\" y=\"10\" width=\"%d\" "
			  "height=\"26\"><input xmlns=\"http://www.w3.org/1999/xhtml\" "
			  "id=\"search\" class=\"search\" type=\"search\" spellcheck=\"false\" "
			  "placeholder=\"Search (regular expression)\" "
			  "aria-label=\"Search\"/></foreignObject>\n",
			  SVG_WIDTH - right, right, SEARCH_WIDTH);
		svg_print(b,
			  "<text id=\"reset\" class=\"reset off\" role=\"button\" x=\"%d\" "
			  "data-right=\"%d\" y=\"%d\">Show all</text>\n",
			  SVG_WIDTH - right - 10, right + 10, TITLE_Y - 1);
		svg_print(b,
			  "<text id=\"found\" class=\"info\" role=\"status\" "
			  "text-anchor=\"end\" x=\"%d\" data-right=\"%d\" y=\"%d\"></text>\n",
			  SVG_WIDTH - SVG_MARGIN, SVG_MARGIN, TITLE_Y + LINE + 4);
	}
	svg_print(b, "<text id=\"info\" class=\"info\" role=\"status\" x=\"%d\" y=\"%d\"></text>\n",
		  SVG_MARGIN, TITLE_Y + LINE * (line_count(s->lines) + 1));
	buf_puts(b, "</g>\n");
}

static void put_panel(struct buf *b, const struct svg *s)
{
	int y = TITLE_Y;
	svg_print(
		b,
		"<g id=\"top\">\n<rect id=\"panel\" class=\"panel\" width=\"%d\" height=\"%d\"/>\n"
		"<text class=\"title\" x=\"%d\" y=\"%d\">",
		SVG_WIDTH, svg_panel_height(s->lines) - PANEL_REST / 2, SVG_MARGIN, y);
	svg_put_text(b, s->title);
	buf_puts(b, "</text>\n");
	for (const char *line = s->lines, *end; (end = strchr(line, '\n')); line = end + 1) {
		y += LINE;
		svg_print(b, "<text class=\"head\" x=\"%d\" y=\"%d\">", SVG_MARGIN, y);
		xml_put(b, line, (size_t)(end - line));
		buf_puts(b, "</text>\n");
	}
	put_tools(b, s);
	buf_puts(b, "</g>\n");
}

void svg_close(struct buf *b, const struct svg *s)
{
	put_panel(b, s);
	buf_puts(b, "<script><![CDATA[\n");
	buf_put(b, s->script, (size_t)(s->script_end - s->script));
	buf_puts(b, "]]></script>\n</svg>\n");
}
