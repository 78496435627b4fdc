import { describe, expect, it } from 'vitest'
import { Restarts, checkWorkers } from './restarts.ts'

const MINUTE = 60_000

describe('restarts', () => {
  it('are repeated from the third within ten minutes', () => {
    const restarts = new Restarts()
    for (const minute of [0, 6]) restarts.add(minute * MINUTE)
    expect(restarts.areRepeated(6 * MINUTE)).toBe(false)
    restarts.add(9 * MINUTE)
    expect([restarts.areRepeated(9 * MINUTE), restarts.areRepeated(10 * MINUTE)]).toEqual([true, false])
    // The three newest count.
    restarts.add(15 * MINUTE)
    expect([restarts.areRepeated(15 * MINUTE), restarts.areRepeated(16 * MINUTE)]).toEqual([true, false])
  })

  it('are the same in a worker', () => {
    const restarts = new Restarts()
    for (let n = 0; n < 3; n += 1) restarts.add()
    const inWorker = new Restarts(restarts.timesMs.slice(1))
    expect(inWorker.areRepeated()).toBe(false)
    inWorker.replace(restarts.timesMs)
    expect(inWorker.areRepeated()).toBe(true)
  })
})

describe('what a doctor says about workers', () => {
  const check = (workers: number, warnings?: unknown, cores = 4) =>
    checkWorkers({ setting: 'NA_WORKERS', workers, warnings }, cores).map(({ status, found, fix }) => [
      status,
      found,
      fix,
    ])

  it('is nothing without workers, and good for as many as cores', () => {
    expect(check(1, ['workers_restart'])).toEqual([])
    expect(check(4)).toEqual([['good', '4 on 4 cores', undefined]])
    expect(check(2, ['newer_schema'])).toEqual([['good', '2 on 4 cores', undefined]])
  })

  it('is a warning for more workers than cores, and for workers that end repeatedly', () => {
    expect(check(5)).toEqual([
      [
        'warn',
        'NA_WORKERS starts 5 workers on a machine with 4 cores',
        'Set NA_WORKERS=auto, or a number of at most 4.',
      ],
    ])
    expect(check(2, ['workers_restart'])).toEqual([
      ['warn', expect.stringContaining('3 times or more within 10 minutes'), expect.stringContaining('"alarm"')],
    ])
    expect(check(5, ['workers_restart'])).toHaveLength(2)
  })
})
