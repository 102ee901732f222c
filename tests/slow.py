"""The tests that `make test` leaves out, and why; `make test-slow` runs them.

A key is the beginning of the name that pytest prints: a folder, a file, or one test. The proofs of privacy, the vectors
and at least one test of every capability stay in `make test`: `KEPT` names those that lie in a file of slow ones. They
may take 480 seconds of processor time together, which is 4 minutes on two cores. `pytest -p tests.seconds` measures it.
"""

from __future__ import annotations

TIMEOUT = 900  # seconds for one of them

SLOW: dict[str, str] = {
    # Experiments and documents
    "tests/test_learning_experiment.py": "trains models by every method",
    "tests/test_reproduce.py": "surveys by every method of the paper",
    "tests/test_reproduce_figures.py": "tiny runs of all figures",
    "tests/test_limit.py": "solves linear programs",
    "tests/test_theory.py": "draws the pictures of the theory",
    "tests/test_mutants.py": "breaks sources, and runs tests on them",
    "tests/test_notebook.py": "starts a kernel of Jupyter",
    "tests/test_sessions.py": "types every command of the pages that are told as sessions",
    "tests/test_docs.py::test_code_blocks_run": "runs all code of the documents",
    "tests/collector/test_page.py": "follows the page about PostgreSQL",
    # Long statistics
    "tests/statistical/": "simulates surveys by the thousand",
    "tests/channels/test_cube.py::test_the_sampler_has_the_law_exactly[shape6]": "follows the most paths of all shapes",
    # Browsers
    "tests/browser/": "Chromium",
    "tests/web/test_browser.py": "Chromium",
    # Processes that are killed, besieged or stopped
    "tests/batch/test_wiping.py::test_a_process_that": "searches the memory of processes",
    "tests/collector/test_embedded.py::test_a_second_collector_is_refused_by": "starts a dozen collectors",
    "tests/collector/test_fuzz.py::test_a_storm": "storms a collector over sockets",
    "tests/collector/test_kill.py": "kills collectors and databases under load",
    "tests/collector/test_openapi.py::test_a_running_collector": "lets schemathesis ask for everything",
    "tests/collector/test_postgres.py::test_processes_that_commit": "three processes commit the same reports",
    "tests/collector/test_stalls.py": "looks for pauses of the loop",
    "tests/test_timeouts.py::test_what_hangs_fails": "waits for tests that hang",
    "tests/test_cli_errors.py::test_these_tests_end_under_nohup": "runs tests in a test",
}

KEPT = (
    "tests/browser/test_embedding.py::test_the_page_of_the_package",
    "tests/browser/test_form.py::test_filled_by_keyboard_explained_and_sent_once",
    "tests/collector/test_kill.py::test_kill_the_collector_on_sqlite",
    "tests/statistical/test_float_attack.py",
    "tests/statistical/test_sampler.py",
    "tests/test_docs.py::test_code_blocks_run[README.md]",
)


def is_slow(name: str) -> bool:
    """Say whether `make test` leaves out the test with this name."""
    return any(name.startswith(start) for start in SLOW) and not any(name.startswith(start) for start in KEPT)
