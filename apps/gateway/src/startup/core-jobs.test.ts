import { createLog } from '@chancery/service-kit'
import { ManualClock } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { type CoreJobParts, coreJobs } from './core-jobs.ts'

it('logs a list that grows towards the limit once a day, and again when it grows after shrinking', async () => {
  const clock = new ManualClock()
  const logged: string[] = []
  const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => void logged.push(line) } })
  const issuerState = { policy: { network: 'agency', issuer: 'na-main' }, body: new Uint8Array(499) }
  const trust = { current: { issuers: new Map([['agency', issuerState]]) } }
  const settings = { maxListBytes: 1000, auditRetentionDays: 0, development: false }
  const jobs = coreJobs({ trust, clock, log, settings, state: undefined } as unknown as CoreJobParts)
  const job = jobs.find(({ name }) => name === 'list-sizes')
  const run = async (size: number, seconds: number): Promise<number> => {
    issuerState.body = new Uint8Array(size)
    clock.advance(seconds)
    logged.length = 0
    await job?.run(new AbortController().signal)
    return logged.length
  }
  expect(await run(499, 0)).toBe(0)
  expect(await run(500, 60)).toBe(1)
  expect(JSON.parse(logged[0] ?? '')).toMatchObject({ level: 'warn', network: 'agency', bytes: 500, max_bytes: 1000 })
  expect(await run(600, 86_399)).toBe(0)
  expect(await run(600, 1)).toBe(1)
  expect(await run(499, 60)).toBe(0)
  expect(await run(500, 60)).toBe(1)
})
