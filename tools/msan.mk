# SPDX-License-Identifier: Apache-2.0
# The pure libraries and the property tests that need nothing else, under MemorySanitizer: what an
# uninstrumented library wrote would look as if nobody had. Used by tools/check-uninit, with OUT, a relative path: with
# it, and without the name of this folder in objects, ccache finds those of another copy.
CC = $(shell command -v ccache) clang
FLAGS = -std=gnu17 -D_GNU_SOURCE -DSL_VERSION='"msan"' -O1 -g -fPIE -fno-omit-frame-pointer -w \
	-fsanitize=memory -fsanitize-memory-track-origins=1 -fno-sanitize-recover=all -ffile-prefix-map=$(CURDIR)=. -Isrc
PURE = $(wildcard src/core/*/*.c src/core/*/*/*.c)
ORACLE = $(addprefix tests/core/engine/, oracle_cycle.c oracle_facts.c oracle_flavor.c oracle_preempt.c oracle_quota.c)
SIDES = $(addprefix tests/core/graph/, gen.c notation.c notation_request.c side.c naive/naive.c naive/naive_order.c \
	naive/naive_request.c naive/naive_time.c naive/naive_walk.c)
object = $(patsubst %.c,$(OUT)/%.o,$(wildcard $(1)))
PROGRAMS = planted properties prop_explain prop_plan prop_queue prop_topo prop_match

all: $(addprefix $(OUT)/, $(PROGRAMS))
$(OUT)/planted: $(call object, tests/uninit/planted.c)
$(OUT)/properties: $(call object, $(addprefix tests/core/engine/, properties.c prop_compare.c prop_facts.c \
	prop_gen.c) $(ORACLE))
$(OUT)/prop_explain: $(call object, tests/core/engine/prop_explain.c tests/core/engine/explain_world.c)
$(OUT)/prop_plan: $(call object, tests/core/graph/prop_plan.c)
$(OUT)/prop_queue: $(call object, tests/core/graph/prop_queue.c)
$(OUT)/prop_topo: $(call object, tests/core/topo/prop_topo.c tests/core/topo/topo_model.c)
$(OUT)/prop_match: $(call object, tests/core/graph/prop_match.c $(SIDES))
$(OUT)/pure.a: $(call object, $(PURE))
	@rm -f $@
	@ar rcs $@ $^
$(addprefix $(OUT)/, $(PROGRAMS)): $(OUT)/pure.a
	@$(CC) -fsanitize=memory -pie $(filter %.o, $^) $(OUT)/pure.a -o $@
$(OUT)/%.o: %.c
	@mkdir -p $(@D)
	@$(CC) $(FLAGS) -MMD -c $< -o $@
-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
