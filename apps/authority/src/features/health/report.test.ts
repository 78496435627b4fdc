import { writeSortable } from '@chancery/protocol'
import { SharedRead, createLog } from '@chancery/service-kit'
import { ManualClock, type TestAuthority, accepted, startTestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { editPolicies, publishAndEdit } from './edited-policy.suite.ts'
import { HealthCheck, HealthReports } from './report.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

interface Line {
  readonly level: string
  readonly event: string
  readonly [name: string]: unknown
}

/** The test runs its own instance of the job, next to that of the test authority. Logged texts are compared. */
describe('HealthCheck', () => {
  let clock: ManualClock
  let na: TestAuthority
  let watch: HealthCheck
  let lines: Line[]
  beforeEach(async () => {
    clock = new ManualClock()
    watch = new HealthCheck()
    lines = []
    na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  })
  afterEach(() => na.stop())

  /** Runs the check as the job does, and returns what it logged. */
  async function run(): Promise<Line[]> {
    lines = []
    const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Line) }
    const log = createLog({ level: 'info', format: 'json', destination })
    clock.advance(1)
    const { readiness, databaseProbe } = na.features.health
    const metricsText = new SharedRead(() => na.core.metrics.registry.render())
    const parts = { ...na.parts, log, readiness, databaseProbe, metricsText }
    await watch.run({ ...parts, reports: new HealthReports(parts) })
    return lines
  }
  let passed = 0
  beforeEach(() => (passed = 0))
  /** Sets the number of days that are left of the 90 of the window, less a second for each run. */
  const toDaysLeft = (days: number): void => {
    const seconds = (90 - days) * 86_400
    clock.advance(seconds - passed)
    passed = seconds
  }
  const ofKey = (logged: readonly Line[]): readonly Line[] => logged.filter(({ event }) => event.includes('key window'))

  it('logs the end of the key window at 30, 7 and 1 days, once a day, and as an alarm at the end', async () => {
    toDaysLeft(31)
    expect(ofKey(await run())).toEqual([])
    toDaysLeft(30)
    expect(ofKey(await run())).toMatchObject([{ level: 'warn', days_left: 29 }])
    expect(ofKey(await run())).toEqual([])
    toDaysLeft(29)
    expect(ofKey(await run())).toMatchObject([{ level: 'warn' }])
    toDaysLeft(7)
    expect(ofKey(await run())).toMatchObject([{ level: 'warn', days_left: 6 }])
    toDaysLeft(1)
    expect(ofKey(await run())).toMatchObject([{ level: 'error', alarm: true, days_left: 0 }])
    toDaysLeft(0)
    expect(ofKey(await run())).toMatchObject([{ level: 'error', alarm: true, days_left: 0 }])
    expect(lines[0]?.event).toContain('is over: chancery genesis succeed')
  })

  it('logs unhealthy policies with their problems once, and their recovery', async () => {
    expect(await run()).toEqual([])
    await publishAndEdit(na)
    expect(await run()).toMatchObject([
      {
        level: 'error',
        event: 'the active boundary policies are unhealthy: decisions are denied',
        alarm: true,
        problems: 'spending@1 policy_store_integrity_failed',
      },
      { level: 'warn', event: 'the authority is not healthy', status: 'unhealthy' },
    ])
    expect(await run()).toEqual([])
    await editPolicies(na, '"max":6', '"max":5')
    expect((await run()).map(({ event }) => event)).toEqual([
      'the active boundary policies are healthy again',
      'the authority is healthy again',
    ])
  })

  it('logs each change of the reasons of GET /health', async () => {
    accepted(await na.request('GET', '/crl'))
    const dateBack = async (seconds: bigint): Promise<void> => {
      const issued_at = writeSortable(clock.now() - seconds * 1_000_000n)
      await rowsOf(na.core.database).updateTable('crl_versions').set({ issued_at }).execute()
    }
    await dateBack(18n * 3600n)
    expect(await run()).toMatchObject([{ event: 'the authority is not healthy', reasons: 'crl_overdue' }])
    expect(await run()).toEqual([])
    await dateBack(0n)
    expect(await run()).toMatchObject([{ event: 'the authority is healthy again' }])
  })

  it('logs a list near the size limit of its readers once a day, and above it as an alarm', async () => {
    accepted(await na.request('GET', '/crl'))
    const size = (bytes: number) => rowsOf(na.core.database).updateTable('crl_versions').set({ bytes }).execute()
    const ofList = async () => (await run()).filter(({ event }) => event.includes('revocation list'))
    expect(await ofList()).toEqual([])
    await size(33_554_432)
    expect(await ofList()).toMatchObject([{ level: 'warn', bytes: 33_554_432, max_bytes: 67_108_864 }])
    expect(await ofList()).toEqual([])
    await size(67_108_865)
    clock.advance(86_400)
    expect(await ofList()).toMatchObject([{ level: 'error', alarm: true }])
  })
})
