/* SPDX-License-Identifier: Apache-2.0 */
/* Every vocabulary: each word reads back as its value, and a wrong word names the right ones. */
#include "core/model/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/model/fact.h"

static void words_read_back(void **state) {
    static const int sizes[SL_VOCAB_COUNT] = {
        [SL_VOCAB_STRATEGY] = 2,
        [SL_VOCAB_WITHIN] = 3,
        [SL_VOCAB_RECLAIM] = 3,
        [SL_VOCAB_BORROW_WITHIN] = 2,
        [SL_VOCAB_WHEN] = 2,
        [SL_VOCAB_PREFERENCE] = 2,
        [SL_VOCAB_STOP] = 3,
        [SL_VOCAB_FAIR_STRATEGY] = 2,
        [SL_VOCAB_CHECK_STATE] = 4,
        [SL_VOCAB_COND] = SL_COND_COUNT,
        [SL_VOCAB_EVICT] = SL_EVICT_COUNT,
        [SL_VOCAB_CAUSE] = SL_CAUSE_COUNT,
        [SL_VOCAB_REQUEUED] = SL_REQUEUED_COUNT,
        [SL_VOCAB_INACTIVE] = SL_INACTIVE_COUNT,
        [SL_VOCAB_GATE] = SL_GATE_COUNT,
    };
    struct sl_err err;
    int value;

    (void)state;
    for (int v = 0; v < SL_VOCAB_COUNT; v++) {
        for (int i = 0; i < sizes[v]; i++) {
            const char *w = sl_word((enum sl_vocab)v, i);
            assert_non_null(w);
            assert_string_not_equal(w, "?");
            value = -1;
            assert_int_equal(sl_word_parse((enum sl_vocab)v, w, &value, &err), 0);
            assert_int_equal(value, i);
        }
        assert_string_equal(sl_word((enum sl_vocab)v, sizes[v]), "?");
        assert_string_equal(sl_word((enum sl_vocab)v, -1), "?");
        assert_int_equal(sl_word_parse((enum sl_vocab)v, "nonsense", &value, &err), SL_EINVAL);
    }
    assert_string_equal(sl_word((enum sl_vocab)SL_VOCAB_COUNT, 0), "?");
}

static void spellings_are_kueues(void **state) {
    static const struct {
        enum sl_vocab vocab;
        int value;
        const char *word;
    } cases[] = {
        {SL_VOCAB_STRATEGY, SL_STRICT_FIFO, "StrictFIFO"},
        {SL_VOCAB_WITHIN, SL_WITHIN_LOWER_OR_NEWER, "LowerOrNewerEqualPriority"},
        {SL_VOCAB_RECLAIM, SL_RECLAIM_ANY, "Any"},
        {SL_VOCAB_STOP, SL_STOP_HOLD_AND_DRAIN, "HoldAndDrain"},
        {SL_VOCAB_FAIR_STRATEGY, SL_FAIR_FINAL_SHARE, "LessThanOrEqualToFinalShare"},
        {SL_VOCAB_COND, SL_COND_DEACTIVATION_TARGET, "DeactivationTarget"},
        {SL_VOCAB_EVICT, SL_EVICT_PODS_READY_TIMEOUT, "PodsReadyTimeout"},
        {SL_VOCAB_CAUSE, SL_CAUSE_IN_COHORT_RECLAIM_WHILE_BORROWING,
         "InCohortReclaimWhileBorrowing"},
        {SL_VOCAB_REQUEUED, SL_REQUEUED_BACKOFF_FINISHED, "BackoffFinished"},
        {SL_VOCAB_INACTIVE, SL_INACTIVE_CHECK_INACTIVE, "AdmissionCheckInactive"},
        {SL_VOCAB_GATE, SL_GATE_FAIR_SHARING_PREEMPT_WITHIN_NOMINAL,
         "FairSharingPreemptWithinNominal"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        assert_string_equal(sl_word(cases[i].vocab, cases[i].value), cases[i].word);
}

static void older_words_are_read(void **state) {
    struct sl_err err;
    int value = -1;

    (void)state;
    assert_int_equal(sl_word_parse(SL_VOCAB_WHEN, "Borrow", &value, &err), 0);
    assert_int_equal(value, SL_MAY_STOP_SEARCH);
    value = -1;
    assert_int_equal(sl_word_parse(SL_VOCAB_WHEN, "Preempt", &value, &err), 0);
    assert_int_equal(value, SL_MAY_STOP_SEARCH);
    assert_int_equal(sl_word_parse(SL_VOCAB_STOP, "Borrow", &value, &err), SL_EINVAL);
}

static void errors_list_the_words(void **state) {
    struct sl_err err;
    int value = 7;

    (void)state;
    assert_int_equal(sl_word_parse(SL_VOCAB_STOP, "hold", &value, &err), SL_EINVAL);
    assert_string_equal(err.text, "expected None, Hold or HoldAndDrain, got \"hold\"");
    assert_int_equal(value, 7);
    assert_int_equal(sl_word_parse(SL_VOCAB_GATE, "x", &value, &err), SL_EINVAL);
    assert_non_null(strstr(err.text, "..., got \"x\""));
    assert_int_equal(sl_word_parse(SL_VOCAB_EVICT, "x", &value, &err), SL_EINVAL);
    assert_memory_equal(err.text, "expected Preempted, ", 20);
}

static void facts_and_defaults(void **state) {
    (void)state;
    for (int i = 0; i < SL_FACT_COUNT; i++) {
        assert_non_null(sl_fact_name((enum sl_fact_kind)i));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(sl_fact_name((enum sl_fact_kind)i),
                                    sl_fact_name((enum sl_fact_kind)j));
    }
    assert_string_equal(sl_fact_name(SL_FACT_COUNT), "?");
    assert_false(sl_config_default.fair_sharing);
    assert_int_equal(sl_config_default.n_fair, 2);
    assert_int_equal(sl_config_default.fair[0], SL_FAIR_FINAL_SHARE);
    assert_int_equal(sl_config_default.backoff_limit, -1);
    assert_false(sl_config_default.gates & (UINT32_C(1) << SL_GATE_PRIORITY_BOOST));
    assert_true(sl_config_default.gates & (UINT32_C(1) << SL_GATE_FLAVOR_FUNGIBILITY));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_read_back),      cmocka_unit_test(spellings_are_kueues),
        cmocka_unit_test(older_words_are_read), cmocka_unit_test(errors_list_the_words),
        cmocka_unit_test(facts_and_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
