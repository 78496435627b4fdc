import { expect, it } from 'vitest'
import { boundaryDecisionForm } from '../artifacts/boundary-decision.ts'
import { contextRecordForm } from '../artifacts/context-record.ts'
import { executionEvidenceForm } from '../artifacts/execution-evidence.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import type { RecordForm } from '../reading/trust-form.ts'
import { type Received, signedText } from '../signing/received.ts'
import { cutSignature, isPresentedBound } from './shortcuts.ts'
import { digestOf } from '../canonical/digest.ts'

const signature = { key_id: 'k', sig: 'c2ln' }
const execution: JsonObject = { evidence_id: 'e', execution_parameters: {}, outcome: 'success', signature }

// Only the names of the form matter here, so no other member is needed.
const received = (form: RecordForm<unknown>, wire: JsonObject): Received<unknown> => ({ form, wire, record: wire })

it.each<[string, RecordForm<unknown>, JsonObject]>([
  ['a record with its signature', executionEvidenceForm, execution],
  ['members after the signature', executionEvidenceForm, { ...execution, trace: 1 }],
  ['no signature', executionEvidenceForm, { evidence_id: 'e' }],
  ['a signature that is null', executionEvidenceForm, { ...execution, signature: null }],
  ['only a signature', executionEvidenceForm, { signature }],
  [
    'a signature with more members',
    executionEvidenceForm,
    { ...execution, signature: { ...signature, zone: { a: 1 } } },
  ],
  ['a null that is left out', executionEvidenceForm, { ...execution, resource_id: null }],
  [
    'the same text before the signature',
    executionEvidenceForm,
    { ...execution, execution_parameters: { a: 1, signature } },
  ],
  ['the same text after it', executionEvidenceForm, { ...execution, trace: { a: 1, signature } }],
  [
    'the text of a signature in a text',
    executionEvidenceForm,
    { ...execution, note: `,"signature":${JSON.stringify(signature)}` },
  ],
  ['a null that is left out in a part', boundaryDecisionForm, { decision_id: 'd', policy_binding: null, signature }],
  ['a signed part', boundaryDecisionForm, { decision_id: 'd', freshness_proof: { a: 1, signature }, signature }],
  ['a record without a signature member', contextRecordForm, { context_id: 'c', signature }],
  ['a context with a null', contextRecordForm, { attestation_id: null, context_id: 'c' }],
])('gives the text that a writer would give: %s', (_name, form, wire) => {
  const plain = canonicalJson(wire)
  const seen = received(form, JSON.parse(plain) as JsonObject)
  expect(cutSignature(seen, plain) ?? signedText(seen)).toBe(signedText(seen))
})

const body = { attestation_id: 'a-1', subject_id: 's' }
const attestation = { ...body, signatures: [{ key_id: 'k', sig: 'x' }] }
const bound = { subject_id: 's', issuer_sovereign_id: 'net', revocation_seq_checked: 0 }
const attestation_binding = { ...bound, attestation_id: 'a-1', attestation_digest: digestOf(body) }

it('an attestation in the payload of a decision is the one that the decision names', () => {
  expect(isPresentedBound({}, {})).toBe(true)
  expect(isPresentedBound({ attestation }, { attestation_binding })).toBe(true)
  for (const other of [null, 'a-1', { ...attestation, subject_id: 't' }, { ...attestation, attestation_id: 'a-2' }])
    expect(isPresentedBound({ attestation: other }, { attestation_binding })).toBe(false)
  expect(isPresentedBound({ attestation }, {})).toBe(false)
})
