import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { Alarms, type ScrapeTarget } from '../campaigns/operate/alarms.ts'
import { runOperateCases } from '../campaigns/operate/operate.ts'

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

/** A service whose readiness the test sets; undefined when it does not answer. */
function target(ready: () => number | undefined): ScrapeTarget {
  return {
    job: 'chancery-authority',
    instance: 'na1',
    async read() {
      const value = ready()
      if (value === undefined) throw new Error('no answer')
      return `# TYPE chancery_ready gauge\nchancery_ready ${value}\nchancery_clock_offset_seconds -1.5e-05\nchancery_crl_age_seconds NaN\n`
    },
  }
}

describe.runIf(hasPromtool)('the alarms of campaign operate', () => {
  it('accept an alert that fires and ends', async () => {
    let ready: number | undefined = 1
    const alarms = await Alarms.open([target(() => ready)])
    await alarms.scrape(4, 0)
    alarms.expect('before', [])
    ready = 0
    await alarms.scrape(14, 0)
    alarms.expect('during', ['ChanceryNotReady'])
    ready = undefined
    await alarms.scrape(14, 0)
    alarms.expect('away', ['ChanceryInstanceDown'])
    ready = 1
    await alarms.scrape(6, 0)
    alarms.expect('after', [])
    expect(await alarms.verdict()).toEqual([])
  })

  it('report an alert that does not fire, one that does not end and one that is not expected', async () => {
    let ready = 1
    const alarms = await Alarms.open([target(() => ready)])
    await alarms.scrape(20, 0)
    alarms.expect('while all is well', ['ChanceryNotReady'])
    ready = 0
    await alarms.scrape(20, 0)
    alarms.expect('while it is not ready', [], ['ChanceryDiskFull'])
    const [first, second, ...more] = await alarms.verdict()
    expect(first).toMatch(/^while all is well: ChanceryNotReady does not fire/)
    expect(second).toMatch(/^while it is not ready: another alert fires: .*ChanceryNotReady/)
    expect(more).toEqual([])
  })
})

describe.runIf(hasPromtool)('campaign operate', () => {
  it('counts what cannot be set up as a violation', async () => {
    const lines: string[] = []
    const broken = { name: 'broken', run: () => Promise.reject(new Error('no such program')) }
    const result = await runOperateCases({ count: 1, seed: 1, log: (line) => lines.push(line) }, [broken])
    expect(result).toEqual({ cases: 1, violations: 1 })
    expect(lines[0]).toContain('violation: broken: it could not be set up or carried out: Error: no such program')
  })
})
