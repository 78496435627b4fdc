import { describe, expect, it } from 'vitest'
import { sha256Hex } from '../canonical/digest.ts'
import { hours, seconds } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { seedSigner } from '../signing/keys.ts'
import { signList } from '../signing/verify-any.ts'
import { toBase64 } from '../canonical/base64.ts'
import { checkCertificate, evaluateCertificate } from './evaluate-certificate.ts'
import type { IssuerTrust, NetworkTrust, RevocationState } from './evaluate-certificate.ts'
import { reasonText } from './findings.ts'
import { type JoinCertificate, certificateBytes } from '../artifacts/join-certificate.ts'
import { positionOfList } from './revocation-list.ts'
import { toTrustDecision } from './trust-decision.ts'
import { AUTHORITY_KEY, CERTIFICATE, LIST, NODE_KEY, keyBytes } from './worked-records.suite.ts'

const NOW = instantOf('2026-03-02T12:00:00Z')

function trustIn(over: Partial<IssuerTrust> = {}, network: Partial<NetworkTrust> = {}): NetworkTrust {
  const issuer: IssuerTrust = {
    issuer: 'na-main',
    anchors: new Map([
      ['na-main', keyBytes(AUTHORITY_KEY)],
      ['na-second', keyBytes(NODE_KEY)],
    ]),
    list: positionOfList(LIST),
    floor: 9,
    freshness: { maxAge: seconds(604_800), clockSkew: seconds(30) },
    revocations: { find: () => undefined },
    ...over,
  }
  return {
    name: CERTIFICATE.network_name,
    issuers: new Map([[issuer.issuer, issuer]]),
    requiredRoles: ['role:client'],
    certificateSkew: seconds(300),
    maxLifetime: undefined,
    ...network,
  }
}

async function reasons(certificate: JoinCertificate, network: NetworkTrust | undefined, now = NOW): Promise<string[]> {
  const { findings } = await evaluateCertificate(certificate, network, now)
  return findings.map(reasonText)
}

async function causes(certificate: JoinCertificate, network: NetworkTrust | undefined, now = NOW): Promise<unknown> {
  const { findings } = await evaluateCertificate(certificate, network, now)
  return findings[0]?.code === 'network_policy_rejected' ? findings[0].causes : findings
}

function revoked(known: RevocationState): Partial<IssuerTrust> {
  return { revocations: { find: (id) => (id === 'cert-7f' ? known : undefined) } }
}

it('the worked certificate has the published signing input', () => {
  expect(sha256Hex(certificateBytes(CERTIFICATE))).toBe(
    '6e9f34caf669933e830979e12c1d97eba4bc0b6189bd4e38495af0b3b5ac3fb6',
  )
})

it('the worked certificate is trusted with no reason', async () => {
  expect(await reasons(CERTIFICATE, trustIn())).toEqual([])
})

describe('given verdicts', () => {
  it('replace the signature check alone: time, list and revocation are checked each time', async () => {
    const evaluate = async (network: NetworkTrust, verdict: boolean, now = NOW): Promise<string[]> =>
      (await evaluateCertificate(CERTIFICATE, network, now, () => [verdict])).findings.map(reasonText)
    const network = trustIn()
    expect(await evaluate(network, true)).toEqual([])
    expect(await evaluate(network, false)).toContain('BadSignature { key_id: "na-main" }')
    const listed = trustIn(revoked({ reason: 'key_compromise', revoked_at: 'then', withdrawn: false }))
    expect(await evaluate(listed, true)).toEqual(await reasons(CERTIFICATE, listed))
    expect(await evaluate(listed, true)).not.toEqual([])
    const late = instantOf(CERTIFICATE.expires_at) + hours(1)
    expect(await evaluate(network, true, late)).toEqual(await reasons(CERTIFICATE, network, late))
    expect(await evaluate(network, true, late)).not.toEqual([])
  })
})

