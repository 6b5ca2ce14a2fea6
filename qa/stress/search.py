"""Cases in processes of their own: what they find is told, and so is one that dies or hangs."""

import faulthandler
import multiprocessing
import time

from qa.stress.check import compose, failure, simplified

PATIENCE = 120  # seconds after which a case hangs


def patiently(case):
    """Return what is wrong with a case, or None; the process ends when it takes too long."""
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    try:
        return failure(case)
    finally:
        faulthandler.cancel_dump_traceback_later()


def told(seed):
    """Return what one seed has found as text, or None."""
    case = compose(seed)
    first = patiently(case)
    if not first:
        return None
    case = simplified(case, patiently)
    again = patiently(case) or f"{first}\n  (not every time: a moment or a thread decides)"
    return f"{case}\nfound: {again}\nto repeat it: python -m qa.stress --seed {seed}\n"


def work(seeds, deadline, reports):
    """Run one case after another; a report is a seed that begins, or one and what was found."""
    for seed in seeds:
        if time.time() > deadline:
            break
        reports.put((seed,))
        reports.put((seed, told(seed)))
    reports.put(())


class Search:
    """Processes that run cases; one that dies has found something, too."""

    def __init__(self, options):
        self.options = options
        self.first = int(time.time()) * 1000 if options.start is None else options.start
        self.deadline = time.time() + 60 * options.minutes
        if options.cases is not None:
            self.deadline = float("inf")
        self.context = multiprocessing.get_context("spawn")
        self.cases, self.failures = 0, 0

    def run(self):
        """Run until the time or the cases are over; return how many failed."""
        started = time.time()
        workers = [self._worker(job) for job in range(self.options.jobs)]
        while workers and self.failures < self.options.most:
            workers = [worker for worker in workers if self._listen(worker)]
        for process, *_ in workers:
            process.terminate()
        spent = time.time() - started
        print(
            f"{self.cases} cases in {spent:.0f} s from seed {self.first}, {self.failures} failed."
        )
        return self.failures

    def _worker(self, job, done=-1):
        """Begin a process that takes every so many-th seed after those that are done."""
        jobs, cases = self.options.jobs, self.options.cases or 10**9
        first = self.first + job if done < 0 else done + jobs
        seeds = range(first, self.first + cases, jobs)
        reports = self.context.SimpleQueue()
        process = self.context.Process(target=work, args=(seeds, self.deadline, reports))
        process.start()
        return [process, reports, job, None]

    def _listen(self, worker):
        """Take what a worker has to say; False when it has nothing more to do."""
        process, reports, job, seed = worker
        if reports.empty():
            if process.is_alive():
                time.sleep(0.02)
            elif reports.empty():  # nor has it said something in the meantime
                if seed is None:
                    raise RuntimeError("a process ended before its first case")
                self._tell(f"{compose(seed)}\nfound: the process died or hung ({process.exitcode})")
                worker[:] = self._worker(job, seed)
            return True
        report = reports.get()
        if not report:
            process.join()
            return False
        worker[3] = report[0]
        if len(report) == 2:
            self.cases += 1
            if report[1]:
                self._tell(report[1])
        return True

    def _tell(self, text):
        self.failures += 1
        print(text, flush=True)
