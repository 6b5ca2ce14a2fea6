"""Runs cases in worker processes and reports failures, crashes and hangs."""

import faulthandler
import multiprocessing
import time

from qa.stress.cases import compose, failure, kind_of, simplified

TIMEOUT = 300  # seconds after which a case counts as hanging


def with_timeout(case):
    """Return the failure of a case, or None; exit the process after a timeout."""
    faulthandler.dump_traceback_later(TIMEOUT, exit=True)
    try:
        return failure(case)
    finally:
        faulthandler.cancel_dump_traceback_later()


def report(seed):
    """Return a description of the failure of a seed, or None."""
    case = compose(seed)
    first = with_timeout(case)
    if not first:
        return None
    case = simplified(case, with_timeout)
    again = with_timeout(case) or f"{first}\n  (not every time: depends on timing)"
    return f"{case}\nfound: {again}\nto repeat it: python -m qa.stress --seed {seed}\n"


def work(seeds, only, deadline, reports):
    """Run one case after another; a report is a seed that starts, or a seed and its result."""
    for seed in seeds:
        if time.time() > deadline:
            break
        if only is None or kind_of(seed) == only:
            reports.put((seed,))
            reports.put((seed, report(seed)))
    reports.put(())


class Search:
    """Worker processes that run cases; a crash of one counts as a failure."""

    def __init__(self, options):
        self.options = options
        self.first = int(time.time()) * 1000 if options.start is None else options.start
        self.deadline = time.time() + 60 * options.minutes
        if options.cases is not None:
            self.deadline = float("inf")
        self.context = multiprocessing.get_context("spawn")
        self.cases, self.failures = 0, 0

    def run(self):
        """Run until the time or the cases end; return the number of failures."""
        started = time.time()
        workers = [self._worker(job) for job in range(self.options.jobs)]
        while workers and self.failures < self.options.most:
            workers = [worker for worker in workers if self._poll(worker)]
        for process, *_ in workers:
            process.terminate()
        seconds = time.time() - started
        print(
            f"{self.cases} cases in {seconds:.0f} s from seed {self.first}, {self.failures} failed."
        )
        return self.failures

    def _worker(self, job, done=None):
        """Start a process that takes every n-th seed after ``done``, n being the number of jobs."""
        jobs, cases = self.options.jobs, self.options.cases or 10**9
        first = self.first + job if done is None else done + jobs
        seeds = range(first, self.first + cases, jobs)
        reports = self.context.SimpleQueue()
        arguments = (seeds, self.options.only, self.deadline, reports)
        process = self.context.Process(target=work, args=arguments)
        process.start()
        return [process, reports, job, None]

    def _poll(self, worker):
        """Read the next report of a worker; return False when it has finished."""
        process, reports, job, seed = worker
        if reports.empty():
            if process.is_alive():
                time.sleep(0.02)
            elif reports.empty():  # and no report was sent meanwhile
                if seed is None:
                    raise RuntimeError("a process ended before its first case")
                self._fail(f"{compose(seed)}\nfound: the process died or hung ({process.exitcode})")
                worker[:] = self._worker(job, seed)
            return True
        message = reports.get()
        if not message:
            process.join()
            return False
        worker[3] = message[0]
        if len(message) == 2:
            self.cases += 1
            if message[1]:
                self._fail(message[1])
        return True

    def _fail(self, text):
        self.failures += 1
        print(text, flush=True)
