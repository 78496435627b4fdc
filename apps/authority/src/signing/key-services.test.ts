import { createPublicKey, generateKeyPairSync, sign as platformSign, verify } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '@chancery/service-kit'
import { TestCa, currentBackend } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { crc32c } from './google-kms-signer.ts'
import { keyFinder } from './find-key.ts'
import { type KeySource, openSigner } from './key-providers.ts'

const VERSION = 'projects/p/locations/europe/keyRings/r/cryptoKeys/na/cryptoKeyVersions/3'
const TOKEN = 'the-token-of-the-day'
const pair = generateKeyPairSync('ed25519')
const rawOf = ({ publicKey }: typeof pair): Buffer =>
  Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
const raw = rawOf(pair)
/** The next version in both services. */
const next = generateKeyPairSync('ed25519')
const NEXT_VERSION = VERSION.replace('/3', '/4')

interface RecordedCall {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: Record<string, unknown>
}

/** As documented by Vault (transit) and Google (Cloud KMS v1). Returns 4xx to every undocumented request. */
function answer(asked: RecordedCall, faults: Record<string, unknown>): readonly [status: number, body: unknown] {
  const { method, url, headers, body } = asked
  if (faults['status'] !== undefined) return [faults['status'] as number, { errors: [TOKEN] }]
  if (url.startsWith('/v1/sealed/transit/')) {
    if (headers['x-vault-token'] !== TOKEN || headers['x-vault-namespace'] !== 'team') return [403, { errors: [] }]
    if (method === 'GET' && url === '/v1/sealed/transit/keys/na%20key') {
      const keys = {
        1: { public_key: Buffer.alloc(32, 9).toString('base64') },
        2: { public_key: raw.toString('base64') },
        3: { public_key: rawOf(next).toString('base64') },
      }
      return [
        200,
        {
          data: {
            type: 'ed25519',
            exportable: false,
            allow_plaintext_backup: false,
            latest_version: 2,
            keys,
            ...faults,
          },
        },
      ]
    }
    const key_version = body['key_version']
    if (method === 'POST' && url === '/v1/sealed/transit/sign/na%20key' && (key_version === 2 || key_version === 3)) {
      const input = Buffer.from(String(body['input']), 'base64')
      const { privateKey } = key_version === 2 ? pair : next
      const signature = `vault:v${key_version}:${platformSign(null, input, privateKey).toString('base64')}`
      return [200, { data: { signature, key_version, ...faults } }]
    }
  }
  if (headers.authorization !== `Bearer ${TOKEN}`) return [401, { error: {} }]
  const name = url.startsWith(`/v1/${NEXT_VERSION}`) ? NEXT_VERSION : VERSION
  const { publicKey, privateKey } = name === VERSION ? pair : next
  if (method === 'GET' && url === `/v1/${name}/publicKey`) {
    const pem = publicKey.export({ format: 'pem', type: 'spki' })
    return [200, { pem, algorithm: 'EC_SIGN_ED25519', name, protectionLevel: 'HSM', ...faults }]
  }
  if (method === 'POST' && url === `/v1/${name}:asymmetricSign` && body['digest'] === undefined) {
    const data = Buffer.from(String(body['data']), 'base64')
    if (body['dataCrc32c'] !== String(crc32c(data))) return [400, { error: {} }]
    const signature = platformSign(null, data, privateKey)
    const checks = { signatureCrc32c: String(crc32c(signature)), verifiedDataCrc32c: true }
    return [200, { signature: signature.toString('base64'), name, ...checks, ...faults }]
  }
  return [404, { errors: [] }]
}

it('crc32c returns the check value of its definition', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
  expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa)
})

