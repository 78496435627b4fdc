import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { CodedPages } from './response.ts'

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
