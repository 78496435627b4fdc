import { asJson, isJsonObject, writeJson } from '@chancery/protocol'
import type { Instant, JoinCertificate, JsonObject, JsonValue } from '@chancery/protocol'
import { EXAMPLES } from '../../../protocol/src/offline/examples.suite.ts'
import { AUTHORITY_KEY, CERTIFICATE, LIST } from '../../../protocol/src/trust/worked-records.suite.ts'
import foreign from '../../../protocol/src/vectors/foreign-decision.json' with { type: 'json' }
import proofs from '../request-proof/vectors.json' with { type: 'json' }
import * as verify from './index.ts'

/** Records other people made, and what the verify part must say of them: in every runtime the same. */
export async function checkVerifyVectors(): Promise<{ readonly passed: number; readonly failures: readonly string[] }> {
  const failures: string[] = []
  let passed = 0
  const expect = (name: string, seen: unknown, expected: unknown): void => {
    if (JSON.stringify(seen) === JSON.stringify(expected)) passed += 1
    else failures.push(`${name}: gave ${JSON.stringify(seen)} instead of ${JSON.stringify(expected)}`)
  }
  await checkRecords(expect)
  await checkRelyingParty(expect)
  await checkProofs(expect)
  await checkAttestedProofs(expect)
  await checkForeignDecisions(expect)
  return { passed, failures }
}

type Expect = (name: string, seen: unknown, expected: unknown) => void

const FUNCTIONS: Readonly<Record<string, (record: object, trust: verify.RecordTrust) => Promise<object>>> = {
  'genesis-block': verify.verifyGenesis,
  'join-certificate': verify.verifyCertificate,
  crl: verify.verifyCrl,
  'policy-manifest': verify.verifyPolicyManifest,
  'agent-descriptor': verify.verifyAgent,
  'membership-attestation': verify.verifyAttestation,
  'recognition-treaty': verify.verifyTreaty,
  'recognition-policy': verify.verifyRecognitionPolicy,
  'sovereign-revocation-feed': verify.verifyRevocationFeed,
  'trust-evidence': verify.verifyTrustEvidence,
  'capability-offer': verify.verifyOffer,
  'capability-counter': verify.verifyCounter,
  'agreement-record': verify.verifyAgreement,
  'boundary-decision': verify.verifyDecision,
  'boundary-policy': verify.verifyBoundaryPolicy,
  'freshness-proof': verify.verifyFreshness,
  'justification-proof': verify.verifyJustification,
  'execution-evidence': verify.verifyExecution,
  'retention-checkpoint': verify.verifyRetentionCheckpoint,
  'store-anchor': verify.verifyAnchor,
  'capability-commitment': verify.verifyCommitment,
  'capability-membership-proof': verify.verifyMembershipProof,
  'capability-nullifier': verify.verifyNullifier,
  'validator-vote': verify.verifyVote,
  'consensus-proof': verify.verifyConsensus,
  'data-license-policy': verify.verifyDataLicense,
  'data-access-intent': verify.verifyDataIntent,
}

/** Every kind holds as its author signed it, and with one changed text it does not. */
async function checkRecords(expect: Expect): Promise<void> {
  for (const { kind, record, trust } of EXAMPLES) {
    const { genesis, keys, now } = trust
    const brought: verify.RecordTrust = {
      keys,
      at: now,
      validatorKeys: Object.fromEntries(trust.validatorKeys),
      ...(genesis === undefined ? {} : { genesis }),
      ...(trust.offererKeys === undefined ? {} : { offererKeys: trust.offererKeys }),
      ...(trust.responderKeys === undefined ? {} : { responderKeys: trust.responderKeys }),
      ...(trust.commitment === undefined ? {} : { commitment: trust.commitment.wire }),
    }
    const verdict = await verify.verifyRecord(record, brought)
    expect(kind, [verdict.valid, verdict.kind], [true, kind])
    // The texts, because a verdict may have numbers of its own type.
    const textOf = ({ signedBy = null, ...rest }: Record<string, unknown>): string =>
      writeJson(asJson({ ...rest, signedBy }))
    const own = textOf({ kind, ...(await FUNCTIONS[kind]?.(record, brought)) })
    const seen = textOf({ ...verdict })
    expect(`${kind} by its own function`, own, seen)
    // The one record without a signature is valid with any content.
    const changed = await verify.verifyRecord(changeOne(record), brought)
    expect(`${kind} with a changed text`, changed.valid, kind === 'recognition-policy')
  }
  expect('no record', await verify.verifyRecord([], {}), {
    valid: false,
    reason: 'unknown_kind',
    detail: 'it has the form of no signed record',
  })
}

