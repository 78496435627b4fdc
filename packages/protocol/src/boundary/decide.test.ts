import { describe, expect, it } from 'vitest'
import type { AgreementTerms } from '../artifacts/capability-offer.ts'
import { boundaryDecisionForm } from '../artifacts/boundary-decision.ts'
import { type ContextRecord, contextDigest } from '../artifacts/context-record.ts'
import { type FreshnessProof, freshnessProofForm, verifyFreshnessProof } from '../artifacts/freshness-proof.ts'
import { justificationForm, verifyJustification } from '../artifacts/justification-proof.ts'
import { toBase64 } from '../canonical/base64.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { instantOf } from '../reading/text.ts'
import { asReceived, readReceived, signForm } from '../signing/received.ts'
import { seedSigner } from '../signing/keys.ts'
import trust from '../vectors/trust.json' with { type: 'json' }
import { type DemandedFreshness, type GateRun, type GateStep, concludeRun } from './agreement-gates.ts'
import { decideOnAgreement, draftBoundaryDecision, draftJustification } from './decide.ts'

const terms: AgreementTerms = {
  capabilities: ['ledger.read'],
  scope: {},
  valid_from: '2027-03-04T05:00:00Z',
  valid_until: '2027-03-04T05:10:00Z',
  freshness_commitment: 2,
}
const context: ContextRecord = {
  context_id: 'c-1',
  agreement_id: 'a-1',
  parent_kind: 'direct',
  requester_sovereign_id: 'bolt-net',
  provider_sovereign_id: 'acme-net',
  requested_capability: 'ledger.read',
  request_parameters: {},
  requested_at: '2027-03-04T05:06:07Z',
  context_freshness_seq: 2,
  attributes: {},
}
const example = (id: string): JsonObject =>
  readJson(trust.examples.find((each) => each.example === id)?.bytes ?? '') as JsonObject

function run(change: Partial<ContextRecord>, demanded?: DemandedFreshness): GateRun {
  return decideOnAgreement({ ...context, ...change }, terms, demanded)
}
function draft(run: GateRun, ends?: string) {
  const basisEnds = ends === undefined ? undefined : instantOf(ends)
  return draftBoundaryDecision({ decision_id: 'd', context, run, operator_sovereign_id: 'acme-net', basisEnds })
}

describe('the gates of the agreement basis', () => {
  it.each<[string, Partial<ContextRecord>, string | null, number]>([
    ['everything agreed', {}, null, 3],
    ['another capability', { requested_capability: 'ledger.append' }, 'capability out of scope', 1],
    ['a prefix of a capability', { requested_capability: 'ledger' }, 'capability out of scope', 1],
    ['the first moment', { requested_at: '2027-03-04T05:00:00Z' }, null, 3],
    ['before the window', { requested_at: '2027-03-04T04:59:59.999999Z' }, 'outside validity window', 2],
    ['the last moment', { requested_at: '2027-03-04T05:10:00Z' }, null, 3],
    ['after the window', { requested_at: '2027-03-04T05:10:00.000001Z' }, 'outside validity window', 2],
    ['too old a feed', { context_freshness_seq: 1 }, 'insufficient freshness', 3],
  ])('%s', (_name, change, denial, ran) => {
    const outcome = run(change)
    expect(outcome.denial_reason).toBe(denial)
    expect(outcome.authorized).toBe(denial === null)
    expect(outcome.steps).toHaveLength(ran)
    expect(outcome.steps.map(({ passed }) => passed)).toEqual([
      ...Array.from({ length: ran - 1 }, () => true),
      denial === null,
    ])
  })

  it('say what they looked at', () => {
    expect(run({}).steps.map(({ gate_name, gate_type, inputs }) => [gate_name, gate_type, inputs])).toEqual([
      ['capability_check', 'CapabilityGate', { requested_capability: 'ledger.read', capabilities: ['ledger.read'] }],
      [
        'validity_window',
        'ValidityWindowGate',
        { requested_at: context.requested_at, valid_from: terms.valid_from, valid_until: terms.valid_until },
      ],
      ['freshness_check', 'FreshnessGate', { context_freshness_seq: 2, freshness_commitment: 2 }],
    ])
  })

  it('ask for a freshness proof only where one is demanded', async () => {
    const proof = example('E12') as unknown as FreshnessProof
    const missing = run({}, { proof: undefined, verdict: { ok: true } })
    expect(missing.denial_reason).toBe('insufficient freshness')
    expect(missing.steps.at(-1)?.inputs).toEqual({ proof_present: false, freshness_commitment: 2 })
    const bad = run({}, { proof, verdict: { ok: false, reason: 'expired' } })
    expect(bad.steps.at(-1)).toMatchObject({ gate_name: 'freshness_proof', passed: false, reason: 'expired' })
    const good = run({}, { proof, verdict: { ok: true } })
    expect(good.authorized).toBe(true)
    expect(good.steps.at(-1)?.inputs).toEqual({
      proof_present: true,
      freshness_commitment: 2,
      proof_id: proof.proof_id,
      feed_sequence: 7,
      proof_valid_until: '2027-03-04T05:11:07Z',
    })
  })
})

