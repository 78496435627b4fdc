import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Edge, Wire, expectRefused, once, post, request, startEdge } from './test-edge.suite.ts'

const LIMIT = 1000

describe('a request body', () => {
  let edge: Edge
  let small: Edge
  beforeAll(async () => {
    edge = await startEdge()
    small = await startEdge({ maxRequestBytes: LIMIT })
  })
  afterAll(() => Promise.all([edge.stop(), small.stop()]))

  describe('400 invalid_json', () => {
    // protocol/core 1.1 rules 1 to 7 and 9.
    it.each<[string, string | Uint8Array]>([
      ['cut off', '{"a":'],
      ['cut off inside a string', '{"a":"b'],
      ['a repeated member', '{"a":{},"a":{}}'],
      ['a repeated member deep inside', '{"a":{"b":[{"x":1,"x":2}]}}'],
      ['a repeated member by escape', '{"a":1,"\\u0061":1}'],
      ['NaN', '{"a":NaN}'],
      ['Infinity', '{"a":Infinity}'],
      ['-Infinity', '{"a":-Infinity}'],
      ['an overflowing number', '{"a":1e999}'],
      ['an overflowing negative number', '{"a":-1e999}'],
      ['an unpaired high surrogate', '{"a":"\\ud800"}'],
      ['an unpaired low surrogate', '{"a":"\\udc00"}'],
      ['surrogates the wrong way round', '{"a":"\\udc00\\ud800"}'],
      ['an unpaired surrogate in a name', '{"\\ud800":1}'],
      ['a byte order mark', '\ufeff{}'],
      ['a trailing comma', '{"a":1,}'],
      ['a second value after the first', '{}{}'],
      ['a letter after the value', '{}x'],
      ['a zero byte after the value', '{}\0'],
      ['a comment', '{/**/}'],
      ['single quotes', "{'a':1}"],
      ['a bare name', '{a:1}'],
      ['a leading zero', '{"a":01}'],
      ['a leading plus sign', '{"a":+1}'],
      ['no digit before the point', '{"a":.5}'],
      ['no digit after the point', '{"a":5.}'],
      ['a raw line break in a string', '{"a":"\n"}'],
      ['an unknown escape', '{"a":"\\x41"}'],
      ['nesting of 65', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`],
      ['an integer above 2^64-1', '{"a":18446744073709551616}'],
      ['an integer below -2^63', '{"a":-9223372036854775809}'],
      ['white space only', '   '],
      ['a byte that is no UTF-8', Uint8Array.of(0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d)],
      ['a surrogate encoded in UTF-8', Uint8Array.of(0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d)],
      ['an overlong encoding', Uint8Array.of(0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc0, 0xaf, 0x22, 0x7d)],
      ['UTF-16', Uint8Array.of(0x7b, 0x00, 0x7d, 0x00)],
      ['more than 50,000 values', `{"a":[${Array<number>(50_001).fill(0).join(',')}]}`],
      ['more than 10,000 names in one object', `{${Array.from({ length: 10_001 }, (_, i) => `"n${i}":0`).join(',')}}`],
    ])('%s', async (_what, body) => {
      expectRefused(await post(edge.port, body), 400, 'invalid_json')
    })

    it('refuses very deep bodies without stopping the process', async () => {
      const started = performance.now()
      expectRefused(await post(edge.port, '['.repeat(500_000)), 400, 'invalid_json')
      expectRefused(await post(edge.port, `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`), 400, 'invalid_json')
      expect(performance.now() - started).toBeLessThan(3000)
      expect((await once(edge.port, request('GET /healthz'))).status).toBe(200)
    })

    it('refuses an empty body on a route that requires one', async () => {
      expectRefused(await post(edge.port, '', [], '/never-empty'), 400, 'invalid_json')
      expectRefused(await once(edge.port, request('POST /never-empty')), 400, 'invalid_json')
    })
  })

  describe('400 invalid_json_object', () => {
    it.each(['[]', '"x"', '7', 'null', 'true', 'false', '1.5', ' [{}] '])('%s', async (body) => {
      expectRefused(await post(edge.port, body), 400, 'invalid_json_object')
    })
  })

  describe('200', () => {
    it('keeps number tokens, names and texts as they were sent', async () => {
      const text =
        '{"a":[18446744073709551615,-9223372036854775808,9007199254740993,90.0],"__proto__":{"x":"y"},"":null}'
      expect((await post(edge.port, text)).body).toBe(`{"read":${text}}`)
      expect((await post(edge.port, '{"a":"Zoë"}')).json).toEqual({ read: { a: 'Zoë' } })
    })

    it.each([
      ['exactly 64 levels', `{"a":${'['.repeat(63)}${']'.repeat(63)}}`],
      ['white space around the object', ' \r\n\t{} \n'],
      ['exactly 10,000 names', `{${Array.from({ length: 10_000 }, (_, i) => `"n${i}":0`).join(',')}}`],
    ])('reads %s', async (_what, body) => {
      expect((await post(edge.port, body, [], '/created')).status).toBe(201)
    })

    it('counts an empty body as {}, with and without a length', async () => {
      for (const head of [request('POST /echo'), request('POST /echo', ['Content-Length: 0'])]) {
        expect((await once(edge.port, head)).json).toEqual({ read: {} })
      }
      const chunked = request('POST /echo', ['Transfer-Encoding: chunked'], '0\r\n\r\n')
      expect((await once(edge.port, chunked)).json).toEqual({ read: {} })
    })

    it('reads a chunked body that arrives in pieces', async () => {
      const wire = await Wire.open(edge.port)
      wire.send(request('POST /echo', ['Transfer-Encoding: chunked'], '3\r\n{"a\r\n'))
      await new Promise((resolve) => setTimeout(resolve, 20))
      wire.send('4\r\n":1}\r\n0\r\n\r\n')
      expect((await wire.reply()).json).toEqual({ read: { a: 1 } })
      wire.end()
    })

    it.each([
      ['no content type', []],
      ['application/json', ['Content-Type: application/json']],
      ['a parameter', ['Content-Type: application/json; charset=utf-8']],
      ['another charset, which is ignored', ['Content-Type: application/json;charset=latin1']],
      ['other letter case', ['content-type: Application/JSON']],
      ['the identity coding', ['Content-Encoding: identity']],
      ['the identity coding in capitals', ['Content-Encoding: IDENTITY']],
    ])('accepts %s', async (_what, headers) => {
      expect((await post(edge.port, '{"a":1}', headers)).json).toEqual({ read: { a: 1 } })
    })

    it('does not check the type of an empty body', async () => {
      expect((await once(edge.port, request('POST /echo', ['Content-Type: text/plain']))).status).toBe(200)
    })
  })

  describe('415', () => {
    it.each([
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      'application/json5',
      'application/merge-patch+json',
      'multipart/form-data',
      'application/json, text/plain',
      'json',
      '*/*',
    ])('content type %s', async (type) => {
      expectRefused(await post(edge.port, '{}', [`Content-Type: ${type}`]), 415, 'unsupported_media_type')
    })

    it.each(['gzip', 'deflate', 'br', 'zstd', 'x-gzip', 'identity, gzip', 'gzip, identity'])(
      'coding %s',
      async (coding) => {
        expectRefused(await post(edge.port, '{}', [`Content-Encoding: ${coding}`]), 415, 'unsupported_media_type')
      },
    )

    it('a coding in a repeated header', async () => {
      const headers = ['Content-Encoding: identity', 'Content-Encoding: gzip']
      expectRefused(await post(edge.port, '{}', headers), 415, 'unsupported_media_type')
    })

    it('a coded body, without decoding it', async () => {
      const gzip = Buffer.from('H4sIAAAAAAAAA6uuBQBDv6ajAgAAAA==', 'base64')
      expectRefused(await post(edge.port, gzip, ['Content-Encoding: gzip']), 415, 'unsupported_media_type')
    })
  })

  describe('on GET and HEAD', () => {
    it('is allowed empty or as {}', async () => {
      for (const body of ['', '{}']) {
        const text = request('GET /echo', [`Content-Length: ${body.length}`], body)
        expect((await once(edge.port, text)).status, JSON.stringify(body)).toBe(200)
      }
      const head = request('HEAD /echo', ['Content-Length: 2'], '{}')
      expect((await once(edge.port, head, 'HEAD')).status).toBe(200)
    })

    it.each(['{"a":1}', '[]', 'null', 'x', '{}{}', '{'])('is 400 bad_request as %s', async (body) => {
      const text = request('GET /echo', [`Content-Length: ${body.length}`], body)
      expectRefused(await once(edge.port, text), 400, 'bad_request')
      const chunked = request('GET /echo', ['Transfer-Encoding: chunked'], `${body.length}\r\n${body}\r\n0\r\n\r\n`)
      expectRefused(await once(edge.port, chunked), 400, 'bad_request')
      const head = await once(edge.port, request('HEAD /echo', [`Content-Length: ${body.length}`], body), 'HEAD')
      expect(head.status).toBe(400)
    })
  })

  describe('413', () => {
    const padded = (size: number): string => `{"a":"${'x'.repeat(size - 8)}"}`

    it('is detected from the declared length, before any body byte, and ends the connection', async () => {
      const wire = await Wire.open(small.port)
      wire.send(request('POST /echo', [`Content-Length: ${LIMIT + 1}`]))
      const reply = await wire.reply()
      expectRefused(reply, 413, 'request_entity_too_large')
      expect(reply.headers.get('connection')).toBe('close')
      expect(await wire.closes()).toBe(true)
    })

    it('is detected while reading a body of unknown length, and ends the connection', async () => {
      const wire = await Wire.open(small.port)
      const chunk = `200\r\n${'x'.repeat(512)}\r\n`
      wire.send(request('POST /echo', ['Transfer-Encoding: chunked'], chunk))
      await new Promise((resolve) => setTimeout(resolve, 30))
      wire.send(chunk)
      const reply = await wire.reply('POST')
      expectRefused(reply, 413, 'request_entity_too_large')
      expect(reply.headers.get('connection')).toBe('close')
      expect(await wire.closes()).toBe(true)
    })

    it('is detected when the whole chunked body arrives at once', async () => {
      const size = (LIMIT + 1).toString(16)
      const body = `${size}\r\n${'x'.repeat(LIMIT + 1)}\r\n0\r\n\r\n`
      const reply = await once(small.port, request('POST /echo', ['Transfer-Encoding: chunked'], body))
      expectRefused(reply, 413, 'request_entity_too_large')
    })

    it('is refused before the body is parsed as JSON', async () => {
      expectRefused(await post(small.port, 'x'.repeat(LIMIT + 1)), 413, 'request_entity_too_large')
      expectRefused(await post(small.port, 'x'.repeat(LIMIT)), 400, 'invalid_json')
    })

    it('accepts a body of exactly the limit', async () => {
      expect((await post(small.port, padded(LIMIT))).status).toBe(200)
      expect((await post(edge.port, padded(2_097_152))).status).toBe(200)
    })

    it('is four times as high on feed import, and 64 KiB for nodes', async () => {
      expect((await post(small.port, padded(4 * LIMIT), [], '/feed')).status).toBe(200)
      expectRefused(await post(small.port, padded(4 * LIMIT + 1), [], '/feed'), 413, 'request_entity_too_large')
      expect((await post(edge.port, padded(65_536), [], '/node')).status).toBe(200)
      expectRefused(await post(edge.port, padded(65_537), [], '/node'), 413, 'request_entity_too_large')
      expectRefused(await post(small.port, padded(LIMIT + 1), [], '/node'), 413, 'request_entity_too_large')
    })

    it('applies to GET', async () => {
      expectRefused(
        await once(small.port, request('GET /echo', [`Content-Length: ${LIMIT + 1}`])),
        413,
        'request_entity_too_large',
      )
    })

    it('is reported to a client that sends a body far above the limit without reading', async () => {
      const wire = await Wire.open(small.port)
      wire.send(request('POST /echo', ['Transfer-Encoding: chunked']))
      for (let i = 0; i < 20; i += 1) {
        if (wire.isClosed) break
        wire.send(`1000\r\n${'x'.repeat(4096)}\r\n`)
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      expectRefused(await wire.reply('POST'), 413, 'request_entity_too_large')
      wire.end()
    })
  })

  describe('an unread body', () => {
    it('is never parsed as the next request', async () => {
      const wire = await Wire.open(small.port)
      const smuggled = request('GET /healthz')
      wire.send(request('POST /echo', [`Content-Length: ${LIMIT + smuggled.length}`], smuggled))
      expectRefused(await wire.reply(), 413, 'request_entity_too_large')
      expect(await wire.closes()).toBe(true)
      await expect(wire.reply('GET', 50)).rejects.toThrow('closed')
    })

    it.each([
      ['POST /nowhere', 404],
      ['PUT /echo', 405],
      ['OPTIONS /echo', 204],
    ])('is never served as a request after %s', async (line, status) => {
      const wire = await Wire.open(edge.port)
      const smuggled = request('GET /healthz')
      wire.send(request(line, [`Content-Length: ${smuggled.length + 1}`], smuggled))
      expect((await wire.reply()).status).toBe(status)
      await expect(wire.reply('GET', 100)).rejects.toThrow(/closed|in time/)
      wire.end()
    })
  })
})