/** The first text outside the signatures gets one more letter. */
function changeOne(record: JsonObject): JsonObject {
  const change = (value: JsonValue): JsonValue | undefined => {
    if (typeof value === 'string') return `${value}x`
    if (Array.isArray(value)) {
      const list = value as readonly JsonValue[]
      const changed = list[0] === undefined ? undefined : change(list[0])
      return changed === undefined ? undefined : [changed, ...list.slice(1)]
    }
    return isJsonObject(value) ? changeOne(value) : undefined
  }
  for (const [name, value] of Object.entries(record)) {
    if (name === 'signature' || name === 'signatures' || /_at$|_until$|_from$|_to$/.test(name)) continue
    const changed = change(value)
    if (changed !== undefined && writeJson(changed) !== writeJson(value)) return { ...record, [name]: changed }
  }
  return record
}

const NOW: Instant = BigInt(Date.parse('2026-03-02T12:00:00Z')) * 1000n
const HOUR = 3_600_000_000n

function party(more: Partial<verify.NetworkPins> = {}): Promise<verify.RelyingParty> {
  const anchors = { 'na-main': AUTHORITY_KEY }
  return verify.RelyingParty.open({ network: CERTIFICATE.network_name, anchors, crl: LIST, ...more })
}

/** protocol/gateway 8 and 9.2 on its own worked records. */
async function checkRelyingParty(expect: Expect): Promise<void> {
  const reasons = async (certificate: JoinCertificate, now: Instant, more: Partial<verify.NetworkPins> = {}) =>
    (await (await party(more)).evaluate(certificate, now)).decision?.reasons
  expect('a good certificate', await reasons(CERTIFICATE, NOW), [])
  expect('a changed one', await reasons({ ...CERTIFICATE, roles: ['role:admin'] }, NOW), [
    'BadSignature { key_id: "na-main" }',
    'NoTrustedIssuer',
    'IssuerSignatureMissing',
  ])
  expect('at the end of the list', await reasons(CERTIFICATE, NOW + 12n * HOUR), ['NetworkPolicyRejected'])
  expect('without a role', await reasons(CERTIFICATE, NOW, { required_roles: ['role:x'] }), ['NetworkPolicyRejected'])
  expect('below the floor', await reasons(CERTIFICATE, NOW, { minimum_crl_sequence: 10 }), ['NetworkPolicyRejected'])
  expect('of another network', await reasons({ ...CERTIFICATE, network_name: 'x' }, NOW), ['NetworkPolicyRejected'])
  const same = await party()
  expect('the same list again', await same.install(LIST, NOW), { valid: true })
  const forged = { ...LIST, sequence: 10 }
  expect('an unsigned list', await same.install(forged, NOW), { valid: false, reason: 'not_authentic' })
  expect('a list of another', await same.install({ ...LIST, issuer: 'x' }, NOW), {
    valid: false,
    reason: 'unknown_issuer',
  })
}

async function checkProofs(expect: Expect): Promise<void> {
  const trust = await party()
  for (const { method, target, body, created, headers } of proofs.proofs) {
    const request = (over: Partial<verify.IncomingRequest> = {}): verify.IncomingRequest => ({
      method,
      target,
      field: (name) => (name in headers ? [headers[name as keyof typeof headers]] : []),
      body: new TextEncoder().encode(body),
      ...over,
    })
    const nonces = new verify.MemoryNonceStore()
    const check = async (arrived: verify.IncomingRequest, afterSeconds = 0): Promise<string> => {
      const verdict = await verify.verifyRequest(arrived, {
        audience: 'https://print.example.org',
        evaluate: (certificate, now) => trust.evaluate(certificate, now),
        nonces,
        at: BigInt(created + afterSeconds) * 1_000_000n,
      })
      return verdict.valid ? verdict.caller.certificate.cert_id : verdict.reason
    }
    const name = `${method} ${target}`
    expect(`${name} of another method`, await check(request({ method: 'PUT' })), 'signature_invalid')
    expect(`${name} at another target`, await check(request({ target: `${target}&x` })), 'signature_invalid')
    expect(`${name} with another body`, await check(request({ body: new Uint8Array(1) })), 'digest_mismatch')
    expect(`${name} too late`, await check(request(), 61), 'proof_stale')
    expect(`${name} too early`, await check(request(), -31), 'proof_stale')
    expect(name, await check(request(), 60), 'cert-7f')
    expect(`${name} again`, await check(request(), 1), 'proof_replayed')
  }
}