describe('a decision', () => {
  it('lasts 300 seconds, a grant never longer than its basis', () => {
    expect(draft(run({})).decision_valid_until).toBe('2027-03-04T05:11:07Z')
    expect(draft(run({}), '2027-03-04T05:10:00Z').decision_valid_until).toBe('2027-03-04T05:10:00Z')
    expect(draft(run({}), '2027-03-04T06:09:00+01:00').decision_valid_until).toBe('2027-03-04T05:09:00Z')
    expect(draft(run({}), '2027-03-04T05:20:00Z').decision_valid_until).toBe('2027-03-04T05:11:07Z')
    const denied = run({ requested_capability: 'x' })
    expect(draft(denied, '2027-03-04T05:06:08Z').decision_valid_until).toBe('2027-03-04T05:11:07Z')
  })

  it('is read back by its own form, without keys for bindings it has not', () => {
    const decision = draft(run({}))
    expect(Object.keys(decision)).not.toContain('policy_binding')
    expect(Object.keys(decision)).not.toContain('attestation_binding')
    expect(readReceived(boundaryDecisionForm, decision).record).toEqual(decision)
  })

  it('marks what is only observed, and its account does not', () => {
    const observed: GateStep = {
      gate_name: 'p/g',
      gate_type: 'max_value.v1',
      passed: false,
      reason: 'above the limit',
      inputs: {},
      metadata: {},
      denial: undefined,
      isObserved: true,
    }
    const outcome = concludeRun([observed])
    const decision = draft(outcome)
    expect(decision.gate_results).toEqual([{ gate_name: 'p/g', passed: false, detail: '[observe] above the limit' }])
    expect(decision.authorized).toBe(true)
    const { trace } = draftJustification({ proof_id: 'p', trace_id: 't', decision, run: outcome })
    expect(trace.entries[0]?.reason).toBe('above the limit')
    expect(trace.short_circuited_at).toBeNull()
  })
})

it('the digest of a context leaves an absent attestation out', () => {
  expect(contextDigest(example('E5') as unknown as ContextRecord)).toBe(
    '25ab02697d7da5d4db42f076d395528e0223d776b7714193b6fe7887b19c23db',
  )
  expect(contextDigest(example('E6') as unknown as ContextRecord)).toBe(
    '76c126759ca3b7a8366415ea576e8a41329b311ea8b0951f01a77cafb3d5f69a',
  )
})

describe('a justification', () => {
  it('holds for its decision and for no other account of it', async () => {
    const signer = await seedSigner('k', toBase64(new Uint8Array(32).fill(5)))
    const keys = [signer.publicKey]
    const outcome = run({ context_freshness_seq: 0 })
    const decision = draft(outcome)
    const drafted = draftJustification({ proof_id: 'p', trace_id: 't', decision, run: outcome })
    const reason = async (change: Partial<typeof drafted>, against = decision): Promise<string> => {
      const proof = await signForm(justificationForm, { ...drafted, ...change }, signer)
      const verdict = await verifyJustification(asReceived(justificationForm, proof), keys, against)
      return verdict.ok ? 'valid' : verdict.reason
    }
    const { trace } = drafted
    expect(trace.short_circuited_at).toBe('freshness_check')
    expect(await reason({})).toBe('valid')
    expect(await reason({ decision_id: 'other' })).toBe('decision_id_mismatch')
    expect(await reason({ trace: { ...trace, entries: trace.entries.slice(1) } })).toBe('trace_entry_count_mismatch')
    const turned = trace.entries.map((entry) => ({ ...entry, result: true }))
    expect(await reason({ trace: { ...trace, entries: turned } })).toBe('trace_gate_mismatch')
    expect(await reason({ trace: { ...trace, entries: trace.entries.toReversed() } })).toBe('trace_gate_mismatch')
    expect(await reason({ trace: { ...trace, short_circuited_at: null } })).toBe('short_circuit_inconsistent')
    const unsigned = await verifyJustification(asReceived(justificationForm, drafted), keys)
    expect(unsigned).toEqual({ ok: false, reason: 'missing_signature' })
    const sealed = await signForm(justificationForm, drafted, signer)
    const outsider = await verifyJustification(asReceived(justificationForm, sealed), [])
    expect(outsider).toEqual({ ok: false, reason: 'invalid_signature' })
  })
})

describe('a freshness proof', () => {
  it.each<[string, bigint, number, string]>([
    ['at its last moment', instantOf('2027-03-04T05:11:07Z'), 7, 'valid'],
    ['a microsecond later', instantOf('2027-03-04T05:11:07Z') + 1n, 7, 'expired'],
    ['below the required sequence', instantOf('2027-03-04T05:11:07Z'), 8, 'sequence_insufficient'],
  ])('%s', async (_name, at, requiredSequence, expected) => {
    const found = trust.examples.find((each) => each.example === 'E12')
    const { key_id, sig } = found?.signatures[0] ?? { key_id: '', sig: '' }
    const proof = readReceived(freshnessProofForm, { ...example('E12'), signature: { key_id, sig } })
    const keys = trust.keys.map(({ public_key }) => public_key)
    const verdict = await verifyFreshnessProof(proof, { keys, at, requiredSequence })
    expect(verdict.ok ? 'valid' : verdict.reason).toBe(expected)
  })
})
