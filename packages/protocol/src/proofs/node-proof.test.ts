import { describe, expect, it } from 'vitest'
import { JsonFloat, type JsonObject, type JsonValue, fromUtf8 } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { readInstant, seconds } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { type Signer, seedSigner } from '../signing/keys.ts'
import core from '../vectors/core.json' with { type: 'json' }
import { type NodeAction, type NodeProofReason, nodeProofBytes, signNodeProof, verifyNodeProof } from './node-proof.ts'

const AUDIENCE = core.keys.find(({ name }) => name === 'na')?.public_key ?? ''
const NOW = readInstant('2030-01-02T03:04:05Z') ?? 0n
const signer = await seedSigner('node', core.keys.find(({ name }) => name === 'node')?.seed ?? '')
const outsider = await seedSigner('subject', core.keys.find(({ name }) => name === 'subject')?.seed ?? '')

const MEMBERS: JsonObject = {
  node_public_key: signer.publicKey,
  timestamp: writeInstant(NOW),
  nonce: '0f8a1c3e-5b7d-4e2f-9a61-3c5e7a9b1d2f',
  cert_id: 'c-1',
}

const sign = (members: JsonObject = {}, by: Signer = signer): Promise<JsonObject> =>
  signNodeProof({ ...MEMBERS, ...members }, by)

async function reason(
  body: JsonObject,
  now = NOW,
  action: NodeAction = 'heartbeat',
): Promise<NodeProofReason | undefined> {
  const verdict = await verifyNodeProof(body, { action, audience: AUDIENCE, now })
  return verdict.ok ? undefined : verdict.reason
}

function without(body: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([each]) => each !== name))
}

