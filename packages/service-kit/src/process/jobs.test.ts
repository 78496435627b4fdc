import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Job, startJobs } from './jobs.ts'
import { createLog } from '../log/log.ts'
import { Metrics } from '../metrics/registry.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/**
 * Random 0.5 is the middle of the jitter: intervals are exact, and the first run comes after half of the first wait.
 */
function tools(random: () => number = () => 0.5) {
  const lines: string[] = []
  const clock = { now: () => 1_767_323_045_678_000n, monotonicMs: () => performance.now() }
  const log = createLog({ level: 'info', format: 'text', destination: { write: (line) => lines.push(line) }, clock })
  return {
    clock,
    log,
    metrics: new Metrics(),
    random,
    events: () => lines.map((line) => line.slice(28).split('\n')[0] ?? ''),
  }
}

function job(run: Job['run'], everySeconds = 60): Job {
  return { name: 'tidy', everySeconds, run }
}

async function startTimes(everySeconds: number, random: () => number, during: number): Promise<number[]> {
  const start = Date.now()
  const times: number[] = []
  const running = startJobs([job(async () => void times.push(Date.now() - start), everySeconds)], tools(random))
  await vi.advanceTimersByTimeAsync(during)
  await running.stop()
  return times
}

describe('startJobs', () => {
  it.each<[string, number, number, number[]]>([
    ['in the middle', 60, 0.5, [2500, 62_500, 122_500]],
    ['earliest', 60, 0, [0, 54_000, 108_000]],
    ['latest', 60, 1, [5000, 71_000, 137_000]],
  ])('runs at the interval, spread by a tenth: %s', async (_name, everySeconds, random, times) => {
    expect(await startTimes(everySeconds, () => random, 140_000)).toEqual(times)
  })

  it('spreads the first run of a frequent job by a tenth of its interval at most', async () => {
    expect(await startTimes(1, () => 1, 150)).toEqual([100])
  })

  it('never overlaps itself', async () => {
    let running = 0
    let most = 0
    let runs = 0
    const slow = job(async () => {
      running += 1
      most = Math.max(most, running)
      runs += 1
      await new Promise((resolve) => setTimeout(resolve, 10_000))
      running -= 1
    }, 1)
    const jobs = startJobs([slow], tools())
    await vi.advanceTimersByTimeAsync(40_000)
    expect(most).toBe(1)
    expect(runs).toBe(4)
    const stopped = jobs.stop()
    await vi.advanceTimersByTimeAsync(10_000)
    await stopped
  })

  it('repeats a failed job after 1 s, doubling up to 5 minutes', async () => {
    const times: number[] = []
    const failing = job(async () => {
      times.push(Date.now())
      throw new Error('down')
    }, 3600)
    const kit = tools()
    const jobs = startJobs([failing], kit)
    await vi.advanceTimersByTimeAsync(1_500_000)
    await jobs.stop()
    expect(await kit.metrics.render()).toContain(`chancery_job_failures_in_row{job="tidy"} ${times.length}`)
    const gaps = times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 1000)
    expect(gaps).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
  })

  it('logs two warnings, an alarm from the third failure in a row, and the recovery', async () => {
    let runs = 0
    const flaky = job(async () => {
      runs += 1
      if (runs !== 3 && runs < 8) throw new RangeError('down')
    }, 1)
    const kit = tools()
    const jobs = startJobs([flaky], kit)
    await vi.advanceTimersByTimeAsync(60_000)
    await jobs.stop()
    expect(kit.events().map((event) => event.replace(/ (?:error|message|duration_ms)=\S+/g, ''))).toEqual([
      'WARN  job failed job=tidy failures_in_row=1',
      'WARN  job failed job=tidy failures_in_row=2',
      'INFO  job recovered job=tidy failures_in_row=2',
      'WARN  job failed job=tidy failures_in_row=1',
      'WARN  job failed job=tidy failures_in_row=2',
      'ERROR job keeps failing job=tidy alarm=true failures_in_row=3',
      'ERROR job keeps failing job=tidy alarm=true failures_in_row=4',
      'INFO  job recovered job=tidy failures_in_row=4',
    ])
    const rendered = await kit.metrics.render()
    expect(rendered).toContain('chancery_job_failures_total{job="tidy"} 6')
    expect(rendered).toContain('chancery_job_failures_in_row{job="tidy"} 0')
    expect(rendered).toContain('chancery_job_last_success_timestamp_seconds{job="tidy"} 1767323045')
  })

  it('counts no failure of an outage, repeats the job after 30 s at most, and counts its own failure afterwards', async () => {
    const start = Date.now()
    const times: number[] = []
    const away = job(async () => {
      times.push((Date.now() - start) / 1000)
      throw times.length <= 8 ? new RangeError('away') : new Error('own')
    }, 600)
    const kit = tools()
    const jobs = startJobs([away], { ...kit, isOutage: async (failure) => failure instanceof RangeError })
    await vi.advanceTimersByTimeAsync(120_000)
    const during = await kit.metrics.render()
    expect(during).not.toContain('chancery_job_failures_in_row{')
    expect(during).toContain('chancery_job_failures_total{job="tidy"} 0')
    expect(during).toContain('chancery_job_runs_total{job="tidy"} 0')
    expect(kit.events()).toEqual([])
    await vi.advanceTimersByTimeAsync(9000)
    await jobs.stop()
    expect(times.slice(1).map((time, index) => time - (times[index] ?? 0))).toEqual([1, 2, 4, 8, 16, 30, 30, 30, 1, 2])
    expect(await kit.metrics.render()).toContain('chancery_job_failures_in_row{job="tidy"} 3')
  })

  it('goes back to its interval after a recovery', async () => {
    const times: number[] = []
    const once = job(async () => {
      times.push(Date.now())
      if (times.length === 1) throw new Error('down')
    }, 60)
    const jobs = startJobs([once], tools())
    await vi.advanceTimersByTimeAsync(70_000)
    await jobs.stop()
    expect(times.slice(1).map((time, index) => time - (times[index] ?? 0))).toEqual([1000, 60_000])
  })

  it('runs other jobs while one job fails', async () => {
    let runs = 0
    const broken: Job = {
      name: 'broken',
      everySeconds: 1,
      run: () => {
        throw new Error('sync')
      },
    }
    const jobs = startJobs([broken, job(async () => void (runs += 1), 1)], tools())
    await vi.advanceTimersByTimeAsync(10_000)
    await jobs.stop()
    expect(runs).toBe(10)
  })

  it('stop aborts running jobs, waits for them, and counts no failure', async () => {
    let ended = false
    const long = job(async (signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      await new Promise((resolve) => setTimeout(resolve, 500))
      ended = true
      throw new Error('interrupted')
    })
    const kit = tools()
    const jobs = startJobs([long], kit)
    await vi.advanceTimersByTimeAsync(5000)
    const stopped = vi.fn()
    const stop = jobs.stop().then(stopped)
    await vi.advanceTimersByTimeAsync(499)
    expect(stopped).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    await stop
    expect(ended).toBe(true)
    expect(kit.events()).toEqual([])
    expect(await kit.metrics.render()).toContain('chancery_job_failures_total{job="tidy"} 0')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('starts nothing after stop', async () => {
    const run = vi.fn(async () => {})
    const jobs = startJobs([job(run)], tools())
    await jobs.stop()
    await vi.advanceTimersByTimeAsync(100_000)
    expect(run).not.toHaveBeenCalled()
  })
})
