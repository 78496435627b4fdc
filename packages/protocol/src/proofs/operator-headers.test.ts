import { describe, expect, it } from 'vitest'
import { canonicalBytes } from '../canonical/canonical-json.ts'
import { JsonFloat, type JsonObject, fromUtf8 } from '../canonical/utf8.ts'
import { toBase64 } from '../canonical/base64.ts'
import { seedSigner } from '../signing/keys.ts'
import core from '../vectors/core.json' with { type: 'json' }
import { type OperatorRequest, operatorBytes, signOperatorRequest, verifyOperatorRequest } from './operator-headers.ts'

const operator = core.keys.find(({ name }) => name === 'operator')
const signer = await seedSigner('ops-1', operator?.seed ?? '')
const audience = core.keys.find(({ name }) => name === 'na')?.public_key ?? ''

const REQUEST: OperatorRequest = {
  method: 'POST',
  path: '/admin/invite',
  query: {},
  audience,
  body: { max_validity_hours: 72, roles: ['role:anchor'], token_expiry_hours: 24 },
  key_id: 'ops-1',
  timestamp: '2030-01-02T03:00:00.000Z',
  nonce: 'b3f0c1d2-1111-4222-8333-444455556666',
}
const READ = { ...REQUEST, method: 'GET', body: {} }

const EXAMPLES: readonly [string, OperatorRequest][] = [
  ['operator request, POST /admin/invite', REQUEST],
  [
    'operator request, GET /nodes',
    { ...READ, path: '/nodes', timestamp: '2030-01-02T03:05:00.000Z', nonce: 'b3f0c1d2-1111-4222-8333-444455556667' },
  ],
  [
    'operator request with query, GET /attestations',
    {
      ...READ,
      path: '/attestations',
      query: { subject_id: ['zoë@partner'], status: ['active'] },
      timestamp: '2030-01-02T03:06:00.000Z',
      nonce: 'b3f0c1d2-1111-4222-8333-444455556668',
    },
  ],
]

describe('operator headers (protocol/core 11.2)', () => {
  it.each(EXAMPLES)('the worked %s: bytes, signature and headers', async (name, request) => {
    const vector = core.signed.find((each) => each.name === name)
    expect(fromUtf8(operatorBytes(request))).toBe(vector?.bytes)
    expect(await signOperatorRequest(request, signer)).toEqual({
      'X-Admin-Key-Id': 'ops-1',
      'X-Admin-Timestamp': request.timestamp,
      'X-Admin-Nonce': request.nonce,
      'X-Admin-Signature': vector?.signature,
    })
    expect(await verifyOperatorRequest(request, vector?.signature ?? '', operator?.public_key ?? '')).toBe(true)
  })

  it('covers exactly nine members', () => {
    expect(Object.keys(JSON.parse(fromUtf8(operatorBytes(REQUEST)) ?? '') as object)).toEqual([
      'audience',
      'body',
      'key_id',
      'method',
      'nonce',
      'path',
      'query',
      'timestamp',
      'v',
    ])
    const more: OperatorRequest & { extra: string } = { ...REQUEST, extra: 'x' }
    expect(operatorBytes(more)).toEqual(operatorBytes(REQUEST))
  })

  it.each<[string, Partial<OperatorRequest>]>([
    ['method', { method: 'PUT' }],
    ['the case of the method', { method: 'post' }],
    ['path', { path: '/admin/invite/' }],
    ['query', { query: { a: [''] } }],
    ['audience', { audience: operator?.public_key ?? '' }],
    ['body', { body: {} }],
    ['one value of the body', { body: { ...REQUEST.body, max_validity_hours: 73 } }],
    ['the form of a number in the body', { body: { ...REQUEST.body, max_validity_hours: new JsonFloat(72) } }],
    ['key_id', { key_id: 'ops-2' }],
    ['timestamp', { timestamp: '2030-01-02T03:00:00Z' }],
    ['nonce', { nonce: 'b3f0c1d2-1111-4222-8333-444455556667' }],
  ])('another %s is another request', async (_what, change) => {
    const { 'X-Admin-Signature': signature } = await signOperatorRequest(REQUEST, signer)
    expect(await verifyOperatorRequest(REQUEST, signature, signer.publicKey)).toBe(true)
    expect(await verifyOperatorRequest({ ...REQUEST, ...change }, signature, signer.publicKey)).toBe(false)
  })

  it('the order of values of one parameter counts, the order of names and members does not', () => {
    const query = { a: ['1', '2'], b: [''] }
    expect(operatorBytes({ ...READ, query: { b: [''], a: ['1', '2'] } })).toEqual(operatorBytes({ ...READ, query }))
    expect(operatorBytes({ ...READ, query: { a: ['2', '1'], b: [''] } })).not.toEqual(operatorBytes({ ...READ, query }))
    const { roles = null, ...rest } = REQUEST.body
    expect(operatorBytes({ ...REQUEST, body: { ...rest, roles } })).toEqual(operatorBytes(REQUEST))
  })

  it('version 1, which named neither route nor authority, is a bad signature', async () => {
    const { body, key_id, timestamp, nonce } = REQUEST
    const old: JsonObject = { body, key_id, timestamp, nonce }
    const signature = toBase64(await signer.sign(canonicalBytes(old)))
    expect(await verifyOperatorRequest(REQUEST, signature, signer.publicKey)).toBe(false)
  })

  it('verifies under the one key it is asked about', async () => {
    const { 'X-Admin-Signature': signature } = await signOperatorRequest(REQUEST, signer)
    for (const { name, public_key } of core.keys)
      expect(await verifyOperatorRequest(REQUEST, signature, public_key), name).toBe(name === 'operator')
    for (const key of ['', 'x', Buffer.alloc(32).toString('base64')])
      expect(await verifyOperatorRequest(REQUEST, signature, key)).toBe(false)
  })

  it('signs with the id of the signer, whatever the request says', async () => {
    const { key_id: _dropped, ...request } = REQUEST
    const other = await seedSigner('ops-9', operator?.seed ?? '')
    const headers = await signOperatorRequest(request, other)
    expect(headers['X-Admin-Key-Id']).toBe('ops-9')
    const signature = headers['X-Admin-Signature']
    expect(await verifyOperatorRequest({ ...request, key_id: 'ops-9' }, signature, signer.publicKey)).toBe(true)
    expect(await verifyOperatorRequest({ ...request, key_id: 'ops-1' }, signature, signer.publicKey)).toBe(false)
  })
})