describe('the policy gate', () => {
  it.each([
    ['an unknown network', CERTIFICATE, undefined, ['unknown_network']],
    ['an unknown issuer', { ...CERTIFICATE, issued_by: 'na-ghost' }, trustIn(), ['unknown_issuer']],
    ['an anchored key that issues no list', { ...CERTIFICATE, issued_by: 'na-second' }, trustIn(), ['unknown_issuer']],
    ['a list below the floor', CERTIFICATE, trustIn({ floor: 10 }), ['crl_below_floor']],
    ['a missing role', CERTIFICATE, trustIn({}, { requiredRoles: ['role:x'] }), ['missing_role']],
    ['an empty window', { ...CERTIFICATE, expires_at: CERTIFICATE.issued_at }, trustIn(), ['invalid_validity_window']],
    [
      'a weak node key',
      { ...CERTIFICATE, node_public_key: toBase64(new Uint8Array(32)) },
      trustIn(),
      ['invalid_node_key'],
    ],
    [
      'an unpadded node key',
      { ...CERTIFICATE, node_public_key: NODE_KEY.slice(0, 43) },
      trustIn(),
      ['invalid_node_key'],
    ],
    [
      'a window of 168 h where 167 are allowed',
      CERTIFICATE,
      trustIn({}, { maxLifetime: hours(167) }),
      ['lifetime_too_long'],
    ],
    ['an issuer without its own anchor', CERTIFICATE, trustIn({ anchors: new Map() }), ['issuer_not_anchored']],
    [
      'several at once',
      { ...CERTIFICATE, node_public_key: 'x' },
      trustIn({ floor: 10 }, { requiredRoles: ['role:x'] }),
      ['crl_below_floor', 'invalid_node_key', 'missing_role'],
    ],
  ] as readonly (readonly [string, JoinCertificate, NetworkTrust | undefined, string[]])[])(
    '%s',
    async (_name, certificate, network, expected) => {
      expect(await causes(certificate, network)).toEqual(expected)
      expect(await reasons(certificate, network)).toEqual(['NetworkPolicyRejected'])
    },
  )

  it('lets the clock of a list be ahead by its own skew, whatever certificates are allowed', async () => {
    const strict = trustIn({}, { certificateSkew: 0n })
    expect(await reasons(CERTIFICATE, strict, instantOf('2026-03-01T23:59:30Z'))).toEqual([])
    expect(await causes(CERTIFICATE, strict, instantOf('2026-03-01T23:59:29.999999Z'))).toEqual(['crl_stale'])
  })

  it('denies at exactly next_update, and not a microsecond earlier', async () => {
    expect(await reasons(CERTIFICATE, trustIn(), instantOf('2026-03-02T23:59:59.999999Z'))).toEqual([])
    expect(await causes(CERTIFICATE, trustIn(), instantOf('2026-03-03T00:00:00Z'))).toEqual(['crl_stale'])
  })
})

describe('the checks', () => {
  const other = { ...CERTIFICATE, cert_id: 'cert-80' }
  it('says every reason in order', async () => {
    const known = { reason: 'a "b" \\ c', revoked_at: '2026-03-01T00:00:00Z', withdrawn: true }
    const network = trustIn({
      revocations: { find: () => known },
      list: { ...positionOfList(LIST), nextUpdate: instantOf('2026-04-01T00:00:00Z') },
    })
    expect(await reasons(other, network, instantOf('2026-03-08T08:05:00.250001Z'))).toEqual([
      'BadSignature { key_id: "na-main" }',
      'NoTrustedIssuer',
      'IssuerSignatureMissing',
      'Expired { expires_at: 2026-03-08T08:00:00.250000Z }',
      String.raw`Revoked { reason: "a \"b\" \\ c" }`,
    ])
  })

  it('NoSignatures', async () => {
    expect(await reasons({ ...CERTIFICATE, signatures: [] }, trustIn())).toEqual([
      'NoSignatures',
      'IssuerSignatureMissing',
    ])
  })

  it('refuses an extra signature by an unknown key; its id is escaped', async () => {
    const [own] = CERTIFICATE.signatures
    const signatures = [...CERTIFICATE.signatures, { key_id: 'a"\n', sig: own?.sig ?? '' }]
    expect(await reasons({ ...CERTIFICATE, signatures }, trustIn())).toEqual([
      String.raw`UnknownIssuer { key_id: "a\"\n" }`,
    ])
  })

  it('another anchored key cannot stand in for issued_by', async () => {
    const node = await seedSigner('na-second', toBase64(new Uint8Array(32).fill(0x22)))
    const { signatures: _own, ...draft } = CERTIFICATE
    const signed = await signList({ ...draft, signatures: [] }, node)
    expect(await reasons(signed as JoinCertificate, trustIn())).toEqual(['IssuerSignatureMissing'])
  })

  it('Revoked carries what the list said', async () => {
    const known = { reason: 'key_compromise', revoked_at: '2026-01-01T00:00:00Z', withdrawn: false }
    const { findings } = await evaluateCertificate(CERTIFICATE, trustIn(revoked(known)), NOW)
    expect(findings).toEqual([{ code: 'revoked', ...known }])
  })

  it.each([
    ['2026-03-01T07:55:00Z', []],
    ['2026-03-01T07:54:59.999999Z', ['NotYetValid { issued_at: 2026-03-01T08:00:00Z }']],
    ['2026-03-08T08:05:00.250000Z', []],
    ['2026-03-08T08:05:00.250001Z', ['Expired { expires_at: 2026-03-08T08:00:00.250000Z }']],
  ])('skew of five minutes at both ends: %s', async (now, expected) => {
    const list = {
      ...positionOfList(LIST),
      issuedAt: instantOf('2026-02-28T00:00:00Z'),
      nextUpdate: instantOf('2026-04-01T00:00:00Z'),
    }
    const freshness = { maxAge: seconds(31_536_000), clockSkew: 0n }
    expect(await reasons(CERTIFICATE, trustIn({ list, freshness }), instantOf(now))).toEqual(expected)
  })

  it.each([
    ['encoding', { ...CERTIFICATE, signatures: [{ key_id: 'na-main', sig: '!'.repeat(88) }] }],
    ['encoding', { ...CERTIFICATE, signatures: [{ key_id: 'na-main', sig: `${'A'.repeat(85)}B==` }] }],
    ['timestamp', { ...CERTIFICATE, issued_at: '2026-02-30T00:00:00Z' }],
    ['timestamp', { ...CERTIFICATE, expires_at: 'soon', signatures: [] }],
  ])('MalformedCertificate alone: %s', async (cause, certificate) => {
    const { findings } = await evaluateCertificate(certificate, trustIn(), NOW)
    expect(findings).toEqual([{ code: 'malformed_certificate', cause }])
  })
})

