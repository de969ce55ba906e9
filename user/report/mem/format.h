/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of the text reports of mem. */
#ifndef REPORT_MEM_FORMAT_H
#define REPORT_MEM_FORMAT_H

#include "report/mem/mem.h"
#include "report/mem/model/mem.h"
#include "report/mem/model/site_name.h"
#include "report/text.h"

/* The share of the total above which a site is listed if no number of rows is given. */
#define MEM_SHARE_MIN 0.005

/* An estimate that fewer samples carry says so. */
#define MEM_FEW_SAMPLES 30

/* "3.1 MiB to 3.3 MiB"; "exact" */
struct report_text mem_interval_text(const struct mem_amount *a);
/* The interval of a row; where that is not known "1234 samples". */
struct report_text mem_certainty_text(const struct mem_measure *m);
/* " [only 7 samples]" behind a row that few carry. */
void mem_put_few(struct buf *b, const struct mem_measure *m);

/* The noun for the samples of a report: "word" (of C "byte") where all words are sampled, or where
 * each sample is a word that a sampled object represents; else "sample". */
const char *mem_sample_name(const struct mem_view *v);
/* The number of sites that are listed, of those with the most bytes: `most` if it is not 0, else
 * those above the least share, but not more than `usual` (0: any number). */
uint32_t mem_sites_listed(const struct mem_sites *t, uint32_t most, uint32_t usual);
/* The lines above a report: the traced programs, what was sampled, what was lost. False: there is
 * no allocation, and nothing else to print. */
bool mem_put_head(struct buf *b, const struct mem_view *v);

#endif
