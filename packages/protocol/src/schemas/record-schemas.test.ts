import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { readAgentDescriptor } from '../artifacts/agent-descriptor.ts'
import { agreementRecordForm, capabilityCounterForm, capabilityOfferForm } from '../artifacts/capability-offer.ts'
import { readAttestation, readRecognitionPolicy } from '../artifacts/attestation.ts'
import { boundaryDecisionForm } from '../artifacts/boundary-decision.ts'
import { BOUNDARY_POLICY_FORM } from '../artifacts/boundary-policy.ts'
import { commitmentForm } from '../artifacts/capability-commitment.ts'
import { membershipProofForm, nullifierForm } from '../artifacts/capability-nullifier.ts'
import { consensusForm, voteForm } from '../artifacts/consensus-proof.ts'
import { readCrl } from '../artifacts/crl.ts'
import { accessIntentForm, licensePolicyForm } from '../artifacts/data-access-intent.ts'
import { executionEvidenceForm } from '../artifacts/execution-evidence.ts'
import { freshnessProofForm, storeAnchorForm } from '../artifacts/freshness-proof.ts'
import { readGenesisBlock } from '../artifacts/genesis-block.ts'
import { readJoinCertificate } from '../artifacts/join-certificate.ts'
import { justificationForm } from '../artifacts/justification-proof.ts'
import { readPolicyManifest } from '../artifacts/policy-manifest.ts'
import { readRecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import { retentionCheckpointForm } from '../artifacts/retention-checkpoint.ts'
import { readRevocationFeed } from '../artifacts/revocation-feed.ts'
import { trustEvidenceForm } from '../artifacts/trust-evidence.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { EXAMPLES } from '../offline/examples.suite.ts'
import type { RecordKindName } from '../offline/record-kind.ts'
import { FormError, described, schemaOf } from '../reading/schema.ts'
import { closed, required } from '../reading/shape.ts'
import type { RecordForm } from '../reading/trust-form.ts'
import { checkReceivedForm, readReceived } from '../signing/received.ts'
import { SCHEMA_NAMES, type SchemaName, recordSchema, recordSection } from './record-schemas.ts'

/** Strict: a keyword this validator does not know, or one that cannot apply, is an error. */
const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: false })
const validators = new Map<SchemaName, ValidateFunction>(SCHEMA_NAMES.map((name) => [name, compile(name)]))

function compile(name: SchemaName): ValidateFunction {
  return ajv.compile(recordSchema(name))
}

function isValid(name: SchemaName, record: JsonValue): boolean {
  // The input of another validator: the text, read by the platform.
  return validators.get(name)?.(JSON.parse(canonicalJson(record))) === true
}

const form =
  <Value>(of: RecordForm<Value>) =>
  (value: JsonValue): void => {
    const verdict = checkReceivedForm(readReceived(of, value))
    if (!verdict.ok) throw new FormError('', verdict.reason)
  }

/** The readers the schemas were made from, with the rules that no schema holds. */
const READERS: Readonly<Record<RecordKindName, (value: JsonValue) => unknown>> = {
  'genesis-block': readGenesisBlock,
  'join-certificate': readJoinCertificate,
  crl: readCrl,
  'policy-manifest': readPolicyManifest,
  'agent-descriptor': readAgentDescriptor,
  'membership-attestation': readAttestation,
  'recognition-treaty': readRecognitionTreaty,
  'recognition-policy': readRecognitionPolicy,
  'sovereign-revocation-feed': readRevocationFeed,
  'trust-evidence': form(trustEvidenceForm),
  'agreement-record': form(agreementRecordForm),
  'boundary-decision': form(boundaryDecisionForm),
  'boundary-policy': form(BOUNDARY_POLICY_FORM),
  'consensus-proof': form(consensusForm),
  'execution-evidence': form(executionEvidenceForm),
  'justification-proof': form(justificationForm),
  'retention-checkpoint': form(retentionCheckpointForm),
  'capability-commitment': form(commitmentForm),
  'capability-counter': form(capabilityCounterForm),
  'capability-membership-proof': form(membershipProofForm),
  'capability-nullifier': form(nullifierForm),
  'capability-offer': form(capabilityOfferForm),
  'data-access-intent': form(accessIntentForm),
  'data-license-policy': form(licensePolicyForm),
  'freshness-proof': form(freshnessProofForm),
  'store-anchor': form(storeAnchorForm),
  'validator-vote': form(voteForm),
}

