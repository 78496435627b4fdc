import { execFileSync } from 'node:child_process'
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CryptoKey, type JWK, SignJWT, exportJWK, generateKeyPair } from 'jose'
import { type JsonObject, SECOND } from '@chancery/protocol'
import { ManualClock, type TestAuthority, accepted, detailsOf, startTestAuthority, testSigner } from '@chancery/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startNode } from '../../testing/started-node.suite.ts'
import { MemoryNodeStore } from '../../node/followed.ts'
import { PlatformError, spiffeJwt, spiffeX509 } from './index.ts'
import { fetchJwtSvid, fetchX509Svid } from './workload-api.ts'
import { TestWorkloadApi, field } from './workload-api.suite.ts'

let api: TestWorkloadApi
beforeEach(async () => {
  api = new TestWorkloadApi()
  await api.start()
})
afterEach(() => api.stop())

const svids = (...entries: readonly (readonly [string, string])[]): Buffer =>
  Buffer.concat(
    entries.map(([id, token]) => field(1, Buffer.concat([field(1, id), field(2, token), field(3, 'hint')]))),
  )

describe('the Workload API', () => {
  it('gives a JWT-SVID for the audience, with the header that every call needs', async () => {
    const asked: Buffer[] = []
    api.answers.jwt = (request) => {
      asked.push(request)
      return svids(['spiffe://a.example/x', 'token-1'], ['spiffe://a.example/y', 'token-2'])
    }
    const options = { socket: api.socket }
    expect(await fetchJwtSvid('aud-1', options)).toEqual({ spiffeId: 'spiffe://a.example/x', token: 'token-1' })
    const named = { ...options, spiffeId: 'spiffe://a.example/y' }
    expect(await fetchJwtSvid('aud-1', named)).toEqual({ spiffeId: 'spiffe://a.example/y', token: 'token-2' })
    expect(asked).toEqual([field(1, 'aud-1'), Buffer.concat([field(1, 'aud-1'), field(2, 'spiffe://a.example/y')])])
    expect(api.metadata).toEqual(['true', 'true'])
  })

  it('gives an X.509-SVID from the first message of the stream', async () => {
    const certificates = [
      Buffer.from([0x30, 2, 5, 0]),
      Buffer.concat([Buffer.from([0x30, 0x81, 0x80]), Buffer.alloc(128)]),
    ]
    const svid = [
      field(1, 'spiffe://a.example/x'),
      field(2, Buffer.concat(certificates)),
      field(3, 'key'),
      field(4, 'b'),
    ]
    api.answers.x509 = () => field(1, Buffer.concat(svid))
    const found = await fetchX509Svid({ socket: api.socket })
    expect(found.chain.map((each) => Buffer.from(each))).toEqual(certificates)
    expect(Buffer.from(found.privateKey).toString()).toBe('key')
  })

  it('is asked again when it is not ready, and not after a wrong argument', async () => {
    api.answers.jwt = () => svids(['spiffe://a.example/x', 'token'])
    api.answers.failures = [14, 7]
    expect(await fetchJwtSvid('aud', { socket: api.socket })).toMatchObject({ token: 'token' })
    expect(api.metadata).toHaveLength(3)
    api.answers.failures = [3, 3]
    await expect(fetchJwtSvid('aud', { socket: api.socket })).rejects.toThrow('status 3: not ready')
    expect(api.metadata).toHaveLength(4)
  })

  it.each([
    ['no identity', Buffer.alloc(0), 'no such identity'],
    ['a cut message', Buffer.from([10, 200]), 'malformed message'],
    ['a long length', Buffer.from([10, 255, 255, 255, 255, 255, 1]), 'malformed message'],
  ])('gives nothing with %s', async (_what, answer, problem) => {
    api.answers.jwt = () => answer
    await expect(fetchJwtSvid('aud', { socket: api.socket })).rejects.toThrow(problem)
  })

  it.each([
    ['unix:///nowhere/agent.sock', 'cannot be reached'],
    ['tcp://127.0.0.1:1', 'cannot be reached'],
    ['https://agent.example', 'must be unix'],
    ['tcp://agent.example:80', 'must be unix'],
  ])('at %s is an error of the platform', async (socket, problem) => {
    const failed = fetchJwtSvid('aud', { socket, attempts: 1 })
    await expect(failed).rejects.toThrow(problem)
    await expect(failed).rejects.toBeInstanceOf(PlatformError)
  })

  it('that does not answer is left after the time limit', async () => {
    const silent = createServer()
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done))
    const { port } = silent.address() as { port: number }
    const failed = fetchJwtSvid('aud', { socket: `tcp://127.0.0.1:${port}`, timeoutMs: 200, attempts: 1 })
    await expect(failed).rejects.toThrow('did not answer in time')
    silent.close()
  })
})

