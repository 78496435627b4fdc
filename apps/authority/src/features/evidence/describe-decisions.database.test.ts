import type { JsonObject } from '@chancery/protocol'
import { accepted } from '@chancery/testkit'
import { afterEach, expect, it } from 'vitest'
import { describeStored } from './describe-decisions.job.ts'
import { forgeRows, openTestStore } from './evidence.suite.ts'

let evidenceStore: Awaited<ReturnType<typeof openTestStore>>
afterEach(() => evidenceStore.stop())

const describeNow = (): Promise<void> => describeStored(evidenceStore.na.parts, new AbortController().signal)
const find = async (query: string): Promise<JsonObject> =>
  accepted(await evidenceStore.get(`/admin/evidence?order=newest&${query}`))
const count = async (): Promise<JsonObject> =>
  accepted(await evidenceStore.get('/admin/evidence/counts?by=range&split=outcome'))

/** What a database of an earlier release has: entries, and nothing about their decisions. */
const FORGET = [
  'delete from decision_facts',
  'delete from decision_hours',
  'update decision_facts_head set described_through = 0, present_through = (select last_sequence from evidence_head)',
]

it('describes and counts decisions of an earlier release once, and says so before and after', async () => {
  evidenceStore = await openTestStore()
  for (let number = 0; number < 3; number += 1) await evidenceStore.decide({ requester: 'BETA', policies: ['p'] })
  await evidenceStore.decide({ requester: 'GAMMA', authorized: false })
  await forgeRows(evidenceStore.na, ...FORGET)
  await evidenceStore.decide({ requester: 'BETA' })

  expect(await find('requester_sovereign_id=BETA')).toMatchObject({ count: 1, complete: false })
  expect(await count()).toMatchObject({ complete: false, counts: [{ decisions: 1 }] })
  await describeNow()
  await describeNow()
  expect(await find('requester_sovereign_id=BETA')).toMatchObject({ count: 4, complete: true })
  expect(await find('failed_gate=capability_check')).toMatchObject({ count: 1, complete: true })
  expect(await count()).toMatchObject({
    complete: true,
    counts: [
      { outcome: 'authorized', decisions: 4 },
      { outcome: 'denied', decisions: 1 },
    ],
  })
})

it('describes decisions that an instance of an earlier release appends after the migration', async () => {
  evidenceStore = await openTestStore()
  await evidenceStore.decide({ requester: 'BETA' })
  await describeNow()
  await evidenceStore.decide({ requester: 'BETA' })
  await forgeRows(evidenceStore.na, 'delete from decision_facts where store_sequence > 2')
  await describeNow()
  expect(await find('requester_sovereign_id=BETA')).toMatchObject({ count: 2, complete: true })
})

it('goes on after a line that was changed in the database', async () => {
  evidenceStore = await openTestStore()
  await evidenceStore.decide({ requester: 'BETA' })
  await evidenceStore.decide({ requester: 'BETA' })
  await forgeRows(evidenceStore.na, ...FORGET, "update evidence_entries set line = '{}' where store_sequence = 1")
  await describeNow()
  expect(await find('requester_sovereign_id=BETA')).toMatchObject({ count: 1, complete: true })
})
