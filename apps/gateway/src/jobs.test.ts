import { createLog } from '@chancery/service-kit'
import { ManualClock } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { gatewayJobs } from './jobs.ts'
import type { Office } from './office.ts'

it('tells of a list that grows towards the bound, once a day, and again when it grew anew', async () => {
  const clock = new ManualClock()
  const told: string[] = []
  const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => void told.push(line) } })
  const standing = { policy: { network: 'agency', issuer: 'na-main' }, body: new Uint8Array(499) }
  const book = { current: { standings: new Map([['agency', standing]]) } }
  const settings = { maxListBytes: 1000, auditRetentionDays: 0, development: false }
  const jobs = gatewayJobs({ book, clock, log, settings, state: undefined } as unknown as Office)
  const job = jobs.find(({ name }) => name === 'list-sizes')
  const run = async (size: number, seconds: number): Promise<number> => {
    standing.body = new Uint8Array(size)
    clock.advance(seconds)
    told.length = 0
    await job?.run(new AbortController().signal)
    return told.length
  }
  expect(await run(499, 0)).toBe(0)
  expect(await run(500, 60)).toBe(1)
  expect(JSON.parse(told[0] ?? '')).toMatchObject({ level: 'warn', network: 'agency', bytes: 500, max_bytes: 1000 })
  expect(await run(600, 86_399)).toBe(0)
  expect(await run(600, 1)).toBe(1)
  expect(await run(499, 60)).toBe(0)
  expect(await run(500, 60)).toBe(1)
})
