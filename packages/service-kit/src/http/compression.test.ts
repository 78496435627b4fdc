import { type IncomingHttpHeaders, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CodedPages, GzipCopies } from './compression.ts'
import { CachedDocument, RareDocument } from './response.ts'
import { type Edge, startEdge } from './test-edge.suite.ts'

const documentOf = (letter: string): CachedDocument =>
  new CachedDocument(Buffer.from(letter.repeat(200_000)), 'no-store', 'text/plain')

it('readers of one version share one copy, and the least recently used copy is dropped first', async () => {
  const size = (await new GzipCopies().copyOf(documentOf('a')))?.length ?? 0
  const copies = new GzipCopies(2 * size + 10)
  const [first, second] = await Promise.all([copies.copyOf(documentOf('a')), copies.copyOf(documentOf('a'))])
  expect(first).toBe(second)
  await copies.copyOf(documentOf('b'))
  expect(copies.copyOf(documentOf('a'))).toBe(first)
  await copies.copyOf(documentOf('c'))
  expect(copies.copyOf(documentOf('a'))).toBe(first)
  expect(copies.copyOf(documentOf('b'))).toBeInstanceOf(Promise)
  expect(copies.bytes).toBeLessThanOrEqual(2 * size + 10)
})

it('compresses two at once, and sends the third uncompressed', async () => {
  const copies = new GzipCopies()
  const [first, second] = [copies.copyOf(documentOf('a')), copies.copyOf(documentOf('b'))]
  expect(copies.copyOf(documentOf('c'))).toBeUndefined()
  const copy = await first
  await second
  expect(gunzipSync(copy ?? new Uint8Array()).length).toBe(200_000)
  expect(copies.copyOf(documentOf('c'))).toBeInstanceOf(Promise)
})

it('compresses one rare document at a time, so that others are compressed meanwhile', async () => {
  const copies = new GzipCopies()
  const rareOf = (letter: string): RareDocument =>
    new RareDocument(Buffer.from(letter.repeat(200_000)), 'no-store', 'text/plain')
  const first = copies.copyOf(rareOf('a'))
  expect(first).toBeInstanceOf(Promise)
  expect(copies.copyOf(rareOf('b'))).toBeUndefined()
  const current = copies.copyOf(documentOf('c'))
  expect(current).toBeInstanceOf(Promise)
  expect(await current).toBeInstanceOf(Uint8Array)
  await first
})

describe('large documents', () => {
  let edge: Edge
  beforeAll(async () => {
    edge = await startEdge()
  })
  afterAll(() => edge.stop())

  /** Returns the body without decoding it. */
  const fetchFrom = (
    path: string,
    headers: Record<string, string>,
    method = 'GET',
  ): Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }> =>
    new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port: edge.port, path, method, headers }, (answer) => {
        buffer(answer).then(
          (body) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }),
          reject,
        )
      })
        .on('error', reject)
        .end()
    })
  const fetchLarge = (headers: Record<string, string>, method?: string) => fetchFrom('/large', headers, method)

  it('are compressed once for readers that accept gzip, with a separate ETag', async () => {
    const plain = await fetchLarge({ 'accept-encoding': 'identity' })
    const packed = await fetchLarge({ 'accept-encoding': 'br;q=1, gzip;q=0.8' })
    expect([plain.headers['content-encoding'], packed.headers['content-encoding']]).toEqual([undefined, 'gzip'])
    expect([plain.headers.vary, packed.headers.vary]).toEqual(['Accept-Encoding', 'Accept-Encoding'])
    expect(packed.headers['content-length']).toBe(String(packed.body.length))
    expect(packed.headers.etag).toBe(String(plain.headers.etag).replace(/"$/, '.gzip"'))
    expect(gunzipSync(packed.body).equals(plain.body)).toBe(true)
    for (const value of ['gzip;q=0', 'br', '*;q=0', 'gzip;q=0.000, *'])
      expect((await fetchLarge({ 'accept-encoding': value })).headers['content-encoding'], value).toBeUndefined()
    const head = await fetchLarge({ 'accept-encoding': '*' }, 'HEAD')
    expect([head.headers.etag, head.headers['content-length'], head.body.length]).toEqual([
      packed.headers.etag,
      packed.headers['content-length'],
      0,
    ])
  })

  it('are 304 for a reader with either tag, in both forms', async () => {
    const tags = [
      String((await fetchLarge({})).headers.etag),
      String((await fetchLarge({ 'accept-encoding': 'gzip' })).headers.etag),
    ]
    for (const tag of tags)
      for (const accept of ['gzip', 'identity']) {
        const answer = await fetchLarge({ 'accept-encoding': accept, 'if-none-match': tag })
        const { etag, vary } = answer.headers
        expect([answer.status, etag, vary, answer.body.length]).toEqual([304, tag, 'Accept-Encoding', 0])
      }
    const small = (await fetchFrom('/kept', { 'accept-encoding': 'gzip' })).headers
    expect([small['content-encoding'], small.vary]).toEqual([undefined, undefined])
  })
})

const PAGE = '{"line":"ü"}\n'.repeat(2000)
const DECODERS = { gzip: gunzipSync, zstd: zstdDecompressSync }

it.each<[string | undefined, 'gzip' | 'zstd' | undefined]>([
  [undefined, undefined],
  ['', undefined],
  ['identity', undefined],
  ['br', undefined],
  ['gzip;q=0', undefined],
  ['zstd;q=0, gzip;q=0.000', undefined],
  ['gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['x-gzip', 'gzip'],
  ['*', 'gzip'],
  ['*;q=0', undefined],
  ['zstd', 'zstd'],
  ['gzip, deflate, br, zstd', 'zstd'],
  ['gzip, zstd;q=0.5', 'gzip'],
  ['gzip;q=0.5, zstd;q=0.5', 'zstd'],
  ['zstd;q=0, *', 'gzip'],
])('Accept-Encoding %j gives %s', async (accept, coding) => {
  const { body, headers, contentType } = await new CodedPages().respond(PAGE, 'text/plain', accept)
  expect([headers?.['Content-Encoding'], headers?.['Vary'], contentType]).toEqual([
    coding,
    'Accept-Encoding',
    'text/plain',
  ])
  if (coding === undefined) expect(body).toBe(PAGE)
  else {
    expect(body.length).toBeLessThan(PAGE.length / 10)
    expect(DECODERS[coding](body as Uint8Array).toString()).toBe(PAGE)
  }
})

it('sends a short page as it is', async () => {
  expect((await new CodedPages().respond('short\n', 'text/plain', 'gzip')).body).toBe('short\n')
})

it('compresses two pages at once, and sends a third as it is', async () => {
  const pages = new CodedPages()
  const ask = (): Promise<string | undefined> =>
    pages.respond(PAGE, 'text/plain', 'gzip').then(({ headers }) => headers?.['Content-Encoding'])
  expect(await Promise.all([ask(), ask(), ask()])).toEqual(['gzip', 'gzip', undefined])
  expect(await ask()).toBe('gzip')
})
