import { type JsonObject, signJws, toBase64Url, toUtf8, writeJson } from '@chancery/protocol'
import { testList } from '@chancery/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { CARD, type CardNetwork, NOW, cardNetwork, changed, treatyOn } from './card.suite.ts'
import { CERTIFICATE_EXTENSION, carriedRecord, withExtension } from './extensions.ts'
import { canonicalCard } from './form.ts'
import { signAgentCard } from './sign.ts'
import { openTreatyParty } from './treaty-party.ts'
import { type CardPartner, type CardTrust, readSignedCard, verifyAgentCard } from './verify.ts'

let own: CardNetwork
let beta: CardNetwork
let signed: JsonObject
let foreign: JsonObject
beforeAll(async () => {
  own = await cardNetwork('agency')
  beta = await cardNetwork('beta')
  signed = await signAgentCard(CARD, { signer: own.node, certificate: own.certificate, crl: 'https://na.example/crl' })
  foreign = await signAgentCard(CARD, { signer: beta.node, certificate: beta.certificate })
})

async function judge(card: JsonObject | string, change: Partial<CardTrust> = {}): Promise<string> {
  const text = typeof card === 'string' ? card : writeJson(card)
  const verdict = await verifyAgentCard(text, { keys: own.keys, own: await own.party(), now: NOW, ...change })
  return verdict.valid ? `ok ${verdict.certificate.cert_id} ${verdict.treaty?.treaty_id ?? 'own'}` : verdict.reason
}

describe('verifyAgentCard, own network', () => {
  it('accepts a card of a node of the own network, and names where its list is', async () => {
    expect(await judge(signed)).toBe('ok cert-agency own')
    expect(await readSignedCard(writeJson(signed))).toMatchObject({ valid: true, crl: 'https://na.example/crl' })
  })

  it('accepts one node key or role only, when the caller names it', async () => {
    const { node_public_key, roles } = own.certificate
    expect(await judge(signed, { expectedNodeKey: node_public_key, requiredRoles: roles })).toBe('ok cert-agency own')
    expect(await judge(signed, { expectedNodeKey: beta.node.publicKey })).toBe('node_key_mismatch')
    expect(await judge(signed, { requiredRoles: [...roles, 'role:service:print'] })).toBe('role_missing')
    const untrusted = { expectedNodeKey: beta.node.publicKey, own: await own.party([own.certificate.cert_id]) }
    expect(await judge(signed, untrusted)).toBe('certificate_untrusted')
  })

  it('reads the JSON as fetched: layout and order of members are free', async () => {
    const other = { signatures: signed['signatures'], ...Object.fromEntries(Object.entries(signed).toReversed()) }
    expect(await judge(JSON.stringify(other, undefined, 2))).toBe('ok cert-agency own')
  })

  it.each<[string, readonly (string | number)[], unknown, string]>([
    ['another name', ['name'], 'Printer', 'signature_invalid'],
    ['another address', ['supportedInterfaces', 0, 'url'], 'https://evil.example', 'signature_invalid'],
    ['one skill more', ['skills', 1], { id: 'x', name: 'x', description: 'x', tags: ['x'] }, 'signature_invalid'],
    ['a removed requirement', ['securityRequirements'], undefined, 'signature_invalid'],
    ['another list', ['capabilities', 'extensions', 0, 'params', 'crl'], 'https://evil.example', 'signature_invalid'],
    ['another network', ['capabilities', 'extensions', 0, 'params', 'network'], 'beta', 'certificate_malformed'],
    ['a member outside the schema', ['preferredTransport'], 'JSONRPC', 'card_form'],
    ['an empty member', ['documentationUrl'], '', 'card_form'],
    ['an empty list', ['skills', 0, 'examples'], [], 'card_form'],
    ['no signatures', ['signatures'], undefined, 'signature_missing'],
    ['signatures of another form', ['signatures'], 'x', 'signature_missing'],
    ['too many signatures', ['signatures'], Array.from({ length: 17 }, () => ({})), 'signature_missing'],
    ['no extension', ['capabilities', 'extensions'], undefined, 'certificate_missing'],
    ['no base64', ['capabilities', 'extensions', 0, 'params', 'certificate'], 'a', 'certificate_malformed'],
    ['too long', ['capabilities', 'extensions', 0, 'params', 'certificate'], 'A'.repeat(8196), 'certificate_malformed'],
  ])('refuses %s', async (_what, path, value, reason) => {
    expect(await judge(changed(signed, path, value))).toBe(reason)
  })

  it.each(['', '[]', '{"name":"a","name":"b"}', '{"name":"\\ud800"}', `{"name":"${'x'.repeat(300_000)}"}`])(
    'refuses the text %.20s',
    async (text) => {
      expect(await judge(text)).toBe('card_malformed')
    },
  )

  it('refuses two certificates, also when both are the same', async () => {
    const [extension] = (signed['capabilities'] as { extensions: JsonObject[] }).extensions
    expect(await judge(changed(signed, ['capabilities', 'extensions', 1], extension))).toBe('certificate_missing')
  })

  it('refuses a certificate that is revoked, expired, not yet valid or forged, and a list that is too old', async () => {
    expect(await judge(signed, { own: await own.party([own.certificate.cert_id]) })).toBe('certificate_untrusted')
    const day = 86_400_000_000n
    expect(await judge(signed, { now: NOW + 2n * day, own: await own.party([], NOW + 2n * day) })).toBe(
      'certificate_untrusted',
    )
    expect(await judge(signed, { now: NOW - day, own: await own.party([], NOW - day) })).toBe('certificate_untrusted')
    expect(await judge(signed, { own: await own.party([], NOW - 9n * day) })).toBe('certificate_untrusted')
    const forged = { ...own.certificate, roles: ['role:admin'] }
    const card = await signAgentCard(CARD, { signer: own.node, certificate: forged })
    expect(await judge(card)).toBe('certificate_untrusted')
  })

  it('refuses the certificate of another node with the signature of the own key', async () => {
    const stolen = { ...own.certificate, node_public_key: beta.node.publicKey }
    const card = await signAgentCard(CARD, { signer: beta.node, certificate: stolen })
    expect(await judge(card)).toBe('certificate_untrusted')
    const swapped = withExtension(card, {
      uri: CERTIFICATE_EXTENSION,
      params: { network: 'agency', certificate: carriedRecord(own.certificate) },
    })
    expect(await judge(swapped)).toBe('signature_invalid')
  })
})

