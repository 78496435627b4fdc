import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Edge, expectRefused, once, request, startEdge } from './test-edge.suite.ts'
import { readTarget, readTraceParent } from './request-head.ts'

describe('a request target', () => {
  let edge: Edge
  beforeAll(async () => {
    edge = await startEdge()
  })
  afterAll(() => edge.stop())
  const get = (target: string) => once(edge.port, request(`GET ${target}`))

  describe('path', () => {
    it.each([
      ['/things/plain', 'plain'],
      ['/things/%70lain', 'plain'],
      ['/things/a%20b', 'a b'],
      ['/things/a+b', 'a+b'],
      ['/things/a%2Bb', 'a+b'],
      ['/things/a%2Fb', 'a/b'],
      ['/things/a%2fb', 'a/b'],
      ['/things/%252F', '%2F'],
      ['/things/%2541', '%41'],
      ['/things/%C3%AB', 'ë'],
      ['/things/%F0%9F%98%80', '😀'],
      ['/things/a;b', 'a;b'],
      ['/things/a=b&c', 'a=b&c'],
      ['/things/..', '..'],
      ['/things/%2e%2e', '..'],
      ['/things/%3F', '?'],
      ['/things/%23', '#'],
      ['/things/__proto__', '__proto__'],
    ])('%s is decoded exactly once', async (target, name) => {
      const reply = await get(target)
      expect([reply.status, reply.json]).toEqual([200, { name }])
    })

    it.each([
      ['/keys/abc', 'abc'],
      ['/keys/a/b', 'a/b'],
      ['/keys/a%2Fb', 'a/b'],
      ['/keys//a//b', '/a//b'],
      ['/keys/%2Fa', '/a'],
      ['/keys/a+b/c=', 'a+b/c='],
      ['/keys/a%2Bb%2Fc%3D', 'a+b/c='],
    ])('%s sets the parameter to the whole rest of the path', async (target, key) => {
      const reply = await get(target)
      expect([reply.status, reply.json]).toEqual([200, { key }])
    })

    it('is decoded and without query, as signatures cover it', async () => {
      expect((await get('/ech%6F?path=%2Fx')).json).toMatchObject({ path: '/echo', query: { path: ['/x'] } })
    })

    it.each([
      '/health%257A',
      '//healthz',
      '/./healthz',
      '/x/../healthz',
      '/healthz/',
      '/HEALTHZ',
      '/healthz;',
      '/healthz%2F',
      '/',
      '/things',
      '/things/a/b',
    ])('%s is 404: paths are not normalised', async (target) => {
      expectRefused(await get(target), 404, 'not_found')
    })

    it.each(['/healthz%00', '/things/%00', '/healthz?a=%00'])(
      '%s is 400: no text may contain a NUL',
      async (target) => {
        expectRefused(await get(target), 400, 'bad_request')
      },
    )

    it.each([
      '/things/%ff',
      '/things/%C3%28',
      '/things/%ed%a0%80',
      '/things/%c0%af',
      '/things/%',
      '/things/%4',
      '/things/%zz',
      '/%ff',
      '/nowhere/%C3',
      '/keys/%80',
      '/healthz%ff',
    ])('%s is 400 bad_request', async (target) => {
      expectRefused(await get(target), 400, 'bad_request')
    })

    it('in bytes above ASCII is UTF-8 or 400', async () => {
      const bytes = (target: readonly number[]): Uint8Array =>
        Buffer.concat([
          Buffer.from('GET /things/'),
          Uint8Array.from(target),
          Buffer.from(' HTTP/1.1\r\nHost: a\r\n\r\n'),
        ])
      for (const target of [[0xff], [0xc3, 0x28], [0xe9]]) {
        expectRefused(await once(edge.port, bytes(target)), 400, 'bad_request')
      }
      const reply = await once(edge.port, bytes([0xc3, 0xab]))
      expect(reply.status === 200 ? reply.json : reply.status).toEqual(reply.status === 200 ? { name: 'ë' } : 400)
    })

    it('with an encoded slash in a literal segment is not refused for its method', async () => {
      const reply = await get('/nested%2Fstatic')
      expect(reply.status).not.toBe(405)
      expect([200, 404]).toContain(reply.status)
    })

    it('with an encoded slash in a parameter is 405 for another method, as without it', async () => {
      expectRefused(await once(edge.port, request('PUT /things/ab')), 405, 'method_not_allowed')
      expectRefused(await once(edge.port, request('PUT /things/a%2Fb')), 405, 'method_not_allowed')
    })
  })

  describe('query', () => {
    it.each<[string, Record<string, string[]>]>([
      ['', {}],
      ['?', {}],
      ['?a=1', { a: ['1'] }],
      ['?a=1&a=2&b=3', { a: ['1', '2'], b: ['3'] }],
      ['?a', { a: [''] }],
      ['?a=', { a: [''] }],
      ['?a=b=c', { a: ['b=c'] }],
      ['?a=x+y', { a: ['x y'] }],
      ['?a+b=1', { 'a b': ['1'] }],
      ['?a=x%2By', { a: ['x+y'] }],
      ['?a=x%20y', { a: ['x y'] }],
      ['?%61=%C3%AB', { a: ['ë'] }],
      ['?a=%2526', { a: ['%26'] }],
      ['?a=1&&b=2&', { a: ['1'], b: ['2'] }],
      ['?a=1;b=2', { a: ['1;b=2'] }],
      ['?a=?b', { a: ['?b'] }],
      ['?__proto__=1&constructor=2', { ['__proto__']: ['1'], constructor: ['2'] }],
    ])('%s', async (target, query) => {
      const reply = await get(`/echo${target}`)
      expect([reply.status, reply.json]).toEqual([200, expect.objectContaining({ query })])
    })

    it('returns the first value of a repeated parameter, and undefined for an absent one', () => {
      const { query } = readTarget('/x?a=1&a=2&toString=3')
      expect([query.first('a'), query.first('b'), query.first('toString'), query.first('valueOf')]).toEqual([
        '1',
        undefined,
        '3',
        undefined,
      ])
    })

    it.each([
      ['25 parameters', Array.from({ length: 25 }, (_, i) => `p${i}=1`).join('&')],
      ['25 times the same parameter', Array.from({ length: 25 }, () => 'p=1').join('&')],
      ['a value of 2049 bytes', `a=${'x'.repeat(2049)}`],
      ['a value of 2049 bytes in 1025 characters', `a=x${'%C3%AB'.repeat(1024)}`],
      ['bad UTF-8 in a value', 'a=%C3%28'],
      ['bad UTF-8 in a name', '%ff=1'],
      ['a lone percent sign', 'a=%'],
      ['a bad hex digit', 'a=%4g'],
    ])('%s is 400 bad_request', async (_what, query) => {
      expectRefused(await get(`/echo?${query}`), 400, 'bad_request')
    })

    it('accepts exactly 24 parameters and values of exactly 2048 bytes', async () => {
      expect((await get(`/echo?${Array.from({ length: 24 }, (_, i) => `p${i}=1`).join('&')}`)).status).toBe(200)
      expect((await get(`/echo?a=${'x'.repeat(2048)}`)).status).toBe(200)
      expect((await get(`/echo?a=${'%C3%AB'.repeat(1024)}`)).status).toBe(200)
    })
  })
})

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const GOOD = `00-${TRACE}-${SPAN}-01`

it.each([GOOD, `00-${TRACE}-${SPAN}-00`, `00-${TRACE}-${SPAN}-03`])('reads %s', (text) => {
  expect(readTraceParent([text])).toEqual({ text, traceId: TRACE })
})

it.each<[string, readonly string[]]>([
  ['no header', []],
  ['two headers', [GOOD, GOOD]],
  ['an empty one', ['']],
  ['two joined', [`${GOOD}, ${GOOD}`]],
  ['capital letters', [GOOD.toUpperCase()]],
  ['version ff', [GOOD.replace(/^00/, 'ff')]],
  ['a later version', [GOOD.replace(/^00/, '01')]],
  ['a trace of zeros', [`00-${'0'.repeat(32)}-${SPAN}-01`]],
  ['a span of zeros', [`00-${TRACE}-${'0'.repeat(16)}-01`]],
  ['a short trace', [`00-${TRACE.slice(1)}-${SPAN}-01`]],
  ['more members', [`${GOOD}-x`]],
  ['a line feed', [`${GOOD}\n`]],
  ['a space before it', [` ${GOOD}`]],
])('ignores %s', (_name, values) => {
  expect(readTraceParent(values)).toBeUndefined()
})