const API = 'spiffe://prod.example/api'
const clock = new ManualClock(BigInt(Date.now()) * 1000n)

describe('a node of a SPIFFE workload', () => {
  let na: TestAuthority
  let signing: CryptoKey
  let leaf: { readonly der: Buffer; readonly key: Buffer }
  const folder = mkdtempSync(join(tmpdir(), 'chancery-svid-'))
  const at = (name: string): string => join(folder, name)

  beforeAll(async () => {
    na = await startTestAuthority({ clock })
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    signing = privateKey
    const root = makeCertificates()
    const jwk: JWK = { ...(await exportJWK(publicKey)), kid: 'j1', use: 'jwt-svid' }
    const keys = { keys: [jwk, { use: 'x509-svid', kty: 'EC', x5c: [root] }] } as unknown as JsonObject
    for (const kind of ['spiffe_jwt', 'spiffe_x509']) {
      const rule = { rule_id: kind, kind, trust_domain: 'prod.example', keys, required_claims: { sub: [API] } }
      accepted(await na.as('privileged')('POST', '/admin/admission-rules', rule), 201)
    }
  })
  afterAll(async () => {
    await na.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  function makeCertificates(): string {
    const openssl = (...words: readonly string[]): void => void execFileSync('openssl', words, { stdio: 'pipe' })
    const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    openssl(
      'req',
      '-x509',
      ...ec,
      '-keyout',
      at('ca.key'),
      '-out',
      at('ca.pem'),
      '-days',
      '2',
      '-subj',
      '/CN=ca',
      '-addext',
      'basicConstraints=critical,CA:TRUE',
      '-addext',
      'keyUsage=critical,keyCertSign,cRLSign',
    )
    writeFileSync(at('ext'), `keyUsage=critical,digitalSignature\nsubjectAltName=URI:${API}\n`)
    openssl('req', '-new', ...ec, '-keyout', at('leaf.key'), '-out', at('leaf.csr'), '-subj', '/CN=leaf')
    openssl(
      'x509',
      '-req',
      '-in',
      at('leaf.csr'),
      '-CA',
      at('ca.pem'),
      '-CAkey',
      at('ca.key'),
      '-CAcreateserial',
      '-out',
      at('leaf.pem'),
      '-extfile',
      at('ext'),
      '-days',
      '1',
    )
    const key = createPrivateKey(readFileSync(at('leaf.key'))).export({ format: 'der', type: 'pkcs8' })
    leaf = { der: new X509Certificate(readFileSync(at('leaf.pem'))).raw, key }
    return new X509Certificate(readFileSync(at('ca.pem'))).raw.toString('base64')
  }

  const signJwt = async (request: Buffer): Promise<Buffer> => {
    const audience = request.subarray(2).toString()
    const now = Number(clock.now() / SECOND)
    const token = await new SignJWT({ sub: API, aud: audience, exp: now + 300 })
      .setProtectedHeader({ alg: 'ES256', kid: 'j1' })
      .sign(signing)
    return svids([API, token])
  }

  it.each(['spiffe_jwt', 'spiffe_x509'] as const)('joins and renews by the Workload API: %s', async (rule_id) => {
    api.answers.jwt = signJwt
    api.answers.x509 = () => field(1, Buffer.concat([field(1, API), field(2, leaf.der), field(3, leaf.key)]))
    const options = { socket: api.socket }
    const source =
      rule_id === 'spiffe_jwt'
        ? spiffeJwt(options)
        : spiffeX509({ ...options, clock: () => Number(clock.now() / 1000n) })
    const node = await startNode({
      url: na.url,
      genesis: na.genesis,
      store: new MemoryNodeStore(await testSigner('node', rule_id)),
      clock: () => clock.now(),
      random: () => 0,
      platform: { rule: rule_id, source },
      // Hours pass at once: the next thing that is due is the renewal.
      sleep: async (_ms, signal) => {
        clock.advance(1200)
        await new Promise((done) => setImmediate(done))
        if (signal?.aborted === true) throw new Error('stopped')
      },
    })
    const first = node.certificate.cert_id
    const replaced = await new Promise((done) => node.on('renewed', ({ replaces }) => done(replaces)))
    await node.stop()
    expect(replaced).toBe(first)
    const renewed = (await na.auditEvents('certificate_renewed')).at(-1)
    expect(detailsOf(renewed)).toMatchObject({ rule_id, evidence_subject: API })
  })
})
