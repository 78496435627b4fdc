import { describe, expect, it } from 'vitest'
import { fromBase64Url, toBase64Url } from '../canonical/base64.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { readJwsHeader, signJws, verifyJws } from './jws.ts'
import { seedSigner } from './keys.ts'

// RFC 8037, appendix A.4: key, header, payload and signature.
const SEED = 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A'
const COMPACT =
  'eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg'

const [head = '', payload = '', signature = ''] = COMPACT.split('.')
const signer = await seedSigner('k', `${SEED.replaceAll('_', '/').replaceAll('-', '+')}=`)

describe('signatures of JOSE', () => {
  it('are those of RFC 8037', async () => {
    const made = await signJws({}, toUtf8('Example of Ed25519 signing'), signer)
    expect(made).toEqual({ protected: head, payload, signature })
    expect(await verifyJws({ protected: head, payload, signature }, signer.publicKey)).toBe(true)
  })

  it('do not hold for another header, payload, signature or key', async () => {
    const good = { protected: head, payload, signature }
    const other = await seedSigner('o', `${'A'.repeat(42)}E=`)
    for (const change of [{ protected: `${head}A` }, { payload: `${payload}A` }, { signature: `${signature}A` }])
      expect(await verifyJws({ ...good, ...change }, signer.publicKey)).toBe(false)
    expect(await verifyJws(good, other.publicKey)).toBe(false)
  })
})

describe('readJwsHeader', () => {
  const read = (text: string): unknown => readJwsHeader(toBase64Url(toUtf8(text)))

  it('accepts Ed25519 by both names', () => {
    expect(read('{"alg":"EdDSA"}')).toEqual({ alg: 'EdDSA' })
    expect(read('{"alg":"Ed25519","kid":"a"}')).toEqual({ alg: 'Ed25519', kid: 'a' })
  })

  it.each([
    '{"alg":"none"}',
    '{"alg":"eddsa"}',
    '{}',
    '[]',
    'x',
    '{"alg":"EdDSA","crit":["exp"]}',
    '{"alg":"none","alg":"EdDSA"}',
    `{"alg":"EdDSA","kid":"${'x'.repeat(2000)}"}`,
  ])('refuses %.40s', (text) => {
    expect(read(text)).toBeUndefined()
  })
})

describe('base64url', () => {
  it.each(['', 'A', 'AA==', 'AB', 'A+8', 'A/8', 'A A'])('reads one spelling only: %j', (text) => {
    const bytes = fromBase64Url(text)
    expect(bytes === undefined || toBase64Url(bytes) === text).toBe(true)
    expect(bytes === undefined).toBe(text !== '')
  })
})
