"""One-line bugs, and for each a test that must find it."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """`old` occurs exactly once in `file`; `new` takes its place. `tests` are pytest node ids."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


# 200 random histories of the loop, judged by the contract.
_HISTORIES = (
    "tests/unit/test_random_history.py::test_no_history_loses_a_record_or_commits_ahead_of_its_output[from-0]",
)

_IN_TRANSACTIONS = (
    "tests/unit/test_random_history.py"
    "::test_no_history_in_transactions_loses_repeats_or_reorders_a_record[from-0]",
)


def _unit(test: str) -> tuple[str, ...]:
    return (f"tests/unit/{test}",)


def _client(test: str) -> tuple[str, ...]:
    """Tests of the real client against in-process brokers."""
    return (f"tests/mock_cluster/{test}",)


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a batch counts as durable before it is acknowledged",
        "consumer/pipeline.py",
        "if flight.receipt is None or not flight.receipt.done():",
        "if flight.receipt is None:",
        _HISTORIES,
    ),
    Mutant(
        "a failed delivery counts as acknowledged",
        "consumer/kafka/sink.py",
        "        if error is not None:\n            self._note(",
        "        if error is not None and False:\n            self._note(",
        _client("test_sink.py::test_what_is_not_acknowledged_in_time_is_unknown_and_fails_the_batch"),
    ),
    Mutant(
        "lost partitions are committed",
        "consumer/pipeline.py",
        "    def on_lost(self, partitions: Collection[TopicPartition]) -> None:\n",
        "    def on_lost(self, partitions: Collection[TopicPartition]) -> None:\n"
        "        self._commits.finish(partitions, self._clock)\n",
        _HISTORIES,
    ),
    Mutant(
        "a keep-alive poll drops its records",
        "consumer/intake.py",
        "        if polled.records:\n",
        "        if polled.records and not self.paused:\n",
        _unit("test_pipeline_waiting.py::test_a_record_that_comes_out_while_paused_is_kept_in_its_place"),
    ),
    Mutant(
        "a struck partition is written to the new ledger",
        "consumer/flight.py",
        "            self.next_offsets.pop(partition, None)\n",
        "            self.next_offsets.get(partition)\n",
        _unit(
            "test_pipeline_rebalance.py::test_a_lost_partition_that_was_sent_already_does_not_touch_its_next_"
            "assignment"
        ),
    ),
    Mutant(
        "the initial offset is not awaited",
        "consumer/commits.py",
        "return self._ledger.unstarted or self._ledger.uncommitted >",
        "return self._ledger.uncommitted >",
        _unit(
            "test_pipeline.py::test_nothing_is_launched_before_the_first_offset_of_a_partition_is_committed"
        ),
    ),
    Mutant(
        "uncommitted records do not hold launches back",
        "consumer/commits.py",
        "return self._ledger.unstarted or self._ledger.uncommitted > self._most",
        "return self._ledger.unstarted",
        _unit(
            "test_pipeline.py::test_nothing_is_launched_beyond_max_uncommitted_until_commits_are_acknowledged"
        ),
    ),
    Mutant(
        "a revoke commits nothing",
        "consumer/pipeline.py",
        "        self._commits.finish(partitions, self._clock)\n",
        "        pass\n",
        _unit(
            "test_pipeline_rebalance.py::test_a_revoke_finishes_and_commits_what_is_under_way_inside_the_callback"
        ),
    ),
    Mutant(
        "a revoke does not finish what is under way",
        "consumer/pipeline.py",
        "        if self._flights.holds(partitions):\n",
        "        if False:\n",
        _unit(
            "test_pipeline_rebalance.py::test_a_revoke_finishes_and_commits_what_is_under_way_inside_the_callback"
        ),
    ),
    Mutant(
        "a stop commits nothing",
        "consumer/pipeline.py",
        "        self._commits.finish_all(self._clock, deadline)\n",
        "        pass\n",
        _unit("test_pipeline.py::test_stopping_finishes_what_was_launched_and_commits_it"),
    ),
    Mutant(
        "a last commit that is refused is not tried again",
        "consumer/commits.py",
        "        while not self.finish(self._ledger.partitions, clock) and clock.now() < deadline:\n",
        "        if not self.finish(self._ledger.partitions, clock):\n",
        _unit("test_pipeline_leaving.py::test_a_last_commit_that_crosses_a_rebalance_is_tried_again"),
    ),
    Mutant(
        "a receipt that is done a moment later crashes the loop",
        "consumer/flight.py",
        "[waits_for for f in self._line if (waits_for := f.waits_for) is not None]",
        "[f.waits_for for f in self._line if f.waits_for is not None]",
        _unit("test_flights.py::test_a_receipt_that_is_done_a_moment_after_it_was_asked_is_no_harm"),
    ),
    Mutant(
        "a batch is sent past one that failed",
        "consumer/pipeline.py",
        "        for flight in sent:\n",
        "        for flight in sent[:1]:\n",
        _unit("test_pipeline_faults.py::test_a_failed_batch_and_those_behind_it_are_sent_again_in_order"),
    ),
    Mutant(
        "dead letters are not written",
        "consumer/flight.py",
        "        self.outputs = self._surviving(outputs) if len(self) < len(outputs) else outputs\n",
        "        self.outputs = [o for o in outputs if not isinstance(o.verdict, Rejection)]\n",
        _unit("test_pipeline.py::test_each_kind_of_record_has_its_own_outcome_and_keeps_its_place"),
    ),
    Mutant(
        "a run of bad records is forgotten at the end of its batch",
        "consumer/limits.py",
        "        longest = self.run\n",
        "        self.run = longest = 0\n",
        _unit("test_limits.py::test_a_run_goes_on_from_one_batch_to_the_next"),
    ),
    Mutant(
        "an end is stepped to over records under way",
        "consumer/ends.py",
        "[tp for tp in self._ahead if self._all_finished(tp, ledger)]",
        "list(self._ahead)",
        _unit("test_ends.py::test_an_end_waits_for_the_records_before_it"),
    ),
    Mutant(
        "a batch takes more than its count",
        "consumer/batcher.py",
        "        while self._entries and len(taken) < self._policy.count:\n",
        "        while self._entries:\n",
        _unit("test_batcher.py::test_a_batch_holds_at_most_count_entries_in_arrival_order"),
    ),
    Mutant(
        "a revoke drops the records of other partitions",
        "consumer/batcher.py",
        "            if e.record.source not in partitions\n",
        "            if not partitions\n",
        _unit("test_batcher.py::test_dropping_partitions_leaves_the_others_their_order_age_and_bytes"),
    ),
    Mutant(
        "the ledger goes back",
        "consumer/offsets.py",
        "        if offset < state.finished:\n",
        "        if offset < 0:\n",
        _unit("test_offsets.py::test_writing_backwards_is_an_error"),
    ),
    Mutant(
        "an old answer takes a commit back",
        "consumer/offsets.py",
        "            state.committed = max(offset, state.committed or 0)\n",
        "            state.committed = offset\n",
        _unit("test_offsets.py::test_an_old_answer_never_takes_a_commit_back"),
    ),
    Mutant(
        "a second commit overtakes the first",
        "consumer/pacing.py",
        "        if self.outstanding:\n",
        "        if self.outstanding and self._refused:\n",
        _unit("test_pacing.py::test_one_commit_is_outstanding_at_most"),
    ),
    Mutant(
        "what is assigned again stays paused",
        "consumer/kafka/source.py",
        "(consumer.pause if self._paused else consumer.resume)(placed)",
        "(consumer.pause if self._paused else list)(placed)",
        _client(
            "test_source.py::test_a_partition_that_comes_back_after_a_pause_is_resumed_since_the_client_"
            "remembers_the_pause"
        ),
    ),
    Mutant(
        "an answer that failed counts as no commit",
        "consumer/kafka/start.py",
        '                why = str(error)\n            self._patience(deadline, f"the committed',
        "                return {TopicPartition(p.topic, p.partition): -1 for p in partitions}\n"
        '            self._patience(deadline, f"the committed',
        _client("test_source.py::test_an_answer_that_fails_is_never_no_commit"),
    ),
    Mutant(
        "an exception leaves a callback",
        "consumer/kafka/source.py",
        "                self._raised = self._raised or error\n",
        "                raise\n",
        _client("test_source.py::test_an_exception_of_the_listener_is_raised_by_the_poll_and_can_be_caught"),
    ),
    Mutant(
        "a record is poison without asking the reference text",
        "consumer/isolation.py",
        "        if not self._scorer.self_test():\n",
        "        if not self._scorer.model:\n",
        _unit("test_isolation.py::test_when_the_reference_text_fails_too_it_is_not_the_record"),
    ),
    Mutant(
        "a score that is no number is handed on",
        "consumer/isolation.py",
        "            if isinstance(verdict, Score) and not math.isfinite(verdict.score):\n",
        "            if isinstance(verdict, Score) and verdict.score is None:\n",
        _unit("test_isolation.py::test_a_score_that_is_no_number_is_never_handed_on"),
    ),
    Mutant(
        "members leave because nobody polls during a long wait",
        "consumer/pipeline.py",
        "return _IDLE_POLL if self._intake.paused else self._settings.kafka.max_poll_interval / 3",
        "return self._settings.kafka.max_poll_interval * 3",
        _unit(
            "test_pipeline_waiting.py::test_waiting_for_acknowledgements_keeps_the_membership_just_as_well"
        ),
    ),
    Mutant(
        "nothing goes on after a fatal error, except commits",
        "consumer/pipeline.py",
        "        except BaseException:\n            self._abandoned = True\n",
        "        except BaseException:\n            self._abandoned = False\n",
        _unit("test_pipeline.py::test_after_a_fatal_error_the_callbacks_of_closing_do_nothing"),
    ),
    Mutant(
        "entries of the shared cache are believed as they are",
        "consumer/scoring/shared.py",
        "        genuine = compare_digest(entry[: 1 + _MAC], _FORMAT + self._code(key, content))\n",
        "        genuine = True\n",
        _unit("test_shared_measurements.py::test_an_entry_opens_under_its_own_key_alone_and_unchanged_alone"),
    ),
    Mutant(
        "an entry of the shared cache fits any key",
        "consumer/scoring/shared.py",
        "        code = blake2b(key, digest_size",
        '        code = blake2b(b"", digest_size',
        _unit("test_shared_measurements.py::test_an_entry_opens_under_its_own_key_alone_and_unchanged_alone"),
    ),
    Mutant(
        "texts can be guessed from the keys of the shared cache",
        "consumer/scoring/shared.py",
        'key=self._secret, person=b"key"',
        'person=b"key"',
        _unit(
            "test_shared_measurements.py"
            "::test_who_lacks_the_model_can_neither_forge_an_entry_nor_find_the_key_of_a_text"
        ),
    ),
    Mutant(
        "an open breaker lets everything through after one cool-down",
        "consumer/stores/breaker.py",
        "        self._next_trial = now + self._cool_down\n        return True\n\n    def succeeded",
        "        return True\n\n    def succeeded",
        _unit("test_breaker.py::test_while_open_it_lets_one_trial_through_for_each_cool_down"),
    ),
    Mutant(
        "a store that takes nothing is not read either",
        "consumer/stores/redis_store.py",
        "            if self._writes.failed(self._clock()):",
        "            if self._reads.failed(self._clock()):",
        _unit("test_redis_store.py::test_a_store_that_takes_nothing_is_still_read"),
    ),
    Mutant(
        "a transaction keeps the results of a lost partition",
        "consumer/pipeline.py",
        "        self._sink.strike(partitions)\n",
        "",
        _IN_TRANSACTIONS,
    ),
    Mutant(
        "a commit runs beside the transaction of its partition",
        "consumer/commits.py",
        "        if not self._exactly_once:\n            return offsets",
        "        return offsets",
        _unit(
            "test_pipeline_transactions.py"
            "::test_a_step_over_markers_is_not_committed_beside_a_transaction_of_its_partition"
        ),
    ),
    Mutant(
        "a batch may be launched while a commit is on its way to be overtaken",
        "consumer/commits.py",
        "if self._exactly_once and self._pace.outstanding:",
        "if False:",
        _unit(
            "test_pipeline_transactions.py"
            "::test_nothing_is_launched_while_a_step_over_markers_is_being_committed"
        ),
    ),
    Mutant(
        "what is sent into transactions is not bounded",
        "consumer/flight.py",
        " and sum(map(len, flights.sent)) < self._most_sent",
        "",
        _IN_TRANSACTIONS,
    ),
    Mutant(
        "a revoke leaves its transaction open",
        "consumer/pipeline.py",
        "                self._sink.settle(deadline)",
        "                self._wait(min(deadline, now + _WAIT))",
        _unit(
            "test_pipeline_transactions.py::test_a_revoke_ends_the_transaction_before_the_callback_returns"
        ),
    ),
    Mutant(
        "an event is marked before its result is acknowledged",
        "consumer/pipeline.py",
        "        self._limits.check(flight.judge())\n",
        "        self._limits.check(flight.judge())\n"
        "        self._marks.keep(flight.batch, flight.outputs or ())\n",
        _unit("test_pipeline_dedupe.py::test_nothing_is_remembered_before_the_result_is_acknowledged"),
    ),
    Mutant(
        "the same, found by random histories",
        "consumer/pipeline.py",
        "        self._limits.check(flight.judge())\n",
        "        self._limits.check(flight.judge())\n"
        "        self._marks.keep(flight.batch, flight.outputs or ())\n",
        _HISTORIES,
    ),
    Mutant(
        "a record that is read again is a repeat of itself",
        "consumer/marks.py",
        "        own = (self.partition, self.offset) == (record.partition, record.offset)\n",
        "        own = False\n",
        _unit("test_marks.py::test_a_record_that_is_read_again_is_never_suppressed_by_its_own_mark"),
    ),
    Mutant(
        "a used id suppresses another value",
        "consumer/marks.py",
        " and self.digest == digest(record.value)\n",
        "\n",
        _HISTORIES,
    ),
    Mutant(
        "a mark that is only begun suppresses",
        "consumer/marks.py",
        "        return self.state == DONE and not own",
        "        return not own",
        _unit("test_marks.py::test_a_mark_in_any_other_state_never_suppresses"),
    ),
    Mutant(
        "a damaged mark is believed",
        "consumer/marks.py",
        " or entry[_BODY.size :] != _check(key, body):",
        ":",
        _HISTORIES,
    ),
    Mutant(
        "a dead letter is marked as done",
        "consumer/dedupe.py",
        " and fits and isinstance(output.verdict, Score):",
        " and fits:",
        _unit("test_dedupe.py::test_only_what_was_scored_is_remembered"),
    ),
    Mutant(
        "a batch of the old topic is remembered for the new one",
        "consumer/dedupe.py",
        "        keys = Keys(self._group, batch.topic_id)\n",
        '        keys = Keys(self._group, self._topic.known() or "")\n',
        _unit("test_dedupe.py::test_a_batch_of_the_old_topic_is_remembered_as_such"),
    ),
    Mutant(
        "a topic that is created again keeps the old id",
        "consumer/kafka/topic_id.py",
        "    def renew(self) -> None:\n        self._id = None\n",
        "    def renew(self) -> None:\n",
        _unit("test_topic_id.py::test_after_a_renewal_only_the_new_answer_counts"),
    ),
    Mutant(
        "what does not fit into one write is forgotten",
        "consumer/stores/redis_store.py",
        "        if self._waiting.comes_again() and not",
        "        if not self._waiting.comes_again() and not",
        _unit(
            "test_redis_store.py::test_a_great_many_entries_are_written_in_pieces_that_let_look_ups_through"
        ),
    ),
    Mutant(
        "a second record takes the mark over",
        "consumer/stores/redis_store.py",
        "nx=self._keep_first)",
        "nx=False)",
        (
            "tests/redis/test_marks.py"
            "::test_a_second_record_neither_replaces_the_mark_of_the_first_nor_prolongs_it",
        ),
    ),
)