describe('verifyNodeProof (protocol/core 5.1)', () => {
  it.each([
    ['5.2', 'join proof', 'join', '2030-01-02T03:04:05.678901Z'],
    ['7', 'heartbeat proof', 'heartbeat', '2030-01-02T03:09:05Z'],
    ['7', 'renew proof', 'renew', '2030-01-03T12:00:00Z'],
  ] as const)('%s: the worked %s holds', async (section, name, action, at) => {
    const vector = core.signed.find((each) => each.section === section && each.name === name)
    const body = { ...(readJson(vector?.bytes ?? '') as JsonObject), signature: vector?.signature ?? '' }
    expect(fromUtf8(nodeProofBytes(body))).toBe(vector?.bytes)
    expect(await reason(body, readInstant(at), action)).toBeUndefined()
    expect(await signNodeProof(without(body, 'signature'), signer)).toEqual(body)
  })

  it.each<[string, JsonValue | undefined]>([
    ['signature', undefined],
    ['signature', ''],
    ['signature', 'x'.repeat(257)],
    ['signature', null],
    ['signature', 7],
    ['signature', {}],
    ['timestamp', undefined],
    ['timestamp', ''],
    ['timestamp', '2030-01-02T03:04:05.000000000+00:00Z'.padEnd(41, '0')],
    ['timestamp', null],
    ['timestamp', 1_893_553_445],
    ['nonce', undefined],
    ['nonce', ''],
    ['nonce', 'n'.repeat(129)],
    ['nonce', 'a b'],
    ['nonce', 'ë'],
    ['nonce', 'a\n'],
    ['nonce', '\u007f'],
    ['nonce', 7],
    ['nonce', null],
    ['nonce', ['n']],
  ])('%s %j is a missing field', async (name, value) => {
    const body = await sign(name === 'signature' ? {} : { [name]: value ?? null })
    expect(await reason(value === undefined ? without(body, name) : { ...body, [name]: value })).toBe('missing_fields')
  })

  it.each(['yesterday', '2030-01-02', '2030-01-02T03:04:60Z', '2030-02-30T00:00:00Z', '2030-01-02t03:04:05z', ' '])(
    'the timestamp %j is invalid',
    async (timestamp) => {
      expect(await reason(await sign({ timestamp }))).toBe('invalid_timestamp')
    },
  )

  it.each<[string, bigint, NodeProofReason | undefined]>([
    ['300 s old', -seconds(300), undefined],
    ['300 s and a microsecond old', -seconds(300) - 1n, 'stale_timestamp'],
    ['300 s ahead', seconds(300), undefined],
    ['300 s and a microsecond ahead', seconds(300) + 1n, 'stale_timestamp'],
  ])('a proof %s', async (_what, offset, expected) => {
    expect(await reason(await sign({ timestamp: writeInstant(NOW + offset) }))).toBe(expected)
  })

  it.each([
    '2030-01-02T03:04:05',
    '2030-01-02T03:04:05.5+00:00',
    '2030-01-02T05:34:05.123456789+02:30',
    '2030-01-02T03:04:05Z',
  ])('takes the time %s and signs it as it is sent', async (timestamp) => {
    const body = await sign({ timestamp })
    expect(await reason(body)).toBeUndefined()
    expect(await reason({ ...body, timestamp: '2030-01-02T03:04:05.000Z' })).toBe('invalid_signature')
  })

  it('covers every other member, known or not, and the form of its numbers', async () => {
    const body = await sign({
      roles: ['role:operator'],
      limit: new JsonFloat(90),
      note: 'Zoë',
      '\ue000': 1,
      '\u{1f600}': 2,
    })
    expect(await reason(body)).toBeUndefined()
    for (const name of Object.keys(body).filter((each) => !['signature', 'nonce', 'timestamp'].includes(each)))
      expect(await reason(without(body, name)), name).toBe('invalid_signature')
    for (const [name, value] of Object.entries({ limit: 90, note: 'Zoe', roles: [], nonce: 'other', extra: null }))
      expect(await reason({ ...body, [name]: value }), name).toBe('invalid_signature')
  })

  it.each<[string, JsonObject, NodeProofReason | undefined]>([
    ['the audience of this authority', { audience: AUDIENCE }, undefined],
    ['the action of the route', { action: 'heartbeat' }, undefined],
    ['both', { audience: AUDIENCE, action: 'heartbeat' }, undefined],
    ['another audience', { audience: signer.publicKey }, 'invalid_signature'],
    ['no text as audience', { audience: null }, 'invalid_signature'],
    ['another action', { action: 'renew' }, 'invalid_signature'],
    ['no known action', { action: 'HEARTBEAT' }, 'invalid_signature'],
    ['no text as action', { action: 7 }, 'invalid_signature'],
  ])('with %s', async (_what, members, expected) => {
    expect(await reason(await sign(members))).toBe(expected)
  })

  it('without an action it says nothing about the route; with one it is good there only', async () => {
    for (const action of ['join', 'heartbeat', 'renew'] as const) {
      expect(await reason(await sign(), NOW, action)).toBeUndefined()
      expect(await reason(await sign({ action: 'join' }), NOW, action)).toBe(
        action === 'join' ? undefined : 'invalid_signature',
      )
    }
  })

  it.each<[string, JsonValue]>([
    ['another key', outsider.publicKey],
    ['no key', 'x'],
    ['an empty key', ''],
    ['a key of small order', Buffer.alloc(32).toString('base64')],
    ['null', null],
    ['a list', [signer.publicKey]],
  ])('under %s the signature is invalid', async (_what, node_public_key) => {
    expect(await reason(await sign({ node_public_key }))).toBe('invalid_signature')
    expect(await reason({ ...(await sign()), node_public_key })).toBe('invalid_signature')
  })

  it('by another signer, or with any other text as signature, is invalid', async () => {
    expect(await reason(await sign({}, outsider))).toBe('invalid_signature')
    const body = await sign()
    const text = String(body['signature'])
    for (const signature of [
      'x',
      text.slice(0, -1),
      `${text} `,
      text.replace(/=+$/, ''),
      text.toLowerCase(),
      'A'.repeat(88),
    ])
      expect(await reason({ ...body, signature }), signature).toBe('invalid_signature')
  })

  it('the first failing check decides', async () => {
    const late = NOW + seconds(1000)
    const stale = await sign()
    expect(await reason({ ...stale, action: 'renew' }, late)).toBe('stale_timestamp')
    expect(await reason({ ...stale, timestamp: 'x', action: 'renew' }, late)).toBe('invalid_timestamp')
    expect(await reason({ ...without(stale, 'nonce'), timestamp: 'x', action: 'renew' }, late)).toBe('missing_fields')
    expect(await reason({})).toBe('missing_fields')
  })

  it('never looks at the prototype', async () => {
    const body = Object.assign(Object.create(await sign()) as object, { cert_id: 'c' }) as JsonObject
    expect(await reason(body)).toBe('missing_fields')
  })
})

describe('a request for a decision', () => {
  const request = { action: 'boundary-request', audience: AUDIENCE, requested_capability: 'ledger.read' }
  const judge = (body: JsonObject): Promise<NodeProofReason | undefined> => reason(body, NOW, 'boundary-request')

  it('names authority and action', async () => {
    expect(await judge(await sign(request))).toBeUndefined()
    for (const name of ['audience', 'action'])
      expect(await judge(await sign(without(request, name))), name).toBe('invalid_signature')
    expect(await judge(await sign({ ...request, action: 'renew' }))).toBe('invalid_signature')
    expect(await judge(await sign({ ...request, audience: signer.publicKey }))).toBe('invalid_signature')
  })

  it('is no heartbeat', async () => {
    expect(await reason(await sign(request))).toBe('invalid_signature')
  })
})
