import { type JsonObject, type JsonValue, readJson } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  foreignProof,
  refused,
  startTestAuthority,
  verifiesWithNodeCrypto,
  wireText,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2030-01-02T03:04:05Z')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

const proof = readJson(wireText(foreignProof({ commitment_id: 'c-1' }, clock.now(), ['a', 'b'], 'a'))) as JsonObject
const nullify = (body: JsonObject): Promise<TestResponse> =>
  na.as('standard')('POST', '/admin/disclosure/nullifier', body)

describe('POST /admin/disclosure/nullifier', () => {
  it('201: signs a new nullifier for one minute and audits it', async () => {
    const answer = await nullify({ proof })
    const mark = accepted(answer, 201)
    expect(mark).toEqual({
      nullifier_id: mark['nullifier_id'],
      proof_id: proof['proof_id'],
      nonce: mark['nonce'],
      issued_at: '2030-01-02T03:04:05Z',
      expires_at: '2030-01-02T03:05:05Z',
      prover_sovereign_id: 'TEST-NET',
      signature: { key_id: 'na-test', sig: (mark['signature'] as JsonObject)['sig'] },
    })
    expect(mark['nonce']).toMatch(/^[0-9a-f]{32}$/)
    expect(verifiesWithNodeCrypto(answer.text, na.genesis.network_authority.public_key)).toBe(true)
    const events = await eventsOf(na, answer)
    expect(events.map((event) => event['event_type'])).toEqual(['capability_nullifier_issued'])
    expect(detailsOf(events[0])).toMatchObject({ nullifier_id: mark['nullifier_id'], proof_id: proof['proof_id'] })
    const next = accepted(await nullify({ proof }), 201)
    expect(next['nonce']).not.toBe(mark['nonce'])
  })

  it('400 missing_proof without one', async () => {
    refused(await nullify({}), 400, 'missing_proof')
    refused(await nullify({ proof: null }), 400, 'missing_proof')
  })

  it.each<[string, JsonValue]>([
    ['a string', 'x'],
    ['a list', []],
    ['no id', { ...proof, proof_id: null }],
    ['a path that is a string', { ...proof, merkle_path: 'x' }],
    ['an unreadable time', { ...proof, proved_at: 'today' }],
  ])('400 invalid_proof for %s', async (_name, value) => {
    const answer = await nullify({ proof: value })
    refused(answer, 400, 'invalid_proof')
    expect(await eventsOf(na, answer)).toEqual([])
  })

  it('401: only for operators', async () => {
    refused(await na.request('POST', '/admin/disclosure/nullifier', { body: { proof } }), 401, 'admin_auth_failed')
  })
})
