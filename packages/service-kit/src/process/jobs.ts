import { SECOND } from '@chancery/protocol'
import type { Clock } from '../system.ts'
import { toError } from '../log/fields.ts'
import type { Log } from '../log/log.ts'
import type { Counter, Gauge, Metrics } from '../metrics/registry.ts'
import { sleep } from '../async/sleep.ts'

/** Background work. A run does a limited amount, stops when the signal aborts, and may be repeated at any time. */
export interface Job {
  readonly name: string
  readonly everySeconds: number
  run(signal: AbortSignal): Promise<void>
}

export interface JobTools {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Random number from 0 up to 1. Spreads runs in time. */
  readonly random?: () => number
  /** Whether the service, and not the job, failed: the service reports that itself, so the job reports nothing. */
  readonly isOutage?: (failure: Error) => Promise<boolean>
}

export interface RunningJobs {
  /** Signals running jobs to end, starts no more, and resolves when none runs. */
  stop(): Promise<void>
}

const JITTER = 0.1
const MAX_FIRST_WAIT_MS = 5000
const FIRST_BACK_OFF_MS = 1000
const MAX_BACK_OFF_MS = 300_000
/** Longest pause during an outage of the service: how long a job waits after it. */
const MAX_OUTAGE_BACK_OFF_MS = 30_000
const ALARM_AFTER = 3

interface JobGauges {
  readonly runs: Counter
  readonly failures: Counter
  readonly failuresInRow: Gauge
  readonly lastSuccess: Gauge
}

/**
 * Runs every job repeatedly: first a few seconds after the start, then at its interval plus or minus a tenth, so that
 * instances started together do not run at the same time. Runs of one job never overlap. A job that throws runs again
 * after 1 s, doubling up to 5 minutes, and raises an alarm from the third failure in a row (reliability 13). A run that
 * fails because of an outage of the service counts neither as a failure nor as a success.
 */
export function startJobs(jobs: readonly Job[], tools: JobTools): RunningJobs {
  const names = jobs.map((job) => job.name)
  const labels = { job: names }
  const { metrics } = tools
  const runs = metrics.counter({ name: 'chancery_job_runs_total', help: 'Finished runs of background jobs.', labels })
  const failures = metrics.counter({
    name: 'chancery_job_failures_total',
    help: 'Runs of background jobs that failed.',
    labels,
  })
  const failuresInRow = metrics.gauge({
    name: 'chancery_job_failures_in_row',
    help: 'Failed runs of a background job since its last success.',
    labels,
  })
  const lastSuccess = metrics.gauge({
    name: 'chancery_job_last_success_timestamp_seconds',
    help: 'When a background job last succeeded.',
    labels,
  })
  const stopping = new AbortController()
  const loops = jobs.map((job) => {
    const of = { job: job.name }
    const gauges = {
      runs: runs.with(of),
      failures: failures.with(of),
      failuresInRow: failuresInRow.with(of),
      lastSuccess: lastSuccess.with(of),
    }
    return repeat(job, tools, gauges, stopping.signal)
  })
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(loops)
    },
  }
}

async function repeat(job: Job, tools: JobTools, gauges: JobGauges, signal: AbortSignal): Promise<void> {
  const random = tools.random ?? Math.random
  const log = tools.log.child({ job: job.name })
  const interval = job.everySeconds * 1000
  let failuresInRow = 0
  let outagesInRow = 0
  let wait = random() * Math.min(interval * JITTER, MAX_FIRST_WAIT_MS)
  for (;;) {
    await sleep(wait, signal)
    if (signal.aborted) return
    const start = tools.clock.monotonicMs()
    const failure = await runOnce(job, signal)
    // A run that ends because of the signal has not failed.
    if (failure !== undefined && signal.aborted) return
    const durationMs = Math.round(tools.clock.monotonicMs() - start)
    if (failure !== undefined && (await tools.isOutage?.(failure)) === true) {
      log.debug('job waits for the end of an outage', { error: failure, duration_ms: durationMs })
      wait = spread(backOff((outagesInRow += 1), MAX_OUTAGE_BACK_OFF_MS), random)
      continue
    }
    outagesInRow = 0
    gauges.runs.increase()
    if (failure === undefined) {
      gauges.lastSuccess.set(Number(tools.clock.now() / SECOND))
      if (failuresInRow > 0) log.info('job recovered', { failures_in_row: failuresInRow })
      log.debug('job done', { duration_ms: durationMs })
      failuresInRow = 0
      gauges.failuresInRow.set(0)
      wait = spread(interval, random)
    } else {
      failuresInRow += 1
      gauges.failures.increase()
      gauges.failuresInRow.set(failuresInRow)
      const fields = { error: failure, failures_in_row: failuresInRow, duration_ms: durationMs }
      if (failuresInRow >= ALARM_AFTER) log.error('job keeps failing', { alarm: true, ...fields })
      else log.warn('job failed', fields)
      wait = spread(backOff(failuresInRow, MAX_BACK_OFF_MS), random)
    }
  }
}

async function runOnce(job: Job, signal: AbortSignal): Promise<Error | undefined> {
  try {
    await job.run(signal)
    return undefined
  } catch (thrown) {
    return toError(thrown)
  }
}

function backOff(inRow: number, mostMs: number): number {
  return Math.min(FIRST_BACK_OFF_MS * 2 ** (inRow - 1), mostMs)
}

function spread(milliseconds: number, random: () => number): number {
  return milliseconds * (1 + JITTER * (2 * random() - 1))
}
