"""The searches of a sweep, side by side: each is a chain of iterations, whose steps end in a file."""

from __future__ import annotations

import asyncio
import datetime
import math
import socket
from collections.abc import Sequence
from contextlib import aclosing

from distributed.scheduler import KilledWorker

from abtune.dataset.schema import RunStatus, TrialOrigin, TrialStatus
from abtune.measure.plan.plan import Plan, Run, rng_for
from abtune.measure.plan.problem import Problem
from abtune.measure.plan.records import RunRecord, SearchHistory
from abtune.measure.store.store import Store
from abtune.measure.sweep.candidates import try_candidates
from abtune.measure.sweep.health_check import taking_over
from abtune.measure.sweep.session import Session
from abtune.measure.workers.fork_server import ChildError
from abtune.measure.workers.gathering import first_error
from abtune.measure.workers.tasks import in_process, propose
from abtune.text import most_frequent

# A step of a search that dies is tried again. To propose again takes other random numbers.
ATTEMPTS = 3
# After this many failed trials in a row the machine may be at fault.
SUSPICIOUS = 4


class Search:
    """One run on its way."""

    def __init__(
        self,
        session: Session,
        run: Run,
        past: tuple[SearchHistory, str],
        group: Sequence[Search],
        priority: int,
    ) -> None:
        self.session, self.run = session, run
        self.settings, self.cluster = session.plan.settings, session.cluster
        self.history, started = past  # all its trials so far, and when it started
        self.started = started or now()
        self.group = group  # the searches of its shape and seed if they share what they find, itself included
        self.priority = priority  # a higher one goes first
        self.moved = asyncio.Condition()  # notified when it has kept a step, or is over
        self.is_finished = session.store.is_finished(run)
        self._problem = Problem(shape=run.shape, config=run.config, target=self.settings.target)

    async def carry_on(self) -> None:
        """Search to the end, or until the time is up."""
        failures = 0  # of the present step
        while step := self.history.next_step(self.settings):
            try:
                if step == "propose":
                    longer = await self._propose(failures)
                else:
                    longer = await (self._try() if step == "try" else self._exchange())
            except (ChildError, KilledWorker) as error:
                failures += 1
                if failures < ATTEMPTS:
                    continue
                await self._prove(broken=True)
                await self.finish(f"the search could not {step} candidates, {ATTEMPTS} times: {error}")
                return
            failures = 0
            await self._prove(broken=self._looks_broken(longer))
            self._keep(longer)
            await self._notify()
        await self.finish("")

    async def _prove(self, *, broken: bool) -> None:
        """Wait until the machine has proved fit; have it checked again if it may have broken since."""
        if not self.session.health.passed.is_set():
            await self.session.health.passed.wait()
        elif broken:
            await self.session.health.rerun()

    def _looks_broken(self, longer: SearchHistory, *, hangs: bool = False) -> bool:
        """Tell whether all of the last candidates failed; with ``hangs``, whether all took too long."""
        recent = {trial.status for trial in longer.trials[-SUSPICIOUS:]}
        failed = recent == {TrialStatus.TIMED_OUT} if hangs else TrialStatus.OK not in recent
        return failed and len(longer.trials) > len(self.history.trials)

    async def _propose(self, attempt: int) -> SearchHistory:
        history = self.history
        count, threads = history.count(self.settings), self.cluster.threads(self.session.runs_left)
        task = (propose, self._problem, history, count, self._rng_seed(attempt), threads)
        proposal, seconds = await self.cluster.run("search", *task, priority=self.priority)
        candidates, cost_model, repeated = proposal
        self.session.repeated += repeated
        longer = history.proposed(candidates, cost_model=cost_model, seconds=seconds)
        # An iteration that finds nothing new is over.
        return longer if longer.pending else longer.tried((), seconds=0.0)

    async def _exchange(self) -> SearchHistory:
        """Return the history after an exchange: the partner's fastest schedules are to be tried."""
        history = self.history
        (partner,), exchange = (one for one in self.group if one is not self), len(history.exchanged_at)
        async with partner.moved:
            await partner.moved.wait_for(lambda: partner.is_finished or partner.history.iterations > exchange)
        count = history.count(self.settings)
        known = frozenset(trial.candidate.module_hash for trial in history.trials)
        texts = [trial.candidate.text for trial in partner.history.offer(exchange)]
        task = (in_process, "adopt", self._problem, texts, known, count)
        with taking_over(self.run.config):
            candidates, seconds = await self.cluster.run("search", *task, priority=self.priority)
        return history.exchanged(candidates, seconds=seconds)

    def _rng_seed(self, attempt: int) -> int:
        run, iteration = self.run, self.history.iterations
        rng = rng_for(self.settings.rng_seed, run.shape.label, run.config.name, run.seed, iteration, attempt)
        # TVM takes seeds modulo 2**31 - 1, and 0 as 1 (``random_engine.h``). So no two of these are the same.
        return int(rng.integers(1, 2**31 - 1))

    async def _try(self) -> SearchHistory:
        history, cores = self.history, self.cluster.threads(self.session.runs_left)
        pending = (self.settings, self.cluster, self._problem, history.pending)
        try:
            async with aclosing(try_candidates(*pending, priority=self.priority, cores=cores)) as tried:
                async for trials, seconds in tried:
                    history = history.tried(trials, seconds=seconds)
                    # A device that hangs costs each candidate its whole time limit, so it is not waited for.
                    await self._prove(broken=self._looks_broken(history, hangs=True))
        except (asyncio.CancelledError, ChildError, KilledWorker):  # the trials until here count
            kept = history is not self.history and not self._looks_broken(history)
            if kept and self.session.health.passed.is_set():
                self._keep(history)
            raise
        return history

    def _keep(self, history: SearchHistory) -> None:
        self.session.store.save_history(self.run, history, self.started)
        self.session.advance(len(history.trials) - len(self.history.trials))
        self.history = history

    async def finish(self, failure: str) -> None:
        """End the run, with the reason if it has failed."""
        record = self._record(failure)
        self.session.store.save_record(record)
        self.session.note_record(record)
        self.session.advance(self.settings.trials - len(self.history.trials))
        self.is_finished = True
        await self._notify()

    async def _notify(self) -> None:
        """Wake the partner, which waits for this search to have something to exchange."""
        async with self.moved:
            self.moved.notify_all()

    def _record(self, failure: str) -> RunRecord:
        """Return the record of the run; without a candidate that could be timed it has failed."""
        run, trials = self.run, self.history.trials
        reason = most_frequent(trial.message for trial in trials)
        # The best of some trials must not pass for the best of all.
        winner = None if failure else self.history.winner
        if winner is None and not failure:
            failure = f"no candidate could be timed: {reason or 'the search found nothing'}"
        is_shared = self.settings.is_shared
        return RunRecord(
            shape=run.shape.label,
            config=run.config.name,
            seed=run.seed,
            status=RunStatus.FAILED if failure else RunStatus.COMPLETE,
            failure=failure,
            search_latency=winner.latency if winner else math.nan,
            trial_latency=[trial.latency for trial in trials],
            trial_status=[trial.status for trial in trials],
            winner=winner.candidate.record if winner else None,
            tuning_time=self.history.seconds,
            started=self.started,
            finished=now(),
            host=socket.gethostname(),
            trial_origin=[TrialOrigin(trial.candidate.carried_over) for trial in trials if is_shared],
            trial_failure=reason,
        )


