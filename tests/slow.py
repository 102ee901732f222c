"""The tests that `make test` leaves out, and why; `make test-slow` runs them.

A key is a folder, a file or the beginning of a test's name, as pytest prints it, without the folders above. Proofs of
privacy, vectors and at least one test of every capability stay in `make test`: `KEPT` names those that lie in a file of
slow ones. They may take 480 seconds of processor time together, which is 4 minutes on two cores; `pytest -p
tests.seconds` measures it.
"""

from __future__ import annotations

TIMEOUT = 900  # seconds for one of them

SLOW: dict[str, str] = {
    # Experiments and documents
    "test_learning_experiment.py": "trains models by every method",
    "test_reproduce.py": "surveys by every method of the paper",
    "test_reproduce_figures.py": "tiny runs of all figures",
    "test_limit.py": "solves linear programs",
    "test_theory.py": "draws the pictures of the theory",
    "experiments/test_relations.py": "surveys about every kind of relation, and limits by linear programs",
    "experiments/test_wide.py": "surveys about wide numbers, and small crowds by the thousand",
    "test_mutants.py": "breaks sources, and runs tests on them",
    "test_notebook.py": "starts a kernel of Jupyter",
    "test_sessions.py": "types every command of the pages that are told as sessions",
    "test_docs.py::test_code_blocks_run": "runs all code of the documents",
    "test_imports.py::test_every_name_in_the_documents": "imports everything that the documents name",
    "test_imports.py::test_a_wrong_import": "checks all contracts on a copy of the source, for every kind",
    "test_page.py": "follows the page about PostgreSQL",
    # Long statistics
    "statistical/": "simulates surveys by the thousand",
    "test_cube.py::test_the_sampler_has_the_law_exactly[shape6]": "follows the most paths of all shapes",
    "test_cells.py::test_the_sampler_has_the_law_exactly[sizes5]": "follows the most paths of all sizes",
    "test_cells.py::test_the_sampler_has_the_law_exactly[sizes2]": "follows many paths",
    "channels/test_rows.py::test_the_sampler_has_the_law_exactly[True-shape4]": "follows the most paths of all shapes",
    "test_ladders.py::test_the_clipped_mean_is_covered": "simulates surveys",
    "test_crowds.py::test_more_people_a_larger": "accounts for crowds of every size",
    "test_alike.py::test_all_records_take_as_many_words": "counts the words of every plan",
    "test_choice.py::test_the_cube_is_taken": "designs plans of every size",
    "test_predictions.py::test_intervals_are_as_wide": "simulates surveys",
    "test_predictions.py::test_the_smallest_crowd": "simulates surveys",
    "test_rotations.py::test_signs_of_a_rotated_vector": "rotates vectors by the thousand",
    "test_whole.py::test_one_step_counts": "counts every plan in two ways, with millions of reports",
    "test_words.py::test_threads_change_nothing": "draws every plan with several numbers of threads",
    "test_duckdb.py::test_damaged_files": "damages every byte of a file",
    "test_estimators.py::test_known_weights_are_found_again": "trains every model on many people",
    "test_minimax.py::test_a_prior_is_made_use_of": "searches for designs under every prior",
    "shuffle/test_crowds.py::test_elsewhere": "looks for bounds of many plans",
    "shuffle/test_crowds.py::test_batches_add_up": "composes batches of several kinds",
    "shuffle/test_profiles.py::test_ten_thousand": "lists all batches of ten thousand random channels",
    "relations/test_coverage.py": "surveys about relations by the hundred, for every kind of interval",
    # Browsers
    "browser/": "Chromium",
    "web/test_browser.py": "Chromium",
    # Processes that are killed, besieged or stopped
    "test_wiping.py::test_a_process_that": "searches the memory of processes",
    "test_sqlite_file.py::test_a_second_collector_is_refused_by": "starts a dozen collectors",
    "test_sqlite_file.py::test_a_running_collector": "takes files away from collectors that run",
    "test_fuzz.py::test_a_storm": "storms a collector over sockets",
    "collector/test_narrowing.py::test_killed_processes": "kills collectors after a pilot",
    "cli/test_narrowing.py::test_both_rounds": "starts a collector three times",
    "collector/test_kill.py": "kills collectors and databases under load",
    "relay/test_kill.py": "kills relays and collectors under load",
    "test_openapi.py::test_a_running_collector": "lets schemathesis ask for everything",
    "test_postgres.py::test_processes_that_commit": "three processes commit the same reports",
    "test_reveals.py::test_a_restart_shows_nothing_more": "restarts collectors",
    "test_reveals.py::test_several_processes": "lets processes read at once",
    "test_stalls.py": "looks for pauses of the loop",
    "test_streams.py::test_nobody_has_all_of_them": "opens as many streams as there may be",
    "test_trainings.py::test_labels_as_people": "trains two models over HTTP",
    "test_waiting.py::test_a_collector": "stops databases under collectors that run",
    "test_waiting.py::test_every_address": "asks for every address of a database that hangs",
    "test_waiting.py::test_the_last_resort": "waits for a process that hangs",
    "test_demo.py": "runs the demo",
    "cli/test_collecting.py::test_a_signal_to_end": "ends commands while they write",
    "cli/test_errors.py::test_json_of_the_demo": "runs the demo",
    "test_timeouts.py::test_what_hangs_fails": "waits for tests that hang",
    "cli/test_errors.py::test_these_tests_end_under_nohup": "runs tests in a test",
    # Long ones of capabilities that quicker tests show as well
    "web/test_client.py::test_its_own_tests_pass": "all tests of the browser client, in Node",
    "web/test_client.py::test_a_broken_client": "runs the vectors on clients that are broken",
    "web/test_refusals.py::test_a_limit_that_is_wrong": "breaks every limit of the browser client",
    "cli/test_serving.py": "starts a collector for every option",
    "test_windows.py::test_any_window_is_the_scalar_path": "draws windows of every shape",
    "test_alike.py": "compiles kernels, and reads what the compiler made",
    "test_distributions.py::test_a_distribution_with_two_humps": "simulates a survey",
    "test_pools.py::test_many_surveys": "simulates surveys by the thousand",
    "test_conformance.py::test_junk_outputs": "offers junk to every channel at every epsilon",
    "test_waiting.py::test_a_server_that_is_away": "starts and stops databases",
    "test_predictions.py::test_how_much_epsilon": "designs dozens of plans",
    "test_predictions.py::test_no_margin_jumps": "predicts for many crowds",
    "test_predictions.py::test_the_worst_case": "designs dozens of plans",
    "test_predictions.py::test_estimates_scatter": "simulates surveys",
    "test_estimators.py::test_a_wrong_rotation": "trains every model twice",
    "audits/test_plans.py::test_plans_pass": "audits every plan",
    "test_randomisers.py::test_textbook_mechanisms": "attacks every textbook mechanism",
    "test_docs.py::test_tables_are_those": "computes every table of the documents",
    "test_errors.py::test_closed_streams": "starts every command with every stream closed",
    "test_report.py::test_a_mutated_report": "bends thousands of reports",
    "training/test_rounds.py::test_whatever_is_changed": "bends thousands of rounds",
    "test_fuzz.py::test_mutations": "bends thousands of requests",
    "test_estimators.py": "trains models, many times",
    "test_keystream.py::test_threads_of_a_forked_process": "forks while threads draw",
    "test_reveals.py::test_a_reader_who_asks_all_the_time": "polls a collector for seconds",
    "test_waiting.py::test_a_server_that_does_not_answer": "stops a database",
    "test_commands.py::test_the_sessions_of_the_page": "types the commands of a page",
    "web/test_client.py::test_a_real_collector": "starts a collector and Node",
    "test_minimax.py::test_it_is_never_worse": "designs dozens of channels",
    "test_protocol.py::test_no_state_lasts": "waits in every state of a connection",
}

