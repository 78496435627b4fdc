import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { type JsonObject, canonicalJson } from '@chancery/protocol'
import { AUTHORITY_KEY, CERTIFICATE, LIST } from '../../packages/protocol/src/trust/worked-records.suite.ts'
import coreFile from '../../packages/protocol/src/vectors/core.json' with { type: 'json' }
import decisionFile from '../../packages/protocol/src/vectors/foreign-decision.json' with { type: 'json' }
import proofFile from '../../packages/sdk/src/request-proof/vectors.json' with { type: 'json' }
import type { ConformanceCase, Json } from '../../packages/vectors/src/run-cases.ts'

/**
 * Cases whose answer is a verdict: certificates, decisions, request proofs and node proofs. Records and signatures are
 * those of the protocol pages. The verdicts follow from the tables there and are written here by hand.
 */
export function verdictCases(): readonly ConformanceCase[] {
  return [...certificateCases(), ...decisionCases(), ...requestCases(), ...nodeProofCases()]
}

type Values = { readonly [name: string]: Json }

const TRUST = { network: CERTIFICATE.network_name, anchors: { 'na-main': AUTHORITY_KEY }, crl: canonicalJson(LIST) }
const NOON = '2026-03-02T12:00:00Z'

/** A key that no anchor names. */
const stranger = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 0x33)]),
  format: 'der',
  type: 'pkcs8',
})
const strangerKey = createPublicKey(stranger).export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')

function furtherSignature(key_id: string): { readonly key_id: string; readonly sig: string } {
  const { signatures: _signatures, ...body } = CERTIFICATE
  return { key_id, sig: sign(null, Buffer.from(canonicalJson(body)), stranger).toString('base64') }
}

/** protocol/gateway 8, and the rule about further signatures of protocol/core 6. */
function certificateCases(): readonly ConformanceCase[] {
  const ask = (name: string, change: JsonObject, reasons: readonly string[], more: Values = {}): ConformanceCase => ({
    id: `certificate: ${name}`,
    operation: 'verify-certificate',
    input: { certificate: canonicalJson({ ...CERTIFICATE, ...change }), ...TRUST, now: NOON, ...more },
    expected: { trusted: reasons.length === 0, reasons },
  })
  const [own] = CERTIFICATE.signatures
  if (own === undefined) throw new Error('the worked certificate has no signature')
  const bad = ['BadSignature { key_id: "na-main" }', 'NoTrustedIssuer', 'IssuerSignatureMissing']
  const unknown = 'UnknownIssuer { key_id: "other" }'
  const two = { 'na-main': AUTHORITY_KEY, 'na-two': strangerKey }
  return [
    ask('of its issuer', {}, []),
    ask('a role changed', { roles: ['role:admin'] }, bad),
    ask('no signature', { signatures: [] }, ['NoSignatures', 'IssuerSignatureMissing']),
    ask('a further signature of an unknown key', { signatures: [own, furtherSignature('other')] }, [unknown]),
    ask('a further signature of an unknown key, first', { signatures: [furtherSignature('other'), own] }, [unknown]),
    ask('a further signature of a pinned key', { signatures: [own, furtherSignature('na-two')] }, [], { anchors: two }),
    ask(
      'another pinned key instead of the issuer',
      { signatures: [furtherSignature('na-two')] },
      ['IssuerSignatureMissing'],
      { anchors: two },
    ),
    ask('of another network', { network_name: 'other' }, ['NetworkPolicyRejected']),
    ask('of another issuer', { issued_by: 'na-two' }, ['NetworkPolicyRejected']),
    ask('when the list has ended', {}, ['NetworkPolicyRejected'], { now: '2026-03-03T00:00:00Z' }),
    ask('without a readable time', { issued_at: 'yesterday' }, ['MalformedCertificate']),
  ]
}

