import { type JsonObject, type JsonValue, canonicalBytes, readInstant, toBase64, writeJson } from '@chancery/protocol'
import { testSigner } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { NetworkCollector } from './collect.ts'
import type { Facts } from './project.ts'

const NOW = readInstant('2026-03-02T12:00:00Z') ?? 0n
const signer = await testSigner('na-main', 'alpha/na-main')
const stranger = await testSigner('na-main', 'stranger')
const TIMES = {
  issued_at: '2026-03-01T00:00:00Z',
  valid_from: '2026-03-01T00:00:00Z',
  expires_at: '2026-04-01T00:00:00Z',
}

async function signed(record: JsonObject, by = signer, keyId = 'na-main'): Promise<JsonObject> {
  const sig = toBase64(await by.sign(canonicalBytes(record)))
  return { ...record, signatures: [{ key_id: keyId, sig }] }
}

function treaty(over: JsonObject = {}): JsonObject {
  return {
    treaty_id: 'treaty-1',
    issuer_sovereign_id: 'alpha',
    subject_sovereign_id: 'beta',
    scope: { allowed_roles: ['role:client'] },
    status: 'active',
    metadata: { note: 'private' },
    ...TIMES,
    ...over,
  }
}

function attestation(over: JsonObject = {}): JsonObject {
  return {
    attestation_id: 'att-1',
    issuer_sovereign_id: 'alpha',
    subject_id: 'zoe',
    roles: ['role:client'],
    status: 'active',
    claims: { public_mesh: true, secret: 'private' },
    ...TIMES,
    ...over,
  }
}

const feed = { issuer_sovereign_id: 'alpha', sequence: 4, issued_at: '2026-03-02T11:00:00Z', issued_by: 'na-main' }

function bytes(value: JsonValue): Uint8Array {
  return Buffer.from(writeJson(value))
}

function rows(name: string, member: string, records: readonly JsonObject[], status = 'active'): Uint8Array {
  return bytes({ [name]: records.map((record) => ({ status, [member]: record })) })
}

interface Readings {
  readonly treaties?: Uint8Array
  readonly attestations?: Uint8Array
  readonly dashboard?: Uint8Array
  readonly feed?: Uint8Array
}

const FACTS: Facts = {
  network: 'alpha',
  anchors: { 'na-main': signer.publicKey },
  formerKeys: [],
  published: ['alpha', 'beta'],
  now: NOW,
}

/** The shown part of one page of each list, as in the mesh document. */
async function shown({ treaties, attestations, dashboard, feed: given }: Readings) {
  const collector = new NetworkCollector(FACTS)
  const read = treaties === undefined ? undefined : await collector.add({ list: 'links', bytes: treaties })
  if (attestations !== undefined) await collector.add({ list: 'members', bytes: attestations })
  const singles = await collector.readSingles({ feed: given, dashboard })
  const { members } = collector.readMembers()
  return { isAvailable: read !== undefined, links: collector.readLinks().links, members, ...singles }
}

const links = async (records: readonly JsonObject[], status?: string) =>
  (await shown({ treaties: rows('recognition_treaties', 'treaty', records, status) })).links
const members = async (records: readonly JsonObject[], status?: string) =>
  (await shown({ attestations: rows('attestations', 'attestation', records, status) })).members

describe('records of a key that was replaced', () => {
  const KEY = { key_id: 'na-main', public_key: signer.publicKey, valid_from: '2026-01-01T00:00:00Z' }
  const shownUnder = async (formerKeys: Facts['formerKeys']) => {
    const collector = new NetworkCollector({ ...FACTS, anchors: { 'na-2': 'other' }, formerKeys })
    await collector.add({ list: 'links', bytes: rows('recognition_treaties', 'treaty', [await signed(treaty())]) })
    return collector.readLinks().links.length
  }

  it('are shown while they last, when the authority signed with that key at their time', async () => {
    expect(await shownUnder([{ ...KEY, valid_to: '2099-01-01T00:00:00Z' }])).toBe(1)
    expect(await shownUnder([])).toBe(0)
  })

  it('are not shown when they are dated after the time of the key', async () => {
    expect(await shownUnder([{ ...KEY, valid_to: '2026-01-02T00:00:00Z' }])).toBe(0)
  })
})