KEPT = (
    "test_alike.py::test_all_records_take_as_many_words[default]",
    "test_whole.py::test_one_step_counts_and_refuses_as_several_do[all four]",
    "test_words.py::test_threads_change_nothing[default]",
    "browser/test_embedding.py::test_the_page_of_the_package",
    "browser/test_relations.py::test_a_table_is_a_heat_map",
    "browser/test_form.py::test_filled_by_keyboard_explained_and_sent_once",
    "test_sqlite_file.py::test_a_running_collector_acknowledges_only_what_is_found_again[deleted]",
    "cli/test_collecting.py::test_a_signal_to_end_leaves_nothing_behind[15-nameless]",
    "test_reveals.py::test_several_processes_show_the_same[sqlite-Reveals]",
    "test_waiting.py::test_every_address_is_503_and_none_hangs[locked]",
    "test_estimators.py::test_known_weights_are_found_again[LogisticRegression]",
    "test_estimators.py::test_it_is_an_estimator[LogisticRegression()-check_estimators_dtypes]",
    "statistical/test_float_attack.py",
    "statistical/test_sampler.py::test_a_broken_twin",
    "test_demo.py::test_the_truth_is_exact",
    "experiments/test_relations.py::test_the_rows_channel_is_close_to_it",
    "experiments/test_wide.py::test_the_law_of_a_crowd",
    "relations/test_coverage.py::test_intervals_hold[means alone-2.0]",
    "test_docs.py::test_code_blocks_run[README.md]",
    "test_minimax.py::test_a_prior_is_made_use_of[1-",
)


def is_slow(name: str) -> bool:
    """Say whether `make test` leaves out the test with this name."""
    return any(f"/{start}" in f"/{name}" for start in SLOW) and not any(f"/{start}" in f"/{name}" for start in KEPT)