def now() -> str:
    """Return the present time in UTC, ISO 8601."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")


async def search_all(session: Session) -> None:
    """Carry out the runs that are left, until they are done or the time is up."""
    # The machine is checked meanwhile. Searches propose at once, but nothing is kept before it proves fit.
    plan, store = session.plan, session.store
    if not plan.runs:
        return
    if plan.settings.is_shared:
        _forget_half_pairs(plan, store)
    left = [run for run in plan.runs if not store.is_finished(run)]
    trials = plan.settings.trials
    groups = grouped(plan.runs, shared=plan.settings.is_shared)
    groups = [group for group in groups if not all(map(store.is_finished, group))]
    histories = {run.key: store.history(run) for group in groups for run in group}
    tried = sum(len(histories[run.key][0].trials) for run in left)
    session.progress.begin("trials", len(plan.runs) * trials, (len(plan.runs) - len(left)) * trials + tried)
    # Two runs per slot, so that cores search for one half while devices time the other half.
    together = max(map(len, groups), default=1)
    slots = asyncio.Semaphore((2 * session.cluster.searchers + session.cluster.devices) // together)

    async def search(group: Sequence[Run], priority: int) -> None:
        async with slots:
            # Taken out, so that the history of a finished run is freed.
            past = [histories.pop(run.key) for run in group]
            await _search_together(session, group, past, priority)
            # A finished run has one more winner to measure, so the other searches have to end earlier.
            if not limit.expired():
                limit.reschedule(_deadline(session))

    try:
        async with asyncio.timeout_at(_deadline(session)) as limit, asyncio.TaskGroup() as tasks:
            if left:
                tasks.create_task(session.health.run())
            for index, group in enumerate(groups):
                tasks.create_task(search(group, -index))
    except TimeoutError:
        session.out_of_time = not all(map(store.is_finished, plan.runs))
        await session.cluster.interrupt()
    except BaseExceptionGroup as group_error:
        raise first_error(group_error) from None


def _forget_half_pairs(plan: Plan, store: Store) -> None:
    """Forget each complete search whose partner is not finished, if nothing is left of what it found.

    This is so where only the dataset of a sweep is left. The partner could exchange nothing with it, and
    half a pair cannot be analysed, so both are made anew.
    """
    for pair in grouped(plan.runs, shared=True):
        finished = [run for run in pair if store.is_finished(run)]
        for run in finished if len(finished) < len(pair) else ():
            if store.record(run).status is RunStatus.COMPLETE and not store.history(run)[0].trials:
                store.forget_run(run)


async def _search_together(
    session: Session, group: Sequence[Run], past: Sequence[tuple[SearchHistory, str]], priority: int
) -> None:
    """Carry out the runs of a group that are left; ``past`` has what each found, and when it began."""
    searches: list[Search] = []
    searches += [Search(session, run, one, searches, priority) for run, one in zip(group, past, strict=True)]
    async with asyncio.TaskGroup() as tasks:
        for search in searches:
            if not search.is_finished:
                tasks.create_task(search.carry_on())
    # A partner that goes on in a later session still needs what a finished search offers.
    if all(search.is_finished for search in searches):
        for run in group:
            session.store.forget_search(run)


def _deadline(session: Session) -> float:
    """Return the event loop's time at which searching must end; infinite without a limit."""
    return asyncio.get_running_loop().time() + session.time_left() - session.reserve()


def grouped(runs: Sequence[Run], *, shared: bool) -> list[tuple[Run, ...]]:
    """Return the runs in groups that start together: pairs if they share what they find, else single runs."""
    groups: dict[object, list[Run]] = {}
    for run in runs:
        groups.setdefault((run.shape, run.seed) if shared else run.key, []).append(run)
    return [tuple(group) for group in groups.values()]