describe('the signature of a card', () => {
  async function withHeader(header: JsonObject, extra: JsonObject = {}): Promise<JsonObject> {
    const { signatures: _old, ...card } = signed
    const jws = await signJws(header, toUtf8(canonicalCard(card)), own.node)
    return { ...card, signatures: [{ protected: jws.protected, signature: jws.signature, ...extra }] }
  }

  it('may name Ed25519 by either name, and have no typ', async () => {
    expect(await judge(await withHeader({ alg: 'Ed25519', kid: 'cert-agency' }))).toBe('ok cert-agency own')
  })

  it.each<[string, JsonObject]>([
    ['another kid', { kid: 'cert-2', typ: 'JOSE' }],
    ['no kid', { typ: 'JOSE' }],
    ['alg none', { alg: 'none', kid: 'cert-agency' }],
    ['alg HS256', { alg: 'HS256', kid: 'cert-agency' }],
    ['critical parameters', { kid: 'cert-agency', crit: ['b64'], b64: false }],
  ])('does not count with %s', async (_what, header) => {
    expect(await judge(await withHeader(header))).toBe('signature_missing')
  })

  it('takes no key from jku, jwk or the unprotected header', async () => {
    const jku = { kid: 'cert-agency', jku: 'http://127.0.0.1:1/keys', jwk: { kty: 'OKP', crv: 'Ed25519', x: 'AAAA' } }
    // Asking that address would fail the call; the signature of the certified key counts, and nothing else.
    expect(await judge(await withHeader(jku, { header: { jku: 'http://127.0.0.1:1/' } }))).toBe('ok cert-agency own')
    const { signatures: _old, ...card } = signed
    const other = await signJws(jku, toUtf8(canonicalCard(card)), beta.node)
    expect(await judge({ ...card, signatures: [{ protected: other.protected, signature: other.signature }] })).toBe(
      'signature_invalid',
    )
  })

  it('of other signers are not read', async () => {
    const [first] = signed['signatures'] as JsonObject[]
    const stranger = { protected: toBase64Url(toUtf8('{"alg":"ES256","kid":"x"}')), signature: 'AAAA' }
    expect(await judge({ ...signed, signatures: [stranger, null, { protected: 1 }, first ?? null] })).toBe(
      'ok cert-agency own',
    )
  })

  it('begins with other bytes than records, request proofs and log notes', () => {
    const [{ protected: head }] = signed['signatures'] as [{ protected: string }]
    expect(head.startsWith('eyJ')).toBe(true)
  })
})