/** Profile v2: with an attestation of the caller. */
async function checkAttestedProofs(expect: Expect): Promise<void> {
  const trust = await party()
  for (const { method, target, body, created, headers, verdict: expected } of proofs.attested) {
    const check = async (changed: Readonly<Record<string, string>> = {}): Promise<string> => {
      const sent: Readonly<Record<string, string>> = { ...headers, ...changed }
      const request: verify.IncomingRequest = {
        method,
        target,
        field: (name) => (sent[name] === undefined ? [] : [sent[name]]),
        body: new TextEncoder().encode(body),
      }
      const verdict = await verify.verifyRequest(request, {
        audience: 'https://print.example.org',
        evaluate: (certificate, now) => trust.evaluate(certificate, now),
        nonces: new verify.MemoryNonceStore(),
        at: BigInt(created) * 1_000_000n,
      })
      return verdict.valid ? (verdict.caller.attestation?.attestation_id ?? 'none') : verdict.reason
    }
    expect(`v2 ${expected}`, await check(), expected)
    const swapped = { 'chancery-attestation': `:${btoa('{}')}:` }
    expect(`v2 ${expected} swapped`, await check(swapped), 'signature_invalid')
  }
  const [v1] = proofs.proofs
  const sent: Readonly<Record<string, string>> = v1?.headers ?? {}
  const request: verify.IncomingRequest = {
    method: v1?.method ?? '',
    target: v1?.target ?? '',
    field: (name) => (sent[name] === undefined ? [] : [sent[name]]),
    body: new TextEncoder().encode(v1?.body),
  }
  const verdict = await verify.verifyRequest(request, {
    audience: 'https://print.example.org',
    evaluate: (certificate, now) => trust.evaluate(certificate, now),
    nonces: new verify.MemoryNonceStore(),
    at: BigInt(v1?.created ?? 0) * 1_000_000n,
  })
  expect('v1 at the same verifier', [verdict.valid, verdict.valid && verdict.caller.attestation], [true, undefined])
}

/** Decisions on a member of a partner, and the reason for one change in each input. */
async function checkForeignDecisions(expect: Expect): Promise<void> {
  const record = (text: string): JsonObject => verify.readJson(text) as JsonObject
  const now = BigInt(Date.parse(foreign.now)) * 1000n
  for (const one of foreign.cases) {
    const given = {
      decision: record(one.decision),
      justification: record(one.justification),
      context: record(one.context),
      attestation: record(foreign.attestation),
      treaty: record(foreign.treaty),
      authorityKeys: [foreign.authority_key],
      at: now,
    }
    const reasonOf = async (change: object): Promise<string> => {
      const verdict = await verify.verifyDecisionChain({ ...given, ...change })
      if (verdict.allowed) return 'allowed authorized'
      return verdict.valid ? `denied unauthorized_${verdict.reason}` : `invalid ${verdict.reason}`
    }
    const outcome = one.reason === 'authorized' ? 'allowed' : 'denied'
    expect(one.name, await reasonOf({}), `${outcome} ${one.reason}`)
    for (const [name, change, reason] of [
      ['decision', { decision: { ...given.decision, decision_id: 'x' } }, 'invalid_signature'],
      ['time', { at: now + HOUR }, 'decision_expired'],
      ['keys', { authorityKeys: [] }, 'invalid_signature'],
      ['justification', { justification: { ...given.justification, proof_id: 'x' } }, 'invalid_signature'],
      ['context', { context: { ...given.context, context_id: 'x' } }, 'context_digest_mismatch'],
      ['attestation', { attestation: { ...given.attestation, subject_id: 'x' } }, 'attestation_binding_mismatch'],
      ['treaty', { treaty: { ...given.treaty, metadata: { a: 1 } } }, 'recognition_mismatch'],
      ['treaty signature', { treaty: { ...given.treaty, signatures: [] } }, 'treaty_invalid'],
      ['attestation signature', { attestation: { ...given.attestation, signatures: [] } }, 'attestation_invalid'],
    ] as const)
      expect(`${one.name}: changed ${name}`, await reasonOf(change), `invalid ${reason}`)
  }
}
