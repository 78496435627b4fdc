// oxlint-disable max-lines -- every status of one route
import { createHash, randomUUID } from 'node:crypto'
import { JsonFloat, canonicalJson, readReceived, recordDigest, writeInstant } from '@chancery/protocol'
import { executionEvidenceForm, instantOf, seconds } from '@chancery/protocol'
import type { BoundaryDecision, ExecutionEvidence, JsonObject } from '@chancery/protocol'
import { accepted, detailsOf, eventsOf, refused, startTestAuthority, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { failuresOf, openTestStore, parseLines } from './evidence.suite.ts'

let evidenceStore: Awaited<ReturnType<typeof openTestStore>>
let open: BoundaryDecision
beforeAll(async () => {
  evidenceStore = await openTestStore()
  open = (await evidenceStore.decide()).decision
})
afterAll(() => evidenceStore.stop())

/** SHA-256 of sorted compact JSON, independent of the product. Sufficient for ASCII records with integers. */
function digest(value: unknown): string {
  const sorted = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(sorted)
    if (typeof part !== 'object' || part === null) return part
    const members = Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(members.map(([name, each]) => [name, sorted(each)]))
  }
  return createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('hex')
}
const linkOf = (record: JsonObject): string => recordDigest(readReceived(executionEvidenceForm, record))
const rejections = async (): Promise<number> =>
  Number(accepted(await evidenceStore.get('/admin/evidence/status'))['rejections'])