describe('verifyAgentCard, partners', () => {
  async function partner(change: Parameters<typeof treatyOn>[2] = {}, status = 'active'): Promise<CardPartner> {
    return { treaty: await treatyOn(own, beta, change), status, trust: await beta.party() }
  }
  const judged = async (each: CardPartner): Promise<string> => judge(foreign, { partners: [each] })

  it('refuses a card of another network without a treaty', async () => {
    expect(await judge(foreign)).toBe('network_unknown')
  })

  it('accepts it with a treaty of the own authority', async () => {
    expect(await judged(await partner())).toBe('ok cert-beta treaty-1')
  })

  it('verifies the list of the partner by the keys of the treaty', async () => {
    const treaty = await treatyOn(own, beta)
    const open = async (entries: { certificate_id: string }[]): Promise<CardPartner> => ({
      treaty,
      status: 'active',
      trust: await openTreatyParty(treaty, await testList(beta.by, NOW, { entries })),
    })
    expect(await judged(await open([]))).toBe('ok cert-beta treaty-1')
    expect(await judged(await open([{ certificate_id: 'cert-beta' }]))).toBe('certificate_untrusted')
    await expect(openTreatyParty(treaty, await testList(own.by, NOW))).rejects.toThrow('no key of treaty treaty-1')
  })

  it.each<[string, Parameters<typeof treatyOn>[2], string, string]>([
    ['is revoked', {}, 'revoked', 'treaty_invalid'],
    ['is over', { expires_at: '2030-01-01T12:00:00Z' }, 'active', 'treaty_invalid'],
    ['is suspended', { status: 'suspended' }, 'active', 'treaty_invalid'],
    ['is of another issuer', { issuer_sovereign_id: 'gamma' }, 'active', 'treaty_invalid'],
    ['is on another network', { subject_sovereign_id: 'gamma' }, 'active', 'network_unknown'],
    [
      'allows another role',
      { scope: { allowed_roles: ['role:service'], accepted_statuses: ['active'], claims: {} } },
      'active',
      'role_not_allowed',
    ],
    [
      'allows no role',
      { scope: { allowed_roles: [], accepted_statuses: ['active'], claims: {} } },
      'active',
      'role_not_allowed',
    ],
  ])('refuses it when the treaty %s', async (_what, change, status, reason) => {
    expect(await judged(await partner(change, status))).toBe(reason)
  })

  it('refuses a treaty that another key signed, or with other keys of the partner', async () => {
    const forged = await treatyOn(beta, beta, { issuer_sovereign_id: 'agency' })
    expect(await judged({ ...(await partner()), treaty: forged })).toBe('treaty_invalid')
    expect(await judged(await partner({ subject_public_keys: [own.by.signer.publicKey] }))).toBe('treaty_key_mismatch')
  })

  it('refuses a certificate without roles, and one with a role beyond the treaty', async () => {
    for (const roles of [[], ['role:client', 'role:admin']]) {
      const other = await cardNetwork('beta', roles)
      const card = await signAgentCard(CARD, { signer: other.node, certificate: other.certificate })
      const each = { ...(await partner()), trust: await other.party() }
      expect(await judge(card, { partners: [each] })).toBe('role_not_allowed')
    }
  })
})
