import { type CryptoKey, SignJWT, exportJWK, generateKeyPair } from 'jose'
import { startTestGateway, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { TestGateway } from '@chancery/testkit'
import { systemClock } from '@chancery/service-kit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { expectRefusal } from '../test-gateway.suite.ts'
import { SignatureChecks } from './signature-checks.ts'

const ISSUER = 'https://issuer.example.org/realm'
const AUDIENCE = 'gateway'
const PER_MINUTE = 5
const over = testClient('over', ['agency'], { expires_at: '2020-01-01T00:00:00Z' })
const watcher = testClient('watcher', [], { metrics: true })

let gateway: TestGateway
let key: CryptoKey
let forgersKey: CryptoKey
beforeAll(async () => {
  const pair = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  key = pair.privateKey
  forgersKey = (await generateKeyPair('EdDSA', { crv: 'Ed25519' })).privateKey
  const by = await testIssuer('agency')
  const bound = (id: string) => {
    const { token_sha256: _none, ...entry } = testClient(id, ['agency']).entry
    return { token: '', entry }
  }
  const clients = [bound('svc'), bound('other'), over, watcher]
  const oidc = {
    issuer: ISSUER,
    audience: AUDIENCE,
    jwks: { keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'ed1', use: 'sig', alg: 'EdDSA' }] },
    bindings: [
      { subject: 'subject', client_id: 'svc', required_claims: {} },
      { subject: 'other-subject', client_id: 'other', required_claims: {} },
    ],
  }
  gateway = await startTestGateway({
    policy: testPolicy({ agency: testNetwork(by, await testList(by, systemClock.now())) }, clients),
    files: { 'oidc.json': JSON.stringify(oidc) },
    settings: {
      GATEWAY_OIDC_FILE: '{home}/oidc.json',
      GATEWAY_AUTH_FAILURES_PER_MINUTE: String(PER_MINUTE),
    },
  })
})
afterAll(() => gateway.stop())