describe('without a policy', () => {
  const caller = { anchors: new Map([['na-main', keyBytes(AUTHORITY_KEY)]]), skew: seconds(300), now: NOW }
  const index = { find: () => ({ reason: 'x', revoked_at: '2026-01-01T00:00:00Z', withdrawn: false }) }
  const list = { ...positionOfList(LIST), authentic: true, revocations: index }

  it('verifies with the anchors alone', async () => {
    expect((await checkCertificate(CERTIFICATE, { ...caller, list: undefined })).findings).toEqual([])
  })

  it('an inauthentic list revokes nothing and is said to be one', async () => {
    const { findings } = await checkCertificate(CERTIFICATE, { ...caller, list: { ...list, authentic: false } })
    expect(findings.map(reasonText)).toEqual(['UntrustedRevocationList'])
  })

  it('a stale list is one reason among others', async () => {
    const { findings } = await checkCertificate(CERTIFICATE, { ...caller, list: { ...list, nextUpdate: NOW } })
    expect(findings.map(reasonText)).toEqual(['StaleRevocationList', 'Revoked { reason: "x" }'])
  })
})

describe('toTrustDecision', () => {
  it('a trusted answer is looked at again after a minute at most', async () => {
    const result = await evaluateCertificate(CERTIFICATE, trustIn(), NOW)
    const decision = toTrustDecision(result, { network: 'n', policyRevision: 'r', now: NOW })
    expect(decision).toEqual({
      trusted: true,
      reasons: [],
      findings: [],
      evaluation: {
        evaluated_at: '2026-03-02T12:00:00Z',
        policy_revision: 'r',
        network: 'n',
        issuer: 'na-main',
        crl_sequence: 9,
        crl_next_update: '2026-03-03T00:00:00Z',
        recheck_after: '2026-03-02T12:01:00Z',
      },
    })
  })

  it.each([
    ['2026-03-02T23:59:30Z', '2026-03-03T00:00:00Z'],
    ['2026-03-02T12:00:00.5Z', '2026-03-02T12:01:00.500000Z'],
  ])('never beyond the list: at %s again at %s', async (now, expected) => {
    const result = await evaluateCertificate(CERTIFICATE, trustIn(), instantOf(now))
    const facts = { network: 'n', policyRevision: null, now: instantOf(now) }
    expect(toTrustDecision(result, facts).evaluation.recheck_after).toBe(expected)
  })

  it('an unknown issuer leaves nothing to name', async () => {
    const result = await evaluateCertificate({ ...CERTIFICATE, issued_by: 'x' }, trustIn(), NOW)
    const { evaluation, trusted } = toTrustDecision(result, { network: 'n', policyRevision: 'r', now: NOW })
    expect([trusted, evaluation.issuer, evaluation.crl_sequence]).toEqual([false, null, null])
  })
})
