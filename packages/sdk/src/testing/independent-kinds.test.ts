import {
  BOUNDARY_POLICY_FORM,
  RECORD_KINDS,
  accessIntentForm,
  agreementRecordForm,
  boundaryDecisionForm,
  buildMerkleTree,
  capabilityCounterForm,
  capabilityOfferForm,
  commitmentForm,
  consensusForm,
  executionEvidenceForm,
  freshnessProofForm,
  justificationForm,
  licensePolicyForm,
  nullifierForm,
  retentionCheckpointForm,
  seedSigner,
  signForm,
  signList,
  storeAnchorForm,
  trustEvidenceForm,
  voteForm,
  writeJson,
} from '@chancery/protocol'
import type { JsonObject, RecordForm, RecordKindName, Signer } from '@chancery/protocol'
import { testSeed } from '@chancery/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { EXAMPLES } from '../../../protocol/src/offline/examples.suite.ts'
import { holds, merkle, read, signed, unsigned } from './independent.suite.ts'
import { type RecordTrust, verifyRecord } from '../verify/records.ts'

/** Members outside the signature, as docs/protocol/trust-operations 3.3 and 3.4 list them. */
const OUTSIDE: Partial<Readonly<Record<RecordKindName, readonly string[]>>> = {
  'capability-counter': ['expires_at'],
  'agreement-record': ['agreement_id', 'established_at', 'expires_at'],
}

/** These two have no signature (docs/protocol/trust-operations 1.8): one is local policy, one is proved by a tree. */
const UNSIGNED: readonly RecordKindName[] = ['recognition-policy', 'capability-membership-proof']

/** Which of the library's forms signs each kind; the others carry a list of signatures over all their members. */
const FORMS: Partial<Readonly<Record<RecordKindName, RecordForm<never>>>> = {
  'trust-evidence': trustEvidenceForm as never,
  'capability-offer': capabilityOfferForm as never,
  'capability-counter': capabilityCounterForm as never,
  'agreement-record': agreementRecordForm as never,
  'boundary-decision': boundaryDecisionForm as never,
  'boundary-policy': BOUNDARY_POLICY_FORM as never,
  'freshness-proof': freshnessProofForm as never,
  'justification-proof': justificationForm as never,
  'execution-evidence': executionEvidenceForm as never,
  'retention-checkpoint': retentionCheckpointForm as never,
  'store-anchor': storeAnchorForm as never,
  'capability-commitment': commitmentForm as never,
  'capability-nullifier': nullifierForm as never,
  'validator-vote': voteForm as never,
  'consensus-proof': consensusForm as never,
  'data-license-policy': licensePolicyForm as never,
  'data-access-intent': accessIntentForm as never,
}

const SEEDS = [testSeed('independent'), testSeed('independent responder')]
let signers: readonly Signer[]
beforeAll(async () => {
  signers = await Promise.all(SEEDS.map((seed) => seedSigner('k', seed)))
})

const kinds = EXAMPLES.filter(({ kind }) => !UNSIGNED.includes(kind))

/** The example without signatures; where a record names the key it is signed with, it names ours. */
function draftOf(kind: RecordKindName, record: JsonObject): JsonObject {
  const { signature: _one, signatures: _many, ...rest } = record
  const publicKey = signers[0]?.publicKey ?? ''
  if (kind === 'join-certificate') return { ...rest, issued_by: 'k' }
  if (kind === 'genesis-block') return { ...rest, root_public_key: publicKey }
  return kind === 'agent-descriptor' ? { ...rest, node_public_key: publicKey } : rest
}

function trustOf({ now, validatorKeys }: (typeof EXAMPLES)[number]['trust']): RecordTrust {
  const keys = signers.map(({ publicKey }) => publicKey)
  const parties = { offererKeys: keys.slice(0, 1), responderKeys: keys.slice(1) }
  return { keys, ...parties, at: now, validatorKeys: Object.fromEntries(validatorKeys) }
}

const isList = (kind: RecordKindName, record: JsonObject): boolean => Object.hasOwn(record, 'signatures')

