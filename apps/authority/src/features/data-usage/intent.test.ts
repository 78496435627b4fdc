import { JsonFloat, type JsonObject, type JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  refused,
  startTestAuthority,
  verifiesWithNodeCrypto,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2030-01-02T03:04:05Z')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

const SOURCE: JsonObject = {
  source_id: 'src-1',
  source_type: 'proprietary',
  owner_sovereign_id: 'acme-net',
  classification_tags: ['internal'],
}
const REQUEST: JsonObject = {
  sources: [SOURCE],
  access_types: ['read', 'train'],
  decision_id: 'decision-1',
  estimated_volume_bytes: 100,
}
const declare = (changes: JsonObject = {}): Promise<TestResponse> =>
  na.as('standard')('POST', '/admin/data-usage/intent', { ...REQUEST, ...changes })

describe('POST /admin/data-usage/intent', () => {
  describe('201', () => {
    it('signs the intent in the name of this sovereign for five minutes, and audits it', async () => {
      const answer = await declare()
      const intent = accepted(answer, 201)
      expect(intent).toEqual({
        intent_id: intent['intent_id'],
        agent_sovereign_id: 'TEST-NET',
        decision_id: 'decision-1',
        declared_sources: [SOURCE],
        declared_access_types: ['read', 'train'],
        estimated_volume_bytes: 100,
        declared_at: '2030-01-02T03:04:05Z',
        expires_at: '2030-01-02T03:09:05Z',
        signature: { key_id: 'TEST-NET', sig: (intent['signature'] as JsonObject)['sig'] },
      })
      expect(verifiesWithNodeCrypto(answer.text, na.genesis.network_authority.public_key)).toBe(true)
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['data_access_intent_created'])
      expect(detailsOf(events[0])).toEqual({
        intent_id: intent['intent_id'],
        decision_id: 'decision-1',
        key_id: 'op-standard',
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
    })

    it('fills in absent members and drops unknown ones', async () => {
      const { classification_tags: _none, ...source } = SOURCE
      const body = {
        sources: [
          { ...source, extra: 1 },
          { ...source, classification_tags: null },
        ],
        access_types: ['x'],
      }
      const intent = accepted(await na.as('standard')('POST', '/admin/data-usage/intent', body), 201)
      const plain = { ...source, classification_tags: [] }
      expect(intent).toMatchObject({ declared_sources: [plain, plain], estimated_volume_bytes: null })
      expect(intent['decision_id']).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/)
    })
  })

  describe('400', () => {
    const many = (item: JsonValue): JsonValue => Array.from({ length: 1025 }, () => item)
    it.each<[string, JsonObject]>([
      ['no sources', { sources: null }],
      ['an empty list of sources', { sources: [] }],
      ['sources as an object', { sources: {} }],
      ['1025 sources', { sources: many(SOURCE) }],
      ['no access types', { access_types: null }],
      ['an empty list of access types', { access_types: [] }],
      ['access types as a string', { access_types: 'read' }],
    ])('missing_intent_fields for %s', async (_name, changes) => {
      refused(await declare(changes), 400, 'missing_intent_fields')
    })

    it.each<[string, JsonValue]>([
      ['a string', 'src-1'],
      ['no id', { ...SOURCE, source_id: null }],
      ['a number as id', { ...SOURCE, source_id: 5 }],
      ['an empty type', { ...SOURCE, source_type: '' }],
      ['no owner', { source_id: 's', source_type: 't' }],
      ['tags as a string', { ...SOURCE, classification_tags: 'x' }],
      ['a number among the tags', { ...SOURCE, classification_tags: [1] }],
    ])('invalid_source for a source with %s', async (_name, source) => {
      const answer = await declare({ sources: [SOURCE, source], estimated_volume_bytes: 'also wrong' })
      const { details } = refused(answer, 400, 'invalid_source') as { details?: { field?: string } }
      expect(details?.field).toMatch(/^sources\[1\]/)
    })
  })

  describe('422', () => {
    it.each<[string, JsonObject]>([
      ['a volume as a string', { estimated_volume_bytes: '5' }],
      ['a volume of 5.0', { estimated_volume_bytes: new JsonFloat(5) }],
      ['a negative volume', { estimated_volume_bytes: -1 }],
      ['a number among the access types', { access_types: ['read', 1] }],
      ['a decision that is a number', { decision_id: 5 }],
    ])('intent_create_failed for %s', async (_name, changes) => {
      const answer = await declare(changes)
      refused(answer, 422, 'intent_create_failed')
      expect(await eventsOf(na, answer)).toEqual([])
    })
  })

  describe('401', () => {
    it('is for operators', async () => {
      refused(await na.request('POST', '/admin/data-usage/intent', { body: REQUEST }), 401, 'admin_auth_failed')
    })
  })
})
