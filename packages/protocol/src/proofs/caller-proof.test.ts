import { describe, expect, it } from 'vitest'
import { toBase64 } from '../canonical/base64.ts'
import { writeJson } from '../canonical/canonical-json.ts'
import { type JsonObject, type JsonValue, toUtf8 } from '../canonical/utf8.ts'
import { seconds } from '../canonical/time.ts'
import { seedSigner } from '../signing/keys.ts'
import core from '../vectors/core.json' with { type: 'json' }
import { PROOF_V2, verifyCallerProof } from './caller-proof.ts'
import type { AskedAttestation, CallerProof, CallerProofReason } from './caller-proof.ts'
import { PROOF_V1, contentDigest, signatureBase, writeProofParameters } from './request-proof.ts'

const caller = await seedSigner('node', core.keys.find(({ name }) => name === 'node')?.seed ?? '')
const CREATED = 1_893_553_200
const NOW = seconds(CREATED)
const ASKED: AskedAttestation = { attestation_id: 'a-1' }
const CERTIFICATE = {
  cert_id: 'cert-79',
  node_public_key: caller.publicKey,
  network_name: 'BETA',
  roles: ['role:client'],
  issued_at: '2030-01-01T00:00:00Z',
  expires_at: '2030-02-01T00:00:00Z',
  issued_by: 'na-beta',
  signatures: [],
}
const field = (value: JsonValue): string => `:${toBase64(toUtf8(writeJson(value)))}:`

async function proof(attestation?: JsonObject, keyId = CERTIFICATE.cert_id): Promise<CallerProof> {
  const request = { method: 'POST', target: '/ledger?page=1' }
  const digest = contentDigest(toUtf8('body'))
  const audience = 'https://ledger.example'
  const certificate = field(CERTIFICATE)
  const carried = attestation === undefined ? null : field(attestation)
  const covered = {
    'content-digest': digest,
    'chancery-audience': audience,
    'chancery-certificate': certificate,
    ...(carried === null ? {} : { 'chancery-attestation': carried }),
  }
  const profile = carried === null ? PROOF_V1 : PROOF_V2
  const parameters = writeProofParameters({ created: CREATED, nonce: 'nonce-0000000001', keyId }, profile)
  return {
    method: request.method,
    request_target: request.target,
    content_digest: digest,
    audience,
    certificate,
    attestation: carried,
    signature_input: `node=${parameters}`,
    signature: `node=:${toBase64(await caller.sign(signatureBase(request, covered, parameters, profile)))}:`,
  }
}

async function reason(given: JsonValue, asked = ASKED, now = NOW): Promise<CallerProofReason | undefined> {
  const verdict = await verifyCallerProof(given, { asked, now })
  return verdict.ok ? undefined : verdict.reason
}

describe('verifyCallerProof (protocol/request-proof 6)', () => {
  it('shows key, audience and nonce of the caller', async () => {
    expect(await verifyCallerProof(await proof(), { asked: ASKED, now: NOW })).toEqual({
      ok: true,
      caller: {
        kind: 'request_proof',
        certificate: CERTIFICATE,
        audience: 'https://ledger.example',
        nonce: 'nonce-0000000001',
        created: NOW,
      },
    })
  })

  it.each<[string, Partial<Record<keyof CallerProof | 'extra', JsonValue>>]>([
    ['a further member', { extra: 'x' }],
    ['a number', { method: 5 }],
    ['an empty method', { method: '' }],
    ['a line break in the target', { request_target: '/a\n"content-digest": x' }],
    ['a digest of another kind', { content_digest: 'sha-512=:AAAA:' }],
    ['a long audience', { audience: 'x'.repeat(257) }],
    ['an attestation in profile v1', { attestation: ':e30=:' }],
    ['another spelling of the parameters', { signature_input: 'node=()' }],
    ['a short signature', { signature: 'node=:AAAA:' }],
    ['a certificate that is too long', { certificate: `:${'A'.repeat(8192)}:` }],
  ])('%s is malformed', async (_what, change) => {
    expect(await reason({ ...(await proof()), ...change })).toBe('malformed')
  })

  it('a missing member, and no object, are malformed', async () => {
    const { audience: _audience, ...rest } = await proof()
    for (const given of [rest, null, 'x', []]) expect(await reason(given)).toBe('malformed')
    expect(await reason({ ...(await proof({ attestation_id: 'a-1' })), attestation: null })).toBe('malformed')
    expect(await reason(await proof({ attestation_id: 'a-1' }))).toBe('attestation_mismatch')
  })

  it('is accepted up to 120 s after and 30 s before its time', async () => {
    const given = await proof()
    expect(await reason(given, ASKED, NOW + seconds(120))).toBeUndefined()
    expect(await reason(given, ASKED, NOW + seconds(121))).toBe('stale')
    expect(await reason(given, ASKED, NOW - seconds(30))).toBeUndefined()
    expect(await reason(given, ASKED, NOW - seconds(31))).toBe('stale')
  })

  it('a certificate of another id or form is malformed', async () => {
    expect(await reason(await proof(undefined, 'other'))).toBe('certificate_malformed')
    expect(await reason({ ...(await proof()), certificate: ':e30=:' })).toBe('certificate_malformed')
  })

  it.each<keyof CallerProof>(['method', 'request_target', 'audience'])('another %s is not signed', async (name) => {
    expect(await reason({ ...(await proof()), [name]: '/other' })).toBe(
      name === 'method' ? 'malformed' : 'signature_invalid',
    )
  })

  it('an attestation in the proof must be the one that is asked about', async () => {
    const record = {
      attestation_id: 'a-1',
      issuer_sovereign_id: 'BETA',
      subject_id: 'x',
      issued_at: '2030-01-01T00:00:00Z',
      valid_from: '2030-01-01T00:00:00Z',
      expires_at: '2030-02-01T00:00:00Z',
      issued_by: 'na-beta',
    }
    const given = await proof(record)
    expect(await reason(given)).toBeUndefined()
    expect(await reason(given, { attestation_id: 'a-2' })).toBe('attestation_mismatch')
    expect(await reason(given, { presented: { ...record } })).toBeUndefined()
    expect(await reason(given, { presented: { ...record, subject_id: 'y' } })).toBe('attestation_mismatch')
  })
})