describe.runIf(currentBackend() === 'sqlite')('keys in a service', () => {
  const ca = new TestCa()
  let folder: string
  let origin: string
  let faults: Record<string, unknown> = {}
  const leaf = ca.issue('key service')
  const server = createServer({ cert: leaf.cert, key: leaf.key }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
      const [status, value] = answer(
        { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body },
        faults,
      )
      response.writeHead(status, { 'content-type': 'application/json', location: 'https://elsewhere.example/' })
      response.end(JSON.stringify(value))
    })
  })
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-kms-'))
    await writeFile(join(folder, 'ca.pem'), ca.cert)
    await writeFile(join(folder, 'token'), `${TOKEN}\n`, { mode: 0o600 })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    server.close()
    ca.remove()
    await rm(folder, { recursive: true, force: true })
  })
  beforeEach(() => {
    faults = {}
  })

  const vault = (): KeySource => ({
    provider: 'vault',
    setting: 'NA_KEY_URI',
    origin,
    caFile: join(folder, 'ca.pem'),
    token: { file: join(folder, 'token') },
    mount: 'sealed/transit',
    key: 'na key',
    keyVersion: 2,
    namespace: 'team',
  })
  const google = (): KeySource => ({
    provider: 'gcp-kms',
    setting: 'NA_KEY_URI',
    origin,
    caFile: join(folder, 'ca.pem'),
    token: { file: join(folder, 'token') },
    keyVersion: VERSION,
  })
  const open = (source: KeySource): ReturnType<typeof openSigner> => openSigner(source, 'na-kms', silentLog)

  it.each([
    ['vault', vault],
    ['gcp-kms', google],
  ])('%s signs records that verify elsewhere', async (provider, source) => {
    const signer = await open(source())
    expect([signer.provider, signer.publicKey]).toEqual([provider, raw.toString('base64')])
    const message = Buffer.alloc(100_000, 5)
    expect(
      verify(
        null,
        message,
        createPublicKey(pair.publicKey.export({ format: 'pem', type: 'spki' })),
        await signer.sign(message),
      ),
    ).toBe(true)
  })

  it.each([
    ['vault', vault],
    ['gcp-kms', google],
  ])('%s has the next key as another version, for a rotation', async (_provider, source) => {
    const publicKey = rawOf(next).toString('base64')
    const find = keyFinder([source()], silentLog)
    const found = await find('na-2', publicKey)
    expect([found?.keyId, found?.publicKey]).toEqual(['na-2', publicKey])
    const message = Buffer.from('m')
    const signature = (await found?.sign(message)) ?? Buffer.alloc(0)
    expect(verify(null, message, next.publicKey, signature)).toBe(true)
    // A key that no version has is not one of them, and a service that fails does not end the search.
    expect(await find('na-3', Buffer.alloc(32, 5).toString('base64'))).toBeUndefined()
    faults = { status: 503 }
    expect(await keyFinder([source()], silentLog)('na-2', publicKey)).toBeUndefined()
  })

  it.each([
    ['of another type', vault, { type: 'ecdsa-p256' }, 'NA_KEY_URI'],
    ['that can be exported', vault, { exportable: true }, 'NA_KEY_URI'],
    ['that a backup contains in the clear', vault, { allow_plaintext_backup: true }, 'NA_KEY_URI'],
    ['whose version is gone', vault, { keys: {} }, 'NA_KEY_URI'],
    ['that cannot be read', vault, { status: 403 }, 'NA_KEY_URI'],
    ['behind a redirect', google, { status: 302 }, 'NA_KEY_URI'],
    ['of another algorithm', google, { algorithm: 'EC_SIGN_P256_SHA256' }, 'NA_KEY_URI'],
    ['of another version', google, { name: VERSION.replace('/3', '/4') }, 'NA_KEY_URI'],
  ])('a key %s is refused at the start, and no secret is shown', async (_what, source, wrong, setting) => {
    faults = wrong
    const failure = await open(source()).then(
      () => undefined,
      (error: unknown) => error as Error,
    )
    expect(failure?.message).toMatch(new RegExp(`^${setting}: `))
    expect(String(failure?.message) + String(failure?.cause)).not.toContain(TOKEN)
  })

  it.each([
    ['of another key', vault, { signature: `vault:v1:${'A'.repeat(86)}==` }],
    ['that is too short', vault, { signature: 'vault:v2:AAAA' }],
    ['that was damaged', google, { signatureCrc32c: '1' }],
    ['over data that was damaged', google, { verifiedDataCrc32c: false }],
    ['of another version', google, { name: 'projects/x' }],
  ])('a signature %s is refused', async (_what, source, wrong) => {
    const signer = await open(source())
    faults = wrong
    await expect(signer.sign(Buffer.from('m'))).rejects.toThrow('the key service returned no signature of this key')
  })

  it('accepts only a certificate of the given root', async () => {
    await expect(open({ ...vault(), caFile: undefined } as KeySource)).rejects.toThrow(/^NA_KEY_URI: /)
  })

  it('checks the certificate also when the environment of the process disables that', async () => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      await expect(open({ ...vault(), caFile: undefined } as KeySource)).rejects.toThrow(/^NA_KEY_URI: /)
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
    }
  })
})
