import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  accepted,
  eventsOfCallers,
  foreignCommitment,
  foreignSovereign,
  foreignTree,
  ManualClock,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2030-01-02T03:04:05Z')
const issuer = foreignSovereign('ISSUER-NET')
// Sorted by code point the private character comes before the face.
const CAPABILITIES = ['ledger.read', 'ledger.append', '\u{1f600}.cap', '\ue000.cap', 'ledger.close']
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

const commitment = foreignCommitment(issuer, clock.now(), CAPABILITIES)
const REQUEST: JsonObject = {
  capability: 'ledger.read',
  capabilities: CAPABILITIES,
  commitment,
  prover_sovereign_id: 'bolt-net',
}
const prove = (changes: JsonObject = {}): Promise<TestResponse> =>
  na.request('POST', '/disclosure/prove', { body: { ...REQUEST, ...changes } })

describe('POST /disclosure/prove', () => {
  it('proves every capability of the list and writes nothing', async () => {
    const before = (await eventsOfCallers(na)).length
    for (const capability of CAPABILITIES) {
      const proof = accepted(await prove({ capability }))
      expect(proof).toEqual({
        proof_id: proof['proof_id'],
        commitment_id: commitment['commitment_id'],
        revealed_capability: capability,
        leaf_hash: foreignTree([capability]).root,
        merkle_path: foreignTree(CAPABILITIES).pathOf(capability),
        prover_sovereign_id: 'bolt-net',
        proved_at: '2030-01-02T03:04:05Z',
      })
    }
    expect((await eventsOfCallers(na)).length).toBe(before)
  })

  it('does not verify the commitment, which the verifier does', async () => {
    accepted(await prove({ commitment: { ...commitment, signature: null } }))
  })

  it.each<[string, JsonObject]>([
    ['no capability', { capability: null }],
    ['an empty capability', { capability: '' }],
    ['a number as capability', { capability: 5 }],
    ['no list', { capabilities: null }],
    ['an empty list', { capabilities: [] }],
    ['a number in the list', { capabilities: ['ledger.read', 5] }],
    ['a list of 1025', { capabilities: Array.from({ length: 1025 }, (_, i) => `c${i}`) }],
    ['no commitment', { commitment: null }],
    ['no prover', { prover_sovereign_id: '' }],
  ])('400 missing_prove_fields for %s', async (_name, changes) => {
    refused(await prove(changes), 400, 'missing_prove_fields')
  })

  it.each<[string, JsonValue]>([
    ['a string', 'x'],
    ['no root', { ...commitment, merkle_root: null }],
    ['a root that is not a digest', { ...commitment, merkle_root: 'AB' }],
    ['a count of zero', { ...commitment, capability_count: 0 }],
    ['a count as a string', { ...commitment, capability_count: '5' }],
  ])('400 invalid_commitment for %s', async (_name, value) => {
    refused(await prove({ commitment: value }), 400, 'invalid_commitment')
  })

  it.each<[string, JsonObject]>([
    ['a capability outside the list', { capability: 'vault.open' }],
    ['another list of the same length', { capabilities: ['ledger.read', 'a', 'b', 'c', 'd'] }],
    ['a part of the list', { capabilities: ['ledger.read'] }],
  ])('422 prove_failed for %s', async (_name, changes) => {
    refused(await prove(changes), 422, 'prove_failed')
  })
})