/** Refusals of a reader that are about more than form: a schema may pass what they refuse. */
const BEYOND_FORM = [
  /^must be (later than|not before) /,
  /^is valid too long$/,
  /^is not sorted and unique$/,
  /^has a reason for an unlisted id$/,
  /^repeats an issuer$/,
  /^null exactly when authorized$/,
  /^an Ed25519 public key in base64 is needed$/,
]

function refusal(read: (value: JsonValue) => unknown, value: JsonValue): string | undefined {
  try {
    read(value)
    return undefined
  } catch (error) {
    if (error instanceof FormError) return error.problem
    throw error
  }
}

const WRONG: readonly JsonValue[] = [null, '', 'x', 7, -1, true, [], ['x'], [7], {}, { x: 1 }, 'x'.repeat(3000), 'a\nb']

/** The record with every value in turn replaced, removed, or joined by an unknown member. */
function* damaged(value: JsonValue): Generator<JsonValue> {
  if (Array.isArray(value)) {
    const items = value as readonly JsonValue[]
    for (const [at, item] of items.entries())
      for (const other of [...WRONG, ...damaged(item)]) yield items.with(at, other)
    yield [...items, ...items]
  } else if (typeof value === 'object' && value !== null) {
    const record = value as JsonObject
    for (const [name, inner] of Object.entries(record)) {
      for (const other of [...WRONG, ...damaged(inner ?? null)]) yield { ...record, [name]: other }
      const { [name]: _left, ...rest } = record
      yield rest
    }
    yield { ...record, stowaway: 1 }
  }
}

describe('published schemas', () => {
  it.each(SCHEMA_NAMES)('%s has its identity, title and place in the protocol', (name) => {
    const schema = recordSchema(name)
    expect(schema['$id']).toBe(`urn:chancery:schema:${name}:v1`)
    expect(schema['title']).toMatch(/^[A-Z]/)
    expect(schema['description']).toMatch(/^[A-Z].*\.$/)
    expect(recordSection(name).page).toMatch(/^(admission|approvals|budgets-and-approvals|core|trust-operations)$/)
  })

  it.each(EXAMPLES)(
    '$kind takes the worked example and refuses it with a stowaway or without its first member',
    (example) => {
      expect(isValid(example.kind, example.record)).toBe(true)
      // Where only some members are signed, others are ignored by every verifier.
      const isOpen = example.kind === 'agreement-record' || example.kind === 'capability-counter'
      expect(isValid(example.kind, { ...example.record, stowaway: 1 })).toBe(isOpen)
      for (const name of recordSchema(example.kind)['required'] as string[]) {
        const { [name]: _left, ...rest } = example.record
        expect(isValid(example.kind, rest), name).toBe(false)
      }
    },
  )

  it('cover every kind that has a worked example', () => {
    expect(EXAMPLES.map(({ kind }) => kind).filter((kind) => !validators.has(kind))).toEqual([])
  })

  it.each(EXAMPLES)('$kind agrees with its reader on every damaged value', ({ kind, record }) => {
    const read = READERS[kind]
    const differing: string[] = []
    let count = 0
    for (const damagedRecord of damaged(record)) {
      count += 1
      const problem = refusal(read, readJson(canonicalJson(damagedRecord)))
      const isBeyond = problem !== undefined && BEYOND_FORM.some((rule) => rule.test(problem))
      if (isBeyond || (problem === undefined) === isValid(kind, damagedRecord)) continue
      differing.push(`${problem ?? 'taken'}: ${canonicalJson(damagedRecord).slice(0, 400)}`)
    }
    expect(differing.slice(0, 3)).toEqual([])
    expect(count).toBeGreaterThan(30)
  })

  it('are not made from a reader without a description', () => {
    const undescribed = (value: JsonValue): JsonValue => value
    expect(() => schemaOf(closed({ it: required(undescribed) }))).toThrow('without a description')
    const now = described(undescribed, () => ({ type: 'string' }))
    expect(schemaOf(closed({ it: required(now) }))).toMatchObject({ properties: { it: { type: 'string' } } })
  })
})
