import { startTestAuthority } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { jobsOf } from '../features.ts'
import { coreJobs } from './core-jobs.ts'
import { ONCE, jobsOfWorker } from './worker-jobs.ts'

it('names existing jobs, which only the first worker runs', async () => {
  const na = await startTestAuthority()
  const { core, features } = na.authority
  const jobs = [...coreJobs(core, { auditKeptDays: 0 }), ...jobsOf(features, core)]
  await na.stop()
  const names = jobs.map(({ name }) => name)
  expect(ONCE.filter((name) => !names.includes(name))).toEqual([])
  expect(jobsOfWorker(jobs, undefined)).toBe(jobs)
  expect(jobsOfWorker(jobs, { worker: 1 })).toBe(jobs)
  const second = jobsOfWorker(jobs, { worker: 2 }).map(({ name }) => name)
  expect(second).toEqual(names.filter((name) => !ONCE.includes(name)))
  // What these have in memory stops an instance that must not sign.
  expect(second).toEqual(
    expect.arrayContaining(['clock-check', 'high-water', 'key-owner-check', 'signing-probe', 'readiness']),
  )
  // The metrics of each worker show what it counted.
  expect(second).toContain('succession-progress')
})
