import { type JsonObject, readReceived, retentionCheckpointForm } from '@chancery/protocol'
import { accepted, refused } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'
import { failuresOf, openTestStore } from './evidence.suite.ts'

let evidenceStore: Awaited<ReturnType<typeof openTestStore>>
beforeEach(async () => {
  evidenceStore = await openTestStore()
})
afterEach(() => evidenceStore.stop())

const DAY = 86_400
const apply = (more: JsonObject = {}) =>
  evidenceStore.post('/admin/evidence/retention/apply', { older_than_days: 1, ...more })

/** Three entries: a decision, its justification, and the first execution of a resource. */
async function use(resource_id: string): Promise<void> {
  const { decision } = await evidenceStore.decide()
  const resource = { resource_id, resource_action: 'create', resource_sequence: 1 } as const
  accepted(await evidenceStore.submit(await evidenceStore.evidence(decision, resource)), 201)
}

describe('POST /admin/evidence/retention/apply', () => {
  it('a dormant resource in front does not stop the removal; its head stays', async () => {
    await use('dormant')
    evidenceStore.clock.advance(400 * DAY)
    await use('busy')
    evidenceStore.clock.advance(2 * DAY)
    await evidenceStore.decide()
    const answer = accepted(await apply())
    expect(answer).toMatchObject({ removed_count: 6, stopped_by: 'too_young' })
    const checkpoint = readReceived(retentionCheckpointForm, answer['checkpoint'] ?? null).record
    expect(Object.keys(checkpoint.resource_heads)).toEqual(['busy', 'dormant'])
    expect(accepted(await evidenceStore.get('/admin/evidence/resource-heads/dormant'))).toMatchObject({
      resource_sequence: 1,
    })
    expect(failuresOf(await evidenceStore.report())).toEqual([])
  })

  it('through_sequence shortens the removal, and never splits a decision', async () => {
    for (const resource of ['a', 'b', 'c']) await use(resource)
    evidenceStore.clock.advance(3 * DAY)
    // Entry 5 is the justification of the second decision.
    const limit = { through_sequence: 5 }
    expect(accepted(await apply({ ...limit, dry_run: true }))).toEqual({
      dry_run: true,
      would_change: true,
      removed_count: 3,
      removed_through_sequence: 3,
      stopped_by: 'split_decision',
      complete: true,
      through_sequence: 5,
    })
    expect(accepted(await apply(limit))).toMatchObject({ removed_count: 3, stopped_by: 'split_decision' })
    expect(accepted(await apply({ through_sequence: 6 }))).toMatchObject({
      removed_count: 3,
      stopped_by: 'through_sequence',
    })
    expect(accepted(await apply({ through_sequence: 6 }))).toMatchObject({ removed_count: 0, checkpoint: null })
    expect(accepted(await apply({ through_sequence: 1 }))).toMatchObject({ removed_count: 0, checkpoint: null })
    expect(failuresOf(await evidenceStore.report())).toEqual([])
  })

  it('through_sequence removes no refused submission: rows outside the chain are in no archive', async () => {
    const row = { rejection_id: 'r1', rejected_at: '2020-01-01T00:00:00.000000Z', code: 'evidence_malformed' }
    const about = { evidence_id: null, decision_id: null, resource_id: null, executor_sovereign_id: null }
    const { database } = evidenceStore.na.core
    await rowsOf(database)
      .insertInto('evidence_rejections')
      .values({ ...row, submitted_digest: 'd', ...about })
      .execute()
    const count = async (): Promise<number> =>
      (await rowsOf(database).selectFrom('evidence_rejections').select('rejection_id').execute()).length
    await use('a')
    evidenceStore.clock.advance(3 * DAY)
    accepted(await apply({ through_sequence: 3 }))
    expect(await count()).toBe(1)
    accepted(await apply())
    expect(await count()).toBe(0)
  })

  it('through_sequence removes nothing that is too young', async () => {
    await use('a')
    expect(accepted(await apply({ through_sequence: 3 }))).toMatchObject({ removed_count: 0, stopped_by: 'too_young' })
  })

  it.each([0, -1, 1.5, '3', null])('400: through_sequence %j', async (through_sequence) => {
    refused(await apply({ through_sequence }), 400, 'invalid_input')
  })
})
