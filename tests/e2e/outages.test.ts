import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { RULES } from '../campaigns/operate/alarms.ts'
import { type RecordedOutage, readOutage } from '../outages/recorded-outage.ts'

/** `.ci/run` installs it (Debian's package prometheus). */
const hasPromtool = spawnSync('promtool', ['--version']).status === 0

/** What fires at any time from a minute before the outage to twenty minutes after it. Nothing else may. */
interface Fired {
  /** The page, and the seconds after the begin within which it fires. */
  readonly page?: readonly [alert: string, withinSeconds: number]
  readonly tickets: readonly string[]
  /** The recording ends before the outage does. */
  readonly isLasting?: true
}

const EXPECTED: Readonly<Record<string, Fired>> = {
  'database-75-seconds': { page: ['ChanceryNotReady', 90], tickets: [] },
  'database-10-minutes': { page: ['ChanceryNotReady', 90], tickets: [] },
  'database-slow': { tickets: ['ChanceryDatabaseSlow'] },
  // The gateway refuses scrapes without the Redis of its quotas.
  redis: { page: ['ChanceryInstanceDown', 180], tickets: ['ChanceryLimiterFallback'] },
  token: { page: ['ChancerySigningKeyLost', 120], tickets: [] },
  'disk-low': { tickets: ['ChanceryDiskLow'] },
  'disk-full': { page: ['ChanceryDiskReserveInUse', 60], tickets: ['ChanceryDiskLow'] },
  clock: { page: ['ChanceryNotReady', 210], tickets: ['ChanceryClockOff'] },
  'partner-silent': { tickets: ['ChanceryPartnerStale'], isLasting: true },
  'key-not-followed': { tickets: ['ChanceryKeySuccessionStuck'], isLasting: true },
}

describe('recorded outages', () => {
  it('are those that can be recorded, and small', async () => {
    const names = (await readdir(join(import.meta.dirname, '../outages/recorded'))).map((file) => file.split('.')[0])
    expect(names.sort()).toEqual(Object.keys(EXPECTED).sort())
    for (const name of names) {
      const { series, begins, ends, lasts } = await readOutage(name ?? '')
      expect(begins < ends && ends < lasts, name).toBe(true)
      expect(JSON.stringify(series).length, name).toBeLessThan(100_000)
    }
  })

  it.runIf(hasPromtool).each(Object.entries(EXPECTED))('%s: one page for one cause', async (name, fired) => {
    expect(await problemOf(await readOutage(name), fired)).toBeUndefined()
  })

  it.runIf(hasPromtool)('with another alert, without one, or with a late one would be found', async () => {
    const outage = await readOutage('database-75-seconds')
    const { page, tickets } = EXPECTED['database-75-seconds'] ?? { tickets: [] }
    if (page === undefined) throw new Error('no page is expected')
    expect(await problemOf(outage, { tickets })).toMatch(/ChanceryNotReady/)
    expect(await problemOf(outage, { page, tickets: ['ChanceryClockOff'] })).toMatch(/ChanceryClockOff/)
    expect(await problemOf(outage, { page: [page[0], 15], tickets })).toMatch(/ChanceryNotReady/)
  })
})

/** Returns what promtool says against the expectation, or undefined. */
async function problemOf(outage: RecordedOutage, { page, tickets, isLasting }: Fired): Promise<string | undefined> {
  const { interval, begins, lasts, series } = outage
  const ever = (severity: string): string =>
    `group by (alertname) (max_over_time(ALERTS{alertstate="firing",severity="${severity}"}[${lasts}s]))`
  const pages = 'sum(ALERTS{alertstate="firing",severity="page"})'
  const samples = (names: readonly string[]): object[] =>
    names.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 }))
  const checks = [
    { expr: 'ALERTS{alertstate="firing"}', eval_time: begins - interval, exp_samples: [] },
    { expr: ever('page'), eval_time: lasts, exp_samples: samples(page === undefined ? [] : [page[0]]) },
    { expr: ever('ticket'), eval_time: lasts, exp_samples: samples(tickets) },
    // Of one page there is one alert, however many instances there are.
    {
      expr: `max_over_time(${pages}[${lasts}s:15s])`,
      eval_time: lasts,
      exp_samples: page === undefined ? [] : [{ labels: '{}', value: 1 }],
    },
    ...(page === undefined
      ? []
      : [
          {
            expr: `group by (alertname) (max_over_time(ALERTS{alertstate="firing",alertname="${page[0]}"}[${page[1]}s]))`,
            eval_time: begins + page[1],
            exp_samples: samples([page[0]]),
          },
        ]),
    ...(isLasting === true ? [] : [{ expr: 'ALERTS{alertstate="firing"}', eval_time: lasts, exp_samples: [] }]),
  ]
  const file = {
    rule_files: [RULES],
    evaluation_interval: '30s',
    tests: [
      {
        interval: `${interval}s`,
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        promql_expr_test: checks.map((check) => ({ ...check, eval_time: `${check.eval_time}s` })),
      },
    ],
  }
  const folder = await mkdtemp(join(tmpdir(), 'chancery-outage-test-'))
  try {
    // JSON is YAML.
    await writeFile(join(folder, 'outage.test.yaml'), JSON.stringify(file))
    // Collecting garbage less often halves the processor time of promtool.
    const env = { ...process.env, GOGC: '400' }
    await promisify(execFile)('promtool', ['test', 'rules', join(folder, 'outage.test.yaml')], { env })
    return undefined
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string }
    return `${stdout}${stderr}` || String(error)
  } finally {
    await rm(folder, { recursive: true })
  }
}