let tokens = 0
function mint(by: CryptoKey, subject = 'subject'): Promise<string> {
  tokens += 1
  return new SignJWT({ jti: `token-${tokens}` })
    .setProtectedHeader({ alg: 'EdDSA', kid: 'ed1' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(subject)
    .setIssuedAt()
    .setExpirationTime('10m')
    .sign(by)
}

const ask = (from: string, token?: string) =>
  gateway.request('GET', '/v1/networks', { from, ...(token === undefined ? {} : { token }) })

/** Every kind of bad credential, well above the limit. */
async function fail(from: string, count: number): Promise<ReadonlySet<number>> {
  const statuses = new Set<number>()
  for (let n = 0; n < count; n += 1) {
    const token = [undefined, 'z'.repeat(40), await mint(forgersKey), await mint(key, 'unbound')][n % 4]
    statuses.add((await ask(from, token)).status)
  }
  return statuses
}

describe('above the limit of failures of an address', () => {
  it('failures are throttled, and an already accepted token is not', async () => {
    const token = await mint(key)
    expect((await ask('127.0.0.11', token)).status).toBe(200)
    expect(await fail('127.0.0.11', 40)).toEqual(new Set([401, 429]))
    for (let n = 0; n < 3; n += 1) expect((await ask('127.0.0.11', token)).status).toBe(200)
  })

  it('a new token is accepted while forged tokens for the same client keep arriving', async () => {
    const from = '127.0.0.12'
    await fail(from, 20)
    expectRefusal(await ask(from, 'z'.repeat(40)), 429, 'rate_limited', 'auth_throttled')
    let isOver = false
    let refused = 0
    const forge = async (): Promise<void> => {
      while (!isOver) {
        expectRefusal(await ask(from, await mint(forgersKey)), 429, 'rate_limited', 'auth_throttled')
        refused += 1
      }
    }
    const flood = Array.from({ length: 16 }, forge)
    // More checks ran in this second than the limit of failures per minute.
    await vi.waitFor(() => expect(refused).toBeGreaterThan(30), { timeout: 20_000 })
    for (const [subject, client] of [
      ['subject', 'svc'],
      ['other-subject', 'other'],
    ] as const)
      for (let n = 0; n < 5; n += 1) expect((await ask(from, await mint(key, subject))).body['client_id']).toBe(client)
    isOver = true
    await Promise.all(flood)
  })

  it('an expired credential is counted as a failure, and never throttled', async () => {
    const denied = async (): Promise<number> => {
      const { text } = await gateway.request('GET', '/metrics', { token: watcher.token })
      return Number(/^gateway_denied_total (\d+)$/m.exec(text)?.[1])
    }
    await fail('127.0.0.13', 20)
    const before = await denied()
    for (let n = 0; n < 3; n += 1)
      expectRefusal(await ask('127.0.0.13', over.token), 401, 'unauthorized', 'credential_expired')
    expect((await denied()) - before).toBe(3)
  })
})

describe('SignatureChecks', () => {
  const time = { ms: 0 }
  /** Requests one check that ends immediately, and logs when it runs. */
  const asking =
    (checks: SignatureChecks, began: string[], isSlowed = true) =>
    async (address: string, client: string, isGone = () => false): Promise<void> => {
      await checks.run({ address, client, isGone }, isSlowed, async () => {
        began.push(`${address} ${client}`)
      })
    }

  it('serves addresses round robin, and within an address the claimed clients', async () => {
    const began: string[] = []
    const ask = asking(new SignatureChecks({ monotonicMs: () => time.ms }), began)
    const flood = Array.from({ length: 40 }, () => ask('a', 'forged'))
    await Promise.all([...flood, ask('a', 'good'), ask('b', 'forged'), ask('b', 'good')])
    // Four checks ran before the others were queued.
    expect(began.slice(4, 9).sort()).toEqual(['a forged', 'a forged', 'a good', 'b forged', 'b good'].sort())
  })

  it('limits the checks per second of addresses that failed, and runs all others immediately', async () => {
    const began: string[] = []
    const checks = new SignatureChecks({ monotonicMs: () => time.ms })
    const slowed = Promise.all(Array.from({ length: 120 }, (_, n) => asking(checks, began)(`crowd ${n}`, 'x')))
    await asking(checks, began, false)('late', 'y')
    await vi.waitFor(() => expect(began).toHaveLength(51))
    expect(began).toContain('late y')
    await new Promise((done) => setTimeout(done, 30))
    expect(began).toHaveLength(51)
    time.ms += 50
    await vi.waitFor(() => expect(began).toHaveLength(101))
    time.ms += 20
    await slowed
    expect(began).toHaveLength(121)
  })

  it('skips callers that disconnected in the queue, without delay for the others', async () => {
    const began: string[] = []
    const checks = new SignatureChecks({ monotonicMs: () => time.ms })
    const ask = asking(checks, began)
    const left = { isGone: false }
    // The first fifty use up the allowance. The clock does not advance, so no other check could start.
    const here = Array.from({ length: 49 }, () => ask('a', 'here'))
    const gone = Array.from({ length: 2000 }, () => ask('a', 'here', () => left.isGone))
    left.isGone = true
    await Promise.all([...here, ...gone, ask('a', 'here')])
    expect(began).toHaveLength(50)
  })

  it('queues more checks of one address than there are connections, then refuses that address only', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const checks = new SignatureChecks({ monotonicMs: () => time.ms })
    const ask = (address: string) => checks.run({ address, client: 'x', isGone: () => false }, false, () => ended)
    const taken: unknown[] = []
    for (let one = ask('greedy'); one !== undefined; one = ask('greedy')) taken.push(one)
    expect(taken.length).toBeGreaterThan(2000)
    expect(taken.length).toBeLessThan(4096)
    const other = ask('other')
    expect(other).toBeDefined()
    end()
    await Promise.all([...taken, other])
    expect(ask('greedy')).toBeDefined()
  })
})
