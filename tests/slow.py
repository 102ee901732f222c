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
    "test_alike.py::test_all_records_take_as_many_words": "counts the words of every plan",
    "test_choice.py::test_the_cube_is_taken": "designs plans of every size",
    "test_predictions.py::test_intervals_are_as_wide": "simulates surveys",
    "test_predictions.py::test_the_smallest_crowd": "simulates surveys",
    "test_rotations.py::test_signs_of_a_rotated_vector": "rotates vectors by the thousand",
    "test_whole.py::test_one_step_counts": "counts every plan in two ways, with millions of reports",
    "test_words.py::test_threads_change_nothing": "draws every plan with several numbers of threads",
    "test_duckdb.py::test_damaged_files": "damages every byte of a file",
    "test_estimators.py::test_it_is_an_estimator": "all checks of scikit-learn, for every model",
    "test_estimators.py::test_known_weights_are_found_again": "trains every model on many people",
    "test_minimax.py::test_a_prior_is_made_use_of": "searches for designs under every prior",
    # Browsers
    "browser/": "Chromium",
    "web/test_browser.py": "Chromium",
    # Processes that are killed, besieged or stopped
    "test_wiping.py::test_a_process_that": "searches the memory of processes",
    "test_sqlite_file.py::test_a_second_collector_is_refused_by": "starts a dozen collectors",
    "test_sqlite_file.py::test_a_running_collector": "takes files away from collectors that run",
    "test_fuzz.py::test_a_storm": "storms a collector over sockets",
    "test_kill.py": "kills collectors and databases under load",
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
}

KEPT = (
    "test_alike.py::test_all_records_take_as_many_words[default]",
    "test_whole.py::test_one_step_counts_and_refuses_as_several_do[all four]",
    "test_words.py::test_threads_change_nothing[default]",
    "browser/test_embedding.py::test_the_page_of_the_package",
    "browser/test_form.py::test_filled_by_keyboard_explained_and_sent_once",
    "test_sqlite_file.py::test_a_running_collector_acknowledges_only_what_is_found_again[deleted]",
    "cli/test_collecting.py::test_a_signal_to_end_leaves_nothing_behind[15-nameless]",
    "test_kill.py::test_kill_the_collector_on_sqlite",
    "test_reveals.py::test_several_processes_show_the_same[sqlite-Reveals]",
    "test_waiting.py::test_every_address_is_503_and_none_hangs[locked]",
    "test_estimators.py::test_known_weights_are_found_again[LogisticRegression]",
    "test_estimators.py::test_it_is_an_estimator[LogisticRegression()-check_estimators_dtypes]",
    "statistical/test_float_attack.py",
    "statistical/test_sampler.py",
    "test_demo.py::test_the_truth_is_exact",
    "test_docs.py::test_code_blocks_run[README.md]",
    "test_minimax.py::test_a_prior_is_made_use_of[1-",
)


def is_slow(name: str) -> bool:
    """Say whether `make test` leaves out the test with this name."""
    return any(f"/{start}" in f"/{name}" for start in SLOW) and not any(f"/{start}" in f"/{name}" for start in KEPT)
