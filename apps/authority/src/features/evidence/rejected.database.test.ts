import { randomUUID } from 'node:crypto'
import type { JsonObject } from '@chancery/protocol'
import { accepted, refused } from '@chancery/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { openTestStore } from './evidence.suite.ts'

type TestStore = Awaited<ReturnType<typeof openTestStore>>
let evidenceStore: TestStore
afterEach(() => evidenceStore.stop())

/** Submits records that are refused, two at each second. Returns their claimed ids. */
async function refuse(number: number): Promise<readonly string[]> {
  const ids: string[] = []
  for (let at = 0; at < number; at += 1) {
    evidenceStore.clock.advance(at % 2)
    const evidence_id = randomUUID()
    expect((await evidenceStore.submit({ evidence_id, decision_id: randomUUID(), note: 'secret text' })).status).toBe(
      422,
    )
    ids.unshift(evidence_id)
  }
  return ids
}
const list = async (query = ''): Promise<JsonObject> =>
  accepted(await evidenceStore.get(`/admin/evidence/rejections${query}`))
const idsOf = (answer: JsonObject): readonly unknown[] =>
  (answer['rejections'] as readonly JsonObject[]).map((each) => each['evidence_id'])

describe.each(['entries', 'table'])('GET /admin/evidence/rejections as %s', (where) => {
  it('200: newest first, page by page, with the claimed names and without the record', async () => {
    evidenceStore = await openTestStore({ settings: { NA_EVIDENCE_REJECTIONS: where } })
    const ids = await refuse(5)
    const seen: string[] = []
    let cursor: unknown = null
    do {
      const page: JsonObject = await list(`?limit=2${cursor === null ? '' : `&cursor=${String(cursor)}`}`)
      seen.push(...idsOf(page).map(String))
      cursor = page['next_cursor'] ?? null
      const [first] = page['rejections'] as readonly JsonObject[]
      expect(first).toMatchObject({ code: 'evidence_malformed', count: 1 })
      expect(JSON.stringify(page)).not.toContain('secret text')
    } while (cursor !== null)
    // At equal times the table has no order of submission.
    expect(seen.toSorted()).toEqual(ids.toSorted())
    if (where === 'entries') expect(seen).toEqual(ids)
  })

  it('200: nothing refused', async () => {
    evidenceStore = await openTestStore({ settings: { NA_EVIDENCE_REJECTIONS: where } })
    expect(await list()).toEqual({ count: 0, rejections: [], next_cursor: null })
  })
})

describe('GET /admin/evidence/rejections', () => {
  it('400: bounds, cursors that the authority did not write, unknown parameters', async () => {
    evidenceStore = await openTestStore()
    const get = (query: string) => evidenceStore.get(`/admin/evidence/rejections?${query}`)
    const cursor = (text: string): string => Buffer.from(`1|${text}`).toString('base64url')
    const wrong = ['', 'x', '0', '-1', '1|2', '99999999999999999', `1|2026-01-01T00:00:00.000000Z|${'x'.repeat(36)}`]
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=x',
      'cursor=x',
      ...wrong.map((each) => `cursor=${cursor(each)}`),
    ])
      refused(await get(query), 400, 'invalid_page')
    refused(await get('code=x'), 400, 'unexpected_field')
  })

  it('401: without a signature', async () => {
    evidenceStore = await openTestStore()
    refused(await evidenceStore.na.request('GET', '/admin/evidence/rejections?limit=x'), 401, 'admin_auth_failed')
  })
})

describe('POST /admin/evidence/retention/apply with dry_run', () => {
  const apply = (body: JsonObject, as = 'standard') => evidenceStore.post('/admin/evidence/retention/apply', body, as)

  it('200: says what would be removed, to a standard key, and removes nothing', async () => {
    evidenceStore = await openTestStore()
    await evidenceStore.decide()
    await evidenceStore.decide()
    evidenceStore.clock.advance(3 * 86_400)
    await evidenceStore.decide()
    const before = await evidenceStore.lines()
    const foreseen = accepted(await apply({ older_than_days: 1, dry_run: true }))
    expect(foreseen).toEqual({
      dry_run: true,
      would_change: true,
      removed_count: 4,
      removed_through_sequence: 4,
      stopped_by: 'too_young',
      complete: true,
    })
    expect(await evidenceStore.lines()).toEqual(before)
    const done = accepted(await apply({ older_than_days: 1 }, 'privileged'))
    expect(done).toMatchObject({ removed_count: 4, stopped_by: 'too_young' })
    expect(accepted(await apply({ older_than_days: 1, dry_run: true }))).toMatchObject({
      would_change: false,
      removed_count: 0,
      removed_through_sequence: null,
    })
  })

  it('403 and 400: everything but the signed true needs a privileged key, and a boolean', async () => {
    evidenceStore = await openTestStore()
    for (const dry_run of [false, 'true', 1, null])
      refused(await apply({ older_than_days: 1, dry_run }), 403, 'insufficient_operator_tier')
    refused(await apply({ older_than_days: 1, dry_run: 'true' }, 'privileged'), 400, 'invalid_input')
    refused(await apply({ older_than_days: 0, dry_run: true }), 400, 'invalid_retention')
  })
})