describe('POST /evidence/execution', () => {
  describe('201', () => {
    it('returns the entry as stored, linked to the one before it, and audits it', async () => {
      const { decision } = await evidenceStore.decide()
      const record = await evidenceStore.evidence(decision, {
        resource_id: 'kv/api {key}',
        resource_action: 'create',
        resource_sequence: 1,
      })
      const sent = await evidenceStore.submit(record)
      const answer = accepted(sent, 201)
      const lines = parseLines(await evidenceStore.lines())
      const [before, last] = lines.slice(-2)
      expect(answer).toEqual({ entry: last?.['entry'], entry_digest: last?.['entry_digest'], status: 'recorded' })
      expect(answer['entry']).toEqual({
        store_sequence: lines.length,
        entry_kind: 'execution',
        recorded_at: '2026-01-02T03:04:05.678000Z',
        payload_digest: digest(record),
        prev_entry_digest: before?.['entry_digest'],
        decision_id: decision.decision_id,
        context_id: decision.context_id,
        vendor_id: 'vendor-1',
        attestation_id: decision.agreement_id,
        capability: 'secret.rotate',
        outcome: 'success',
        evidence_id: record.evidence_id,
        executor_sovereign_id: 'rotator',
        exec_sequence_no: 1,
        resource_id: 'kv/api {key}',
        resource_action: 'create',
        resource_sequence: 1,
      })
      expect(answer['entry_digest']).toBe(digest(answer['entry']))
      const events = await eventsOf(evidenceStore.na, sent)
      expect(events.map((event) => event['event_type'])).toEqual(['evidence_recorded'])
      expect(detailsOf(events[0])).toMatchObject({
        evidence_id: record.evidence_id,
        decision_id: decision.decision_id,
        resource_id: 'kv/api {key}',
        store_sequence: lines.length,
      })
    })

    it('stores the payload as received: null members, floats and umlauts included', async () => {
      const { decision } = await evidenceStore.decide()
      const record = await evidenceStore.evidence(decision, {
        execution_parameters: { whole: 90, real: new JsonFloat(90), text: 'Zürich' },
      })
      const sent = { ...record, resource_id: null, resource_action: null, resource_sequence: null }
      accepted(await evidenceStore.submit(sent), 201)
      const payload = parseLines(await evidenceStore.lines()).at(-1)?.['payload']
      expect(canonicalJson(payload ?? null)).toBe(canonicalJson(sent))
    })

    it('continues both chains, each by its own digest', async () => {
      const resource = { resource_id: 'chain', resource_action: 'rotate' } as const
      const { decision } = await evidenceStore.decide()
      const first = await evidenceStore.evidence(decision, { ...resource, resource_sequence: 1 })
      accepted(await evidenceStore.submit(first), 201)
      const link = linkOf(first)
      expect(link).toBe(digest(Object.fromEntries(Object.entries(first).filter(([name]) => name !== 'signature'))))
      const second = await evidenceStore.evidence(decision, { sequence_no: 2, prev_evidence_digest: link })
      accepted(await evidenceStore.submit(second), 201)
      const other = (await evidenceStore.decide()).decision
      const third = await evidenceStore.evidence(other, {
        ...resource,
        resource_sequence: 2,
        prev_resource_digest: link,
      })
      accepted(await evidenceStore.submit(third), 201)
      expect(failuresOf(await evidenceStore.report())).toEqual([])
    })

    it('accepts both ends of the decision window', async () => {
      for (const end of ['decision_made_at', 'decision_valid_until'] as const) {
        const { decision } = await evidenceStore.decide()
        accepted(
          await evidenceStore.submit(await evidenceStore.evidence(decision, { executed_at: decision[end] })),
          201,
        )
      }
    })
  })

  describe('200', () => {
    it('reports the identical record as a duplicate, with its entry, and appends nothing', async () => {
      const { decision } = await evidenceStore.decide()
      const record = await evidenceStore.evidence(decision)
      const first = accepted(await evidenceStore.submit(record), 201)
      const count = (await evidenceStore.lines()).length
      const repeated = await evidenceStore.submit({ ...record, resource_id: null, prev_resource_digest: null })
      const again = accepted(repeated)
      expect(again).toEqual({ ...first, status: 'duplicate' })
      expect((await evidenceStore.lines()).length).toBe(count)
      expect((await eventsOf(evidenceStore.na, repeated)).map((event) => event['event_type'])).toEqual([
        'evidence_duplicate',
      ])
    })
  })

  describe('400', () => {
    it.each([undefined, null, [], 'x', 5])('refuses evidence that is not an object: %j', async (evidence) => {
      const before = await rejections()
      refused(await evidenceStore.submit(evidence), 400, 'invalid_evidence')
      expect(await rejections()).toBe(before)
    })
  })

  describe('409', () => {
    it('refuses another record with a used id or position', async () => {
      const { decision } = await evidenceStore.decide()
      const record = await evidenceStore.evidence(decision, {
        resource_id: 'taken',
        resource_action: 'create',
        resource_sequence: 1,
      })
      accepted(await evidenceStore.submit(record), 201)
      const second = { sequence_no: 2, prev_evidence_digest: linkOf(record) }
      const sameId = await evidenceStore.evidence(decision, { ...second, evidence_id: record.evidence_id })
      refused(await evidenceStore.submit(sameId), 409, 'evidence_conflict')
      refused(await evidenceStore.submit({ ...record, signature: null }), 409, 'evidence_conflict')
      refused(await evidenceStore.submit(await evidenceStore.evidence(decision)), 409, 'evidence_conflict')
      const place = { resource_id: 'taken', resource_action: 'update', resource_sequence: 1 } as const
      refused(
        await evidenceStore.submit(await evidenceStore.evidence(decision, { ...second, ...place })),
        409,
        'evidence_conflict',
      )
    })
  })

  describe('422', () => {
    const shift = (time: string, micros: bigint): string => writeInstant(instantOf(time) + micros)
    const wrong: readonly [string, string, (d: BoundaryDecision) => Promise<JsonObject>][] = [
      [
        'a missing member',
        'evidence_malformed',
        async (d) => without(await evidenceStore.evidence(d), 'outcome_detail'),
      ],
      ['no signature member', 'evidence_malformed', async (d) => without(await evidenceStore.evidence(d), 'signature')],
      ['an unknown member', 'evidence_malformed', async (d) => ({ ...(await evidenceStore.evidence(d)), more: 1 })],
      [
        'a member in the signature',
        'evidence_malformed',
        async (d) => {
          const record = await evidenceStore.evidence(d)
          return { ...record, signature: { ...record.signature, more: 1 } as JsonObject }
        },
      ],
      [
        'sequence_no 1.0',
        'evidence_malformed',
        async (d) => ({ ...(await evidenceStore.evidence(d)), sequence_no: new JsonFloat(1) }),
      ],
      ['sequence_no 0', 'evidence_malformed', (d) => evidenceStore.evidence(d, { sequence_no: 0 })],
      [
        'an unknown outcome',
        'evidence_malformed',
        async (d) => ({ ...(await evidenceStore.evidence(d)), outcome: 'done' }),
      ],
      ['a part of a resource', 'evidence_malformed', (d) => evidenceStore.evidence(d, { resource_id: 'r' })],
      [
        'a link without a resource',
        'evidence_malformed',
        (d) => evidenceStore.evidence(d, { prev_resource_digest: 'x' }),
      ],
      [
        'a control character in an id',
        'evidence_malformed',
        (d) => evidenceStore.evidence(d, { evidence_id: 'a\u0000b' }),
      ],
      [
        'no signature',
        'evidence_invalid_signature',
        async (d) => ({ ...(await evidenceStore.evidence(d)), signature: null }),
      ],
      [
        'an unknown key',
        'evidence_unknown_executor',
        async (d) => evidenceStore.evidence(d, {}, await testSigner('nobody')),
      ],
      [
        'a key of another executor',
        'evidence_unknown_executor',
        (d) => evidenceStore.evidence(d, { executor_sovereign_id: 'x' }),
      ],
      [
        'another key under the same id',
        'evidence_invalid_signature',
        async (d) => evidenceStore.evidence(d, {}, await testSigner('rotator-key-1', 'other')),
      ],
      [
        'a change after signing',
        'evidence_invalid_signature',
        async (d) => ({ ...(await evidenceStore.evidence(d)), outcome: 'failure' }),
      ],
      [
        'an unknown decision',
        'evidence_decision_not_found',
        (d) => evidenceStore.evidence(d, { decision_id: randomUUID() }),
      ],
      ['another context', 'evidence_decision_mismatch', (d) => evidenceStore.evidence(d, { context_id: 'other' })],
      ['another agreement', 'evidence_decision_mismatch', (d) => evidenceStore.evidence(d, { agreement_id: 'other' })],
      [
        'a time before',
        'evidence_outside_decision_window',
        (d) => evidenceStore.evidence(d, { executed_at: shift(d.decision_made_at, -1n) }),
      ],
      [
        'a time after',
        'evidence_outside_decision_window',
        (d) => evidenceStore.evidence(d, { executed_at: shift(d.decision_valid_until, 1n) }),
      ],
      [
        'another capability',
        'evidence_capability_mismatch',
        (d) => evidenceStore.evidence(d, { executed_capability: 'x' }),
      ],
      ['a skipped position', 'evidence_chain_gap', (d) => evidenceStore.evidence(d, { sequence_no: 2 })],
      [
        'a false link',
        'evidence_chain_mismatch',
        (d) => evidenceStore.evidence(d, { prev_evidence_digest: '0'.repeat(64) }),
      ],
      [
        'a skipped position of a resource',
        'resource_chain_gap',
        (d) => evidenceStore.evidence(d, { resource_id: 'n', resource_action: 'create', resource_sequence: 2 }),
      ],
      [
        'a false link of a resource',
        'resource_chain_mismatch',
        (d) =>
          evidenceStore.evidence(d, {
            resource_id: 'n',
            resource_action: 'create',
            resource_sequence: 1,
            prev_resource_digest: 'x',
          }),
      ],
      [
        'a secret',
        'evidence_secret_material',
        (d) => evidenceStore.evidence(d, { execution_parameters: { a: [{ 'Api-Key': 1 }] } }),
      ],
    ]

    it.each(wrong)('refuses %s with %s, stores no payload and audits it', async (_name, code, make) => {
      const [before, count] = [await rejections(), (await evidenceStore.lines()).length]
      const record = await make(open)
      const answer = await evidenceStore.submit(record)
      refused(answer, 422, code)
      const lines = parseLines(await evidenceStore.lines())
      expect(lines.length).toBe(count + 1)
      // The status counts those of the chain, too.
      expect(await rejections()).toBe(before + 1)
      const { entry, payload } = lines.at(-1) as unknown as { entry: JsonObject; payload: JsonObject }
      expect(entry).toMatchObject({ entry_kind: 'rejection', outcome: 'rejected', evidence_id: null })
      expect(payload).toMatchObject({ code, count: 1, executor_sovereign_id: record['executor_sovereign_id'] })
      expect(payload['submitted_digest']).toMatch(/^[0-9a-f]{64}$/)
      const events = await eventsOf(evidenceStore.na, answer)
      expect(events.map((each) => each['event_type'])).toEqual(['evidence_rejected'])
      const event = detailsOf(events[0])
      expect(event).toMatchObject({ code, count: 1, rejection_id: payload['rejection_id'] })
      expect(JSON.stringify([entry, payload, event])).not.toContain('secret_version')
    })

    it('refuses an execution of a denied decision', async () => {
      const { decision } = await evidenceStore.decide({ authorized: false })
      refused(await evidenceStore.submit(await evidenceStore.evidence(decision)), 422, 'evidence_decision_denied')
    })

    it('refuses a retired key for new records and still verifies its old ones', async () => {
      const key = await testSigner('short-lived')
      accepted(await evidenceStore.register(key), 201)
      const { decision } = await evidenceStore.decide()
      const record = await evidenceStore.evidence(decision, {}, key)
      accepted(await evidenceStore.submit(record), 201)
      accepted(await evidenceStore.post('/admin/evidence/executor-keys/short-lived/retire', {}))
      expect(accepted(await evidenceStore.submit(record))['status']).toBe('duplicate')
      const next = await evidenceStore.evidence(decision, { sequence_no: 2, prev_evidence_digest: linkOf(record) }, key)
      refused(await evidenceStore.submit(next), 422, 'evidence_unknown_executor')
      expect(failuresOf(await evidenceStore.report())).toEqual([])
    })

    const orders: readonly [string, string, Partial<ExecutionEvidence>][] = [
      [
        'mismatch before window',
        'evidence_decision_mismatch',
        { context_id: 'x', executed_at: '2020-01-01T00:00:00Z' },
      ],
      [
        'window before capability',
        'evidence_outside_decision_window',
        { executed_capability: 'x', executed_at: '2020-01-01T00:00:00Z' },
      ],
      ['capability before gap', 'evidence_capability_mismatch', { executed_capability: 'x', sequence_no: 5 }],
      [
        'gap before resource gap',
        'evidence_chain_gap',
        { sequence_no: 5, resource_id: 'q', resource_action: 'create', resource_sequence: 5 },
      ],
      [
        'resource gap before secrets',
        'resource_chain_gap',
        { execution_parameters: { pem: 1 }, resource_id: 'q', resource_action: 'create', resource_sequence: 5 },
      ],
    ]
    it.each(orders)('decides %s', async (_name, code, more) => {
      refused(await evidenceStore.submit(await evidenceStore.evidence(open, more)), 422, code)
    })

    it('shortens the stored names of a refused record', async () => {
      const record = { ...(await evidenceStore.evidence(open)), evidence_id: 'e'.repeat(3000), more: 1 }
      const answer = await evidenceStore.submit(record)
      refused(answer, 422, 'evidence_malformed')
      const payload = parseLines(await evidenceStore.lines()).at(-1)?.['payload'] as JsonObject
      expect(payload['evidence_id']).toBe('e'.repeat(256))
      expect(JSON.stringify(await eventsOf(evidenceStore.na, answer))).not.toContain('e'.repeat(20))
    })
  })

  describe('404', () => {
    it('returns the same response to all callers while the store is disabled', async () => {
      const off = await startTestAuthority()
      try {
        refused(await off.request('POST', '/evidence/execution', { body: {} }), 404, 'evidence_store_disabled')
        refused(await off.request('GET', '/admin/evidence/status'), 404, 'evidence_store_disabled')
        refused(await off.as('privileged')('GET', '/admin/evidence/status'), 404, 'evidence_store_disabled')
      } finally {
        await off.stop()
      }
    })
  })
})

it('accepts evidence after the decision has expired', async () => {
  const { decision } = await evidenceStore.decide()
  evidenceStore.clock.advance(3600)
  const executed_at = writeInstant(instantOf(decision.decision_made_at) + seconds(299))
  accepted(await evidenceStore.submit(await evidenceStore.evidence(decision, { executed_at })), 201)
})

function without(record: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(record).filter(([each]) => each !== name))
}
