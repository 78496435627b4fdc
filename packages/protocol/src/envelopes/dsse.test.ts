import { expect, it } from 'vitest'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { toBase64 } from '../canonical/base64.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { seedSigner, verifySignature } from '../signing/keys.ts'
import { dsseBytes, dsseKeyId } from './dsse.ts'

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

it('encodes type and body as the example of the DSSE text', () => {
  // The body of that example, in base64.
  const body = atob('aGVsbG8gd29ybGQ=')
  const bytes = dsseBytes('http://example.com/HelloWorld', toUtf8(body))
  expect(text(bytes)).toBe(`DSSEv1 29 http://example.com/HelloWorld 11 ${body}`)
})

it('counts bytes, not characters', () => {
  expect(text(dsseBytes('tÿpe', toUtf8('ë')))).toBe('DSSEv1 5 tÿpe 2 ë')
})

it('is another message for another split of type and body', () => {
  expect(dsseBytes('a', toUtf8('b c'))).not.toEqual(dsseBytes('a b', toUtf8('c')))
})

it('never signs the bytes of a record, a request proof or a log note', async () => {
  const signer = await seedSigner('k', toBase64(new Uint8Array(32).fill(7)))
  const record = toUtf8(canonicalJson({ a: 1 }))
  const sig = toBase64(await signer.sign(dsseBytes('application/json', record)))
  expect(await verifySignature(signer.publicKey, dsseBytes('application/json', record), sig)).toBe(true)
  expect(await verifySignature(signer.publicKey, record, sig)).toBe(false)
  // Records begin with a brace, request proofs with a quotation mark, log notes with their origin and a line feed.
  expect(text(dsseBytes('', record))).toMatch(/^DSSEv1 0 {2}7 \{/)
})

it('names a key by the digest of its bytes', () => {
  // SHA-256 of 32 zero bytes.
  expect(dsseKeyId(toBase64(new Uint8Array(32)))).toBe(
    '66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925',
  )
})
