/* SPDX-License-Identifier: BSD-2-Clause */
/* The panel above a picture. */
#include "report/svg.h"

#include "tests/tap.h"

int main(void)
{
	int none = svg_panel_height(""), line = svg_panel_height("a\n") - none;
	ok(none > 0 && line > 0, "a panel has a title, and lines below it");
	is(svg_panel_height("a\nb\n") - none, 2 * line, "two lines are twice as high as one");
	is(svg_panel_height("a\nb\nc\nd\ne\n") - none, 5 * line, "five are five times");
	is(svg_panel_height("a\n\n\n") - none, 3 * line, "an empty line is one, too");
	is(svg_panel_height("a\nb") - none, line, "what no newline ends is none");
	return tap_done();
}
