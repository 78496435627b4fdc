import { describe, expect, it } from 'vitest'
import { toBase64 } from '../canonical/base64.ts'
import { seconds } from '../canonical/time.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { seedSigner } from '../signing/keys.ts'
import { attestationInProof, isAttestationOfKey, readRequestProof } from './caller-proof.ts'
import { type ProofHeaders, contentDigest, isProofCurrent, verifyRequestProof } from './request-proof.ts'

const CREATED = 1_893_553_200
const signer = await seedSigner('node', toBase64(new Uint8Array(32).fill(3)))
const certificate = {
  cert_id: 'cert-1',
  node_public_key: signer.publicKey,
  network_name: 'BETA',
  roles: ['role:client'],
  issued_at: '2030-01-02T02:00:00Z',
  expires_at: '2030-01-03T02:00:00Z',
  issued_by: 'na-beta',
  signatures: [],
}
const attestation = {
  attestation_id: 'a1',
  issuer_sovereign_id: 'BETA',
  subject_id: 'agent-7',
  subject_public_key: signer.publicKey,
  roles: ['role:client'],
  status: 'active',
  issued_at: '2030-01-02T02:00:00Z',
  valid_from: '2030-01-02T02:00:00Z',
  expires_at: '2030-01-03T02:00:00Z',
  issued_by: 'na-beta',
  claims: {},
  signatures: [],
}
const request = { method: 'POST', target: '/ledger?page=1' }
const carried = (record: object): string => `:${toBase64(toUtf8(JSON.stringify(record)))}:`

/** Written out line by line, not with the functions under test. */
async function prove(given: { attested?: object; tag?: string; keyId?: string; nonce?: string } = {}) {
  const { attested, keyId = 'cert-1', nonce = '6f1f2c9e-8a6b-4f1d' } = given
  const tag = given.tag ?? (attested === undefined ? 'chancery-node-v1' : 'chancery-node-v2')
  const digest = contentDigest(new Uint8Array())
  const names = '"@method" "@request-target" "content-digest" "chancery-audience" "chancery-certificate"'
  const components = attested === undefined ? names : `${names} "chancery-attestation"`
  const parameters = `(${components});created=${CREATED};nonce="${nonce}";keyid="${keyId}";alg="ed25519";tag="${tag}"`
  const lines = [
    '"@method": POST',
    '"@request-target": /ledger?page=1',
    `"content-digest": ${digest}`,
    '"chancery-audience": https://ledger.example',
    `"chancery-certificate": ${carried(certificate)}`,
    ...(attested === undefined ? [] : [`"chancery-attestation": ${carried(attested)}`]),
    `"@signature-params": ${parameters}`,
  ]
  const headers: ProofHeaders = {
    'chancery-certificate': carried(certificate),
    'chancery-audience': 'https://ledger.example',
    'content-digest': digest,
    'signature-input': `node=${parameters}`,
    signature: `node=:${toBase64(await signer.sign(toUtf8(lines.join('\n'))))}:`,
    ...(attested === undefined ? {} : { 'chancery-attestation': carried(attested) }),
  }
  return headers
}

async function verdictOf(headers: ProofHeaders, about = request): Promise<unknown> {
  const proof = readRequestProof(headers)
  if (proof === undefined) return 'malformed'
  const result = await verifyRequestProof(proof, about)
  return typeof result === 'string' ? result : result.cert_id
}

describe('request proof', () => {
  it('of both profiles verifies under the key of its certificate', async () => {
    expect(await verdictOf(await prove())).toBe('cert-1')
    expect(await verdictOf(await prove({ attested: attestation }))).toBe('cert-1')
  })

  it('binds method, target, audience, certificate and attestation', async () => {
    const headers = await prove({ attested: attestation })
    expect(await verdictOf(headers, { ...request, method: 'PUT' })).toBe('signature_invalid')
    expect(await verdictOf(headers, { ...request, target: '/ledger?page=2' })).toBe('signature_invalid')
    expect(await verdictOf({ ...headers, 'chancery-audience': 'https://other.example' })).toBe('signature_invalid')
    const roles = carried({ ...certificate, roles: ['role:operator'] })
    expect(await verdictOf({ ...headers, 'chancery-certificate': roles })).toBe('signature_invalid')
    const swapped = carried({ ...attestation, attestation_id: 'a2' })
    expect(await verdictOf({ ...headers, 'chancery-attestation': swapped })).toBe('signature_invalid')
  })

  it('has one spelling for each profile', async () => {
    const headers = await prove({ attested: attestation })
    const { 'chancery-attestation': _none, ...stripped } = headers
    const input = headers['signature-input']
    const others: readonly ProofHeaders[] = [
      stripped,
      { ...(await prove()), 'chancery-attestation': carried(attestation) },
      await prove({ attested: attestation, tag: 'chancery-node-v1' }),
      await prove({ tag: 'chancery-node-v2' }),
      await prove({ tag: 'chancery-node-v9' }),
      await prove({ nonce: 'short' }),
      { ...headers, 'signature-input': input.slice('node='.length) },
      { ...headers, 'signature-input': `${input};x=1` },
      { ...headers, 'signature-input': input.replace(';created=', ' ;created=') },
      { ...headers, signature: headers.signature.replace('node=', 'other=') },
      { ...headers, 'chancery-audience': '' },
      { ...headers, 'chancery-audience': 'two words' },
      { ...headers, 'chancery-certificate': `:${'A'.repeat(8192)}:` },
      { ...headers, 'chancery-attestation': `:${'A'.repeat(8192)}:` },
    ]
    expect(others.map((each) => readRequestProof(each))).toEqual(others.map(() => undefined))
  })

  it('names the certificate that it carries', async () => {
    expect(await verdictOf(await prove({ keyId: 'other' }))).toBe('certificate_malformed')
    const headers = await prove()
    for (const text of ['', '::', ':!:', carried([]), carried({ ...certificate, node_public_key: 'x' })])
      expect(await verdictOf({ ...headers, 'chancery-certificate': text }), text).toBe('certificate_malformed')
  })

  it('is current for a time', async () => {
    const proof = readRequestProof(await prove())
    if (proof === undefined) throw new Error('it was not read')
    const isCurrent = (after: number): boolean => isProofCurrent(proof, seconds(CREATED + after), 120)
    expect([-31, -30, 0, 120, 121].map(isCurrent)).toEqual([false, true, true, true, false])
  })

  it('gives the attestation as it came, when it has its form', async () => {
    const { roles: _none, ...short } = attestation
    const read = async (record: object): Promise<ReturnType<typeof attestationInProof>> => {
      const proof = readRequestProof(await prove({ attested: record }))
      return proof === undefined ? undefined : attestationInProof(proof)
    }
    expect(await read(short)).toEqual({ record: { ...attestation, roles: [] }, wire: short })
    expect(await read({ ...attestation, extra: 1 })).toBeUndefined()
    expect(await read([])).toBeUndefined()
  })
})

describe('the key of an attestation', () => {
  it.each<[string, string | null, string, boolean]>([
    ['its subject key', 'k', 'agent-7', true],
    ['its subject, without a key', null, 'k', true],
    ['another subject key', 'other', 'k', false],
    ['an empty subject key', '', 'k', false],
    ['no key at all', null, 'agent-7', false],
  ])('%s', (_name, subject_public_key, subject_id, expected) => {
    expect(isAttestationOfKey({ subject_public_key, subject_id }, 'k')).toBe(expected)
  })
})