/** protocol/trust-operations 4.10: whether a decision is genuine, and what it says. */
function decisionCases(): readonly ConformanceCase[] {
  const { authority_key, now, cases } = decisionFile
  return cases.flatMap(({ name, decision, reason }) => {
    const isAllowed = reason === 'authorized'
    const ask = (what: string, text: string, expected: Values, more: Values = {}): ConformanceCase => ({
      id: `decision ${name}: ${what}`,
      operation: 'verify-decision',
      input: { decision: text, keys: [authority_key], now, ...more },
      expected,
    })
    const refused = (why: string): Values => ({ outcome: 'invalid', reason: why })
    return [
      ask('verifies', decision, { outcome: isAllowed ? 'allowed' : 'denied', reason }),
      ask('under another key', decision, refused('invalid_signature'), { keys: [strangerKey] }),
      ask('an hour later', decision, refused('decision_expired'), { now: '2030-01-03T13:01:00Z' }),
      ask('its id changed', decision.replace('"decision_id":"', '"decision_id":"x'), refused('invalid_signature')),
      ask(
        'without a signature',
        decision.replace(/"signature":\s*\{[^}]*\}/, '"signature":null'),
        refused('missing_signature'),
      ),
    ]
  })
}

/** protocol/request-proof section 3. Nonces are of the verifier, so a repeated proof is no case here. */
function requestCases(): readonly ConformanceCase[] {
  return proofFile.proofs.flatMap(({ method, target, body, created, headers }) => {
    const at = (seconds: number): string => new Date((created + seconds) * 1000).toISOString().replace('.000Z', 'Z')
    const ask = (name: string, expected: Values, more: Values = {}): ConformanceCase => ({
      id: `request ${method} ${target}: ${name}`,
      operation: 'verify-request',
      input: { method, target, body, headers, audience: 'https://print.example.org', ...TRUST, now: at(0), ...more },
      expected,
    })
    const refused = (reason: string): Values => ({ accepted: false, reason })
    const { signature: _signature, ...incomplete } = headers
    return [
      ask('accepted', { accepted: true, cert_id: CERTIFICATE.cert_id }),
      ask('60 seconds later', { accepted: true, cert_id: CERTIFICATE.cert_id }, { now: at(60) }),
      ask('61 seconds later', refused('proof_stale'), { now: at(61) }),
      ask('31 seconds before', refused('proof_stale'), { now: at(-31) }),
      ask('another method', refused('signature_invalid'), { method: 'PUT' }),
      ask('another target', refused('signature_invalid'), { target: `${target}&x` }),
      ask('another body', refused('digest_mismatch'), { body: `${body} ` }),
      ask('for another service', refused('wrong_audience'), { audience: 'https://other.example.org' }),
      ask('without its signature', refused('proof_malformed'), { headers: incomplete }),
      ask('without a proof', refused('proof_missing'), { headers: {} }),
      ask('of a certificate that is not trusted', refused('certificate_untrusted'), { network: 'other' }),
    ]
  })
}

/** protocol/core 5.1: the proofs of a join, a heartbeat and a renewal. */
function nodeProofCases(): readonly ConformanceCase[] {
  const audience = coreFile.keys.find(({ name }) => name === 'na')?.public_key ?? ''
  return coreFile.signed.flatMap(({ kind, name, bytes, signature }) => {
    if (kind !== 'body') return []
    const { timestamp } = JSON.parse(bytes) as { timestamp: string }
    const at = (seconds: number): string => new Date(Date.parse(timestamp) + seconds * 1000).toISOString()
    const proof = `${bytes.slice(0, -1)},"signature":${JSON.stringify(signature)}}`
    const action = name.replace(' proof', '')
    const ask = (what: string, reason: string | null, text = proof, more: Values = {}): ConformanceCase => ({
      id: `${name}: ${what}`,
      operation: 'verify-node-proof',
      input: { body: text, action, audience, now: at(0), ...more },
      expected: { valid: reason === null, reason },
    })
    return [
      ask('verifies', null),
      ask('299.9 seconds later', null, proof, { now: at(299.9) }),
      ask('301 seconds later', 'stale_timestamp', proof, { now: at(301) }),
      ask('301 seconds before', 'stale_timestamp', proof, { now: at(-301) }),
      ask('a member added', 'invalid_signature', proof.replace('{', '{"added":1,')),
      ask('for another action', 'invalid_signature', proof.replace('{', '{"action":"wit",')),
      ask('without its signature', 'missing_fields', bytes),
      ask('without a readable time', 'invalid_timestamp', proof.replace(timestamp, 'yesterday')),
    ]
  })
}
