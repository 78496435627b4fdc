import { setTimeout as pause } from 'node:timers/promises'
import { asReceived, readReceived, storeAnchorForm, verifyReceived } from '@chancery/protocol'
import type { JsonObject, StoreAnchor } from '@chancery/protocol'
import { accepted, detailsOf, eventsOf, refused } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failuresOf, forgeRows, openTestStore } from './evidence.suite.ts'

let evidenceStore: Awaited<ReturnType<typeof openTestStore>>
beforeEach(async () => {
  evidenceStore = await openTestStore()
})
afterEach(() => evidenceStore.stop())

const PATH = '/admin/evidence/anchors'
const post = () => evidenceStore.post(PATH, {}, 'standard')
const anchorOf = (answer: JsonObject): StoreAnchor => readReceived(storeAnchorForm, answer['anchor'] ?? null).record

describe('POST /admin/evidence/anchors', () => {
  it('200: creates no anchor for an empty store or an anchored head', async () => {
    expect(accepted(await post())).toEqual({ anchor: null, status: 'unchanged' })
    await evidenceStore.decide()
    const made = accepted(await post(), 201)
    expect(accepted(await post())).toEqual({ anchor: made['anchor'], status: 'unchanged' })
  })

  it('201: signs the head, then the next head with a link to it', async () => {
    await evidenceStore.decide()
    const answer = await post()
    const first = anchorOf(accepted(answer, 201))
    expect(first).toMatchObject({
      anchor_sequence: 1,
      store_sequence: 2,
      sovereign_id: 'TEST-NET',
      issued_by: 'na-test',
    })
    expect(first.previous_anchor_digest).toBeUndefined()
    expect(await verifyReceived(asReceived(storeAnchorForm, first), [evidenceStore.na.core.signing.publicKey])).toEqual(
      {
        ok: true,
      },
    )
    const [event] = await eventsOf(evidenceStore.na, answer)
    expect([event?.['event_type'], detailsOf(event)['store_sequence']]).toEqual(['evidence_anchored', 2])
    evidenceStore.clock.set('2026-01-02T03:04:00Z')
    await evidenceStore.decide()
    const second = anchorOf(accepted(await post(), 201))
    expect(second).toMatchObject({ anchor_sequence: 2, store_sequence: 4, anchored_at: first.anchored_at })
    expect(second.previous_anchor_digest).toMatch(/^[0-9a-f]{64}$/)
    const { anchors } = (await evidenceStore.report()) as { anchors: JsonObject }
    expect(anchors).toMatchObject({
      anchors_checked: 2,
      anchors_matched: 2,
      unanchored_entries: 0,
      chain: { verified: true },
    })
  })

  it('201 once for many concurrent requests', async () => {
    await evidenceStore.decide()
    const answers = await Promise.all(Array.from({ length: 6 }, post))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 201])
  })

  it('409: a store that was changed since the last anchor', async () => {
    await evidenceStore.decide()
    accepted(await post(), 201)
    await evidenceStore.decide({ parameters: { note: 'marker-eeee' } })
    await forgeRows(evidenceStore.na, "update evidence_entries set line = replace(line, 'marker-eeee', 'marker-ffff')")
    const answer = await post()
    expect(refused(answer, 409, 'evidence_anchor_refused')['details']).toEqual({ reason: 'entry_mismatch' })
    const [event] = await eventsOf(evidenceStore.na, answer)
    expect(event?.['event_type']).toBe('evidence_anchor_refused')
  })

  it.each<[string, readonly string[]]>([
    [
      'anchor_mismatch',
      ['update evidence_entries set line = replace(line, \'"store_sequence":2\', \'"store_sequence":9\')'],
    ],
    ['anchored_entry_missing', ['delete from evidence_entries where store_sequence = 2']],
    ['head_below_anchor', ['delete from evidence_entries', 'update evidence_head set last_sequence = 1']],
    ['head_mismatch', ["update evidence_head set last_digest = 'x'"]],
    [
      'anchor_invalid_signature',
      ["update evidence_anchors set anchor_json = replace(anchor_json, '01-02T', '01-01T')"],
    ],
  ])('409: %s', async (reason, statements) => {
    await evidenceStore.decide()
    accepted(await post(), 201)
    await evidenceStore.decide()
    await forgeRows(evidenceStore.na, ...statements)
    expect(refused(await post(), 409, 'evidence_anchor_refused')['details']).toEqual({ reason })
  })

  it('409: the last anchor is dated far ahead of the clock', async () => {
    await evidenceStore.decide()
    accepted(await post(), 201)
    await evidenceStore.decide()
    evidenceStore.clock.set('2026-01-02T02:59:05.600Z')
    expect(refused(await post(), 409, 'evidence_anchor_refused')['details']).toEqual({ reason: 'anchor_in_the_future' })
    evidenceStore.clock.set('2026-01-02T02:59:05.700Z')
    accepted(await post(), 201)
  })

  it('401: operators only', async () => {
    refused(await evidenceStore.na.request('POST', PATH, { body: {} }), 401, 'admin_auth_failed')
  })
})

describe('GET /admin/evidence/anchors', () => {
  it('200: pages of anchors as they were signed; 400 for an invalid page', async () => {
    for (let count = 0; count < 3; count += 1) {
      await evidenceStore.decide()
      accepted(await post(), 201)
    }
    const sequences = (answer: JsonObject): readonly number[] =>
      (answer['anchors'] as readonly StoreAnchor[]).map(({ anchor_sequence }) => anchor_sequence)
    const all = accepted(await evidenceStore.get(PATH))
    expect([all['count'], all['next_after_anchor'], sequences(all)]).toEqual([3, null, [1, 2, 3]])
    const page = accepted(await evidenceStore.get(`${PATH}?after_anchor=1&limit=1`))
    expect([page['count'], page['next_after_anchor'], sequences(page)]).toEqual([1, 2, [2]])
    for (const query of ['limit=0', 'limit=1001', 'after_anchor=-1', 'after_anchor=x'])
      refused(await evidenceStore.get(`${PATH}?${query}`), 400, 'invalid_page')
  })
})

describe('automatic anchors', () => {
  const latest = async (from: typeof evidenceStore): Promise<JsonObject | null> =>
    accepted(await from.get('/admin/evidence/status'))['latest_anchor'] as JsonObject | null

  it('follow an append when the last one is older than the interval', async () => {
    const own = await openTestStore({ settings: { NA_ANCHOR_INTERVAL_SECONDS: '60' } })
    try {
      await own.decide()
      await expect.poll(() => latest(own)).toMatchObject({ anchor_sequence: 1, store_sequence: 2 })
      await own.decide()
      await pause(100)
      expect(await latest(own)).toMatchObject({ anchor_sequence: 1 })
      own.clock.advance(61)
      await own.decide()
      await expect.poll(() => latest(own)).toMatchObject({ anchor_sequence: 2, store_sequence: 6 })
      expect(failuresOf(await own.report())).toEqual([])
    } finally {
      await own.stop()
    }
  })

  it('that fail are audited and never fail the append', async () => {
    const own = await openTestStore({ settings: { NA_ANCHOR_INTERVAL_SECONDS: '1' } })
    try {
      await forgeRows(own.na, 'drop table evidence_anchors')
      await own.decide()
      await expect.poll(() => own.na.auditEvents('evidence_anchor_failed')).toHaveLength(1)
      expect((await own.lines()).length).toBe(2)
    } finally {
      await own.stop()
    }
  })
})