describe('links', () => {
  it('show a treaty between published networks, with these fields only', async () => {
    expect(await links([await signed(treaty())])).toEqual([
      {
        id: 'treaty-1',
        from: 'alpha',
        to: 'beta',
        roles: ['role:client'],
        issued_at: TIMES.issued_at,
        expires_at: TIMES.expires_at,
      },
    ])
  })

  it.each<[string, JsonObject]>([
    ['of another issuer', { issuer_sovereign_id: 'beta' }],
    ['with an unpublished network', { subject_sovereign_id: 'closed' }],
    ['with itself', { subject_sovereign_id: 'alpha' }],
    ['that has ended', { expires_at: '2026-03-02T12:00:00Z' }],
    ['that has not begun', { valid_from: '2026-03-02T12:00:00.000001Z' }],
    ['that is suspended', { status: 'suspended' }],
    ['without a time', { valid_from: 'soon' }],
    ['with a long id', { treaty_id: 'x'.repeat(257) }],
    ['with a long id in bytes', { treaty_id: 'é'.repeat(129) }],
    ['with a control character', { treaty_id: 'a\u0007' }],
    ['that changes the text direction', { treaty_id: 'a\u202eb' }],
    ['without an id', { treaty_id: '' }],
  ])('leave out a treaty %s', async (_what, over) => {
    expect(await links([await signed(treaty(over))])).toEqual([])
  })

  it('leave out a treaty that is not signed with the pinned keys', async () => {
    const good = await signed(treaty())
    const forged = [
      await signed(treaty(), stranger),
      await signed(treaty(), signer, 'na-other'),
      { ...good, signatures: [] },
      { ...treaty() },
      { ...good, scope: { allowed_roles: ['role:admin'] } },
      await signed(treaty(), signer, '__proto__'),
    ]
    for (const record of forged) expect(await links([record])).toEqual([])
  })

  it('leave out a row that is not active, also when its record is', async () => {
    expect(await links([await signed(treaty())], 'revoked')).toEqual([])
  })

  it('are at most 256 and sorted, each id once', async () => {
    const many = await Promise.all(
      Array.from({ length: 260 }, (_, n) => signed(treaty({ treaty_id: `t-${String(999 - n)}` }))),
    )
    const found = await links([...many, ...many.slice(0, 3)])
    expect(found.map(({ id }) => id)).toEqual(Array.from({ length: 256 }, (_, n) => `t-${740 + n}`))
  })
})

describe('members', () => {
  it('show a published member, with these fields only', async () => {
    expect(await members([await signed(attestation())])).toEqual([
      {
        id: 'att-1',
        network: 'alpha',
        subject: 'zoe',
        roles: ['role:client'],
        issued_at: TIMES.issued_at,
        expires_at: TIMES.expires_at,
        demo: false,
      },
    ])
    const claims = { public_mesh: true, demo: true }
    expect((await members([await signed(attestation({ claims }))]))[0]?.demo).toBe(true)
  })

  it.each<[string, JsonObject]>([
    ['without the publish claim', { claims: {} }],
    ['whose claim is a text', { claims: { public_mesh: 'true' } }],
    ['whose claim is a number', { claims: { public_mesh: 1 } }],
    ['of another issuer', { issuer_sovereign_id: 'beta' }],
    ['that is revoked', { status: 'revoked' }],
    ['that has ended', { expires_at: '2026-03-02T00:00:00Z' }],
    ['with a long name', { subject_id: 'x'.repeat(257) }],
  ])('leave out one %s', async (_what, over) => {
    expect(await members([await signed(attestation(over))])).toEqual([])
  })

  it('have at most 16 roles, are at most 64 and sorted by subject', async () => {
    const roles = Array.from({ length: 20 }, (_, n) => `role:${n}`)
    expect((await members([await signed(attestation({ roles }))]))[0]?.roles).toEqual(roles.slice(0, 16))
    const many = await Promise.all(
      Array.from({ length: 70 }, (_, n) =>
        signed(attestation({ attestation_id: `a-${n}`, subject_id: `s-${String(169 - n)}` })),
      ),
    )
    expect((await members(many)).map(({ subject }) => subject)).toEqual(
      Array.from({ length: 64 }, (_, n) => `s-${100 + n}`),
    )
  })
})

describe('the feed', () => {
  it('counts when it belongs to the network, is current and is signed with its named key', async () => {
    expect((await shown({ feed: bytes(await signed(feed)) })).feed).toEqual({
      sequence: 4,
      issued_at: feed.issued_at,
      signature_verified: true,
    })
  })

  it.each<[string, JsonObject, string?]>([
    ['too old', { ...feed, issued_at: '2026-03-01T11:59:59Z' }],
    ['from the future', { ...feed, issued_at: '2026-03-02T12:05:01Z' }],
    ['of another', { ...feed, issuer_sovereign_id: 'beta' }],
    ['signed by another key than it names', { ...feed, issued_by: 'na-other' }],
    ['under a key id that is not pinned', { ...feed, issued_by: 'na-other' }, 'na-other'],
    ['without a number', { ...feed, sequence: -1 }],
  ])('does not count when it is %s', async (_what, record, keyId) => {
    expect((await shown({ feed: bytes(await signed(record, signer, keyId)) })).feed).toBeNull()
  })
})

it('imports contain published networks only, and are unknown when they could not be read', async () => {
  const imported_at = '2026-03-02T11:59:00Z'
  const feeds = ['beta', 'closed', 'alpha'].map((issuer_sovereign_id) => ({
    issuer_sovereign_id,
    sequence: 2,
    imported_at,
  }))
  expect((await shown({ dashboard: bytes({ revocation_feeds: feeds }) })).imports).toEqual([
    { issuer: 'alpha', sequence: 2, imported_at },
    { issuer: 'beta', sequence: 2, imported_at },
  ])
  expect((await shown({})).imports).toBeUndefined()
  expect((await shown({ dashboard: Buffer.from('<html>') })).imports).toBeUndefined()
})

it('a network is available when its treaties could be read', async () => {
  expect((await shown({})).isAvailable).toBe(false)
  expect((await shown({ treaties: bytes({ recognition_treaties: [] }) })).isAvailable).toBe(true)
  for (const text of [
    '{}',
    '[]',
    '{"recognition_treaties":{}}',
    '{"recognition_treaties":[],"recognition_treaties":[]}',
  ])
    expect((await shown({ treaties: Buffer.from(text) })).isAvailable).toBe(false)
})