/** An agreement needs both parties, everything else one signer. */
const signersOf = (kind: RecordKindName): number => (kind === 'agreement-record' ? 2 : 1)

it('there is an example of every kind', () => {
  expect(new Set(EXAMPLES.map(({ kind }) => kind))).toEqual(new Set(RECORD_KINDS))
  expect(kinds).toHaveLength(25)
})

describe.each(kinds)('$kind', ({ kind, record, trust }) => {
  it('signed by code that shares no line with it holds for the library, and changed it does not', async () => {
    const draft = draftOf(kind, record)
    const message = unsigned(read(writeJson(draft)), OUTSIDE[kind])
    const keyId = kind === 'agent-descriptor' ? (signers[0]?.publicKey ?? '') : 'k'
    const made = SEEDS.slice(0, signersOf(kind)).map((seed) => ({ key_id: keyId, sig: signed(seed, message) }))
    const whole = { ...draft, ...(isList(kind, record) ? { signatures: made } : { signature: made[0] ?? null }) }
    // The decision of the example is a denial: valid, and not allowed.
    const genuine = kind === 'boundary-decision' ? { valid: true, allowed: false } : { valid: true }
    expect(await verifyRecord(whole, trustOf(trust))).toMatchObject({ kind, ...genuine })
    const other = made.map(({ key_id }) => ({ key_id, sig: signed(SEEDS[0] ?? '', `${message} `) }))
    const forged = { ...draft, ...(isList(kind, record) ? { signatures: other } : { signature: other[0] ?? null }) }
    const verdict = await verifyRecord(forged, trustOf(trust))
    expect(verdict).toMatchObject({ valid: false })
    expect(verdict).not.toHaveProperty('record')
  })

  it('signed by the library holds for that code', async () => {
    const form = FORMS[kind]
    const empty = { ...draftOf(kind, record), ...(isList(kind, record) ? { signatures: [] } : { signature: null }) }
    const [signer] = signers
    if (signer === undefined) throw new Error('no signer')
    const whole =
      form === undefined
        ? await signList(empty as never, signer)
        : ((await signForm(form as RecordForm<object>, empty, signer)) as JsonObject)
    const text = writeJson(whole)
    const arrived = read(text) as { signature?: { sig: string }; signatures?: { sig: string }[] } & object
    const sig = arrived.signature?.sig ?? arrived.signatures?.[0]?.sig ?? ''
    expect(holds(signer.publicKey, unsigned(arrived, OUTSIDE[kind]), sig)).toBe(true)
  })
})

describe('capability-membership-proof', () => {
  const capabilities = ['ledger.read', 'ledger.\u{1f511}', 'ledger.\uffee', 'a', 'Z']

  it.each([1, 2, 3, 5])('of %d capabilities is the same tree for both, and holds for the library', async (count) => {
    const chosen = capabilities.slice(0, count)
    for (const revealed of chosen) {
      const { leaf, path, root } = merkle(chosen, revealed)
      const tree = buildMerkleTree(chosen)
      expect([tree.root, tree.pathOf(revealed)]).toEqual([root, path])
      const example = EXAMPLES.find(({ kind }) => kind === 'capability-commitment')
      if (example === undefined) throw new Error('no commitment')
      const draft = {
        ...draftOf('capability-commitment', example.record),
        capability_count: count,
        merkle_root: root,
      }
      const commitment = { ...draft, signature: { key_id: 'k', sig: signed(SEEDS[0] ?? '', unsigned(draft)) } }
      const proof = {
        proof_id: 'p-1',
        commitment_id: String(example.record['commitment_id']),
        revealed_capability: revealed,
        leaf_hash: leaf,
        merkle_path: path,
        prover_sovereign_id: 'bolt-net',
        proved_at: '2027-03-04T05:06:07Z',
      }
      const trust = { ...trustOf(example.trust), commitment }
      expect(await verifyRecord(proof, trust)).toMatchObject({ kind: 'capability-membership-proof', valid: true })
      const other = { ...proof, revealed_capability: 'ledger.write' }
      expect(await verifyRecord(other, trust)).toMatchObject({ valid: false })
    }
  })
})
