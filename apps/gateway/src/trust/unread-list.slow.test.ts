import { type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGzip, gzipSync } from 'node:zlib'
import { LIST_HEAD_HEADER, canonicalBytes, seconds, toBase64, writeJson, writeListHeadHeader } from '@chancery/protocol'
import type { JsonObject, RevocationList } from '@chancery/protocol'
import { type Clock, type Log, silentLog, systemClock } from '@chancery/service-kit'
import {
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { TestGateway, TestIssuer } from '@chancery/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'

const BOUND = 1_048_576
const by = await testIssuer('agency')
const caller = testClient('caller', ['agency'])
const watcher = testClient('watcher', [], { metrics: true })
let server: Server
let reply: (response: ServerResponse, accepts: string) => void
let gateway: TestGateway | undefined
let policy: JsonObject
/** Most of the 900 seconds are over as soon as the gateway reports the list. */
let ahead = seconds(0)
const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead }
const log: Log = {
  ...silentLog,
  error(message) {
    if (message.startsWith('there is a newer revocation list')) ahead = seconds(899)
  },
}

beforeEach(async () => {
  server = createServer((request, response) => reply(response, String(request.headers['accept-encoding'])))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
})
afterEach(async () => {
  await gateway?.stop()
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
})

const list = (sequence: number, ids: readonly string[] = []): Promise<RevocationList> =>
  testList(by, systemClock.now(), {
    sequence,
    issuedAgo: seconds(600 - 10 * sequence),
    entries: ids.map((certificate_id) => ({ certificate_id })),
  })

/** Over the size limit after decoding. */
const manyIds = (count: number): string[] => Array.from({ length: count }, (_, n) => `cert-${n}`)

async function headOf({ sequence, issued_at, next_update, issuer }: RevocationList, signer: TestIssuer = by) {
  const head = {
    list_id: 'x',
    list_sequence: sequence,
    list_bytes: 2_000_000,
    list_entries: 2,
    issued_at,
    next_update,
    issuer,
  }
  const sig = toBase64(await signer.signer.sign(canonicalBytes(head)))
  return { [LIST_HEAD_HEADER]: writeListHeadHeader(writeJson({ ...head, signatures: [{ key_id: issuer, sig }] })) }
}

function policyWith(bootstrap: RevocationList): JsonObject {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/crl`
  const network = testNetwork(by, bootstrap, { crl_url: url, allow_http: true, refresh_seconds: 3600 })
  return testPolicy({ agency: network }, [caller, watcher])
}

async function start(): Promise<TestGateway> {
  ahead = seconds(0)
  policy = policyWith(await list(9, ['held']))
  gateway = await startTestGateway({ policy, clock, log, settings: { GATEWAY_MAX_LIST_BYTES: String(BOUND) } })
  return gateway
}

async function until<Value>(read: () => Promise<Value>, holds: (value: Value) => boolean): Promise<Value> {
  for (let tries = 0; tries < 1500; tries += 1) {
    const value = await read()
    if (holds(value)) return value
    await new Promise((done) => setTimeout(done, 20))
  }
  throw new Error('no update arrived')
}

const outcome = (on: TestGateway) =>
  until(
    async () => {
      const { body } = await on.request('GET', '/v1/networks', { token: caller.token })
      const [network] = body['networks'] as unknown as { last_refresh: { outcome: string } | null }[]
      return network?.last_refresh?.outcome
    },
    (found) => found !== undefined,
  )

async function verdictOn(on: TestGateway, cert_id: string): Promise<unknown> {
  const certificate = await testCertificate(by, systemClock.now(), { cert_id })
  const { body } = await on.request('POST', '/verify', { token: caller.token, body: { certificate } })
  return [body['trusted'], body['reasons']]
}

async function metric(on: TestGateway, name: string): Promise<number> {
  const { text } = await on.request('GET', '/metrics', { token: watcher.token })
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

const LABELS = '\\{network="agency",issuer="na-main"\\}'

it('reads a compressed list, and reports its size and the limit', async () => {
  const newer = await list(10, ['gone'])
  const accepted: string[] = []
  reply = (response, accepts) => {
    accepted.push(accepts)
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(writeJson(newer)))
  }
  const on = await start()
  expect(await outcome(on)).toBe('installed')
  expect(accepted).toEqual(['gzip'])
  expect(await verdictOn(on, 'gone')).toEqual([false, ['Revoked { reason: "key_compromise" }']])
  expect(await metric(on, `gateway_crl_bytes${LABELS}`)).toBe(canonicalBytes(newer).length)
  expect(await metric(on, `gateway_crl_entries${LABELS}`)).toBe(1)
  expect(await metric(on, 'gateway_crl_max_bytes')).toBe(BOUND)
})

it('cancels a compressed response during decoding, not after', async () => {
  let closedAfter = 0
  reply = (response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' })
    // A gigabyte of spaces compresses to a megabyte. Only the first thousandth of it may be read.
    const bomb = createGzip()
    let sent = 0
    const block = Buffer.alloc(65_536, ' ')
    const more = (): void => {
      while (sent < 2 ** 30 && !response.destroyed) {
        sent += block.length
        if (!bomb.write(block)) {
          bomb.once('drain', more)
          return
        }
      }
      bomb.end()
    }
    response.on('close', () => {
      closedAfter = sent
      bomb.destroy()
    })
    bomb.on('error', () => undefined).pipe(response)
    more()
  }
  const on = await start()
  expect(await outcome(on)).toBe('too_large')
  await until(
    async () => closedAfter,
    (bytes) => bytes > 0,
  )
  expect(closedAfter).toBeLessThan(2 ** 29)
  expect(await verdictOn(on, 'held')).toEqual([false, ['Revoked { reason: "key_compromise" }']])
})

it('a newer list over the limit: ready reports it, the issuer is refused after its time, and accepted with a list under the limit', async () => {
  const large = await list(10, manyIds(12_000))
  const [body, head] = [writeJson(large), await headOf(large)]
  expect(body.length).toBeGreaterThan(BOUND)
  reply = (response) => response.writeHead(200, head).end(body)
  const on = await start()
  expect(await outcome(on)).toBe('too_large')
  const first = await on.request('GET', '/ready')
  expect([first.status, first.body]).toEqual([200, { status: 'ready', warnings: ['list_too_large'] }])
  expect(await verdictOn(on, 'fine')).toEqual([true, []])
  expect(await metric(on, `gateway_crl_unread_sequence${LABELS}`)).toBe(10)
  const later = await until(
    () => on.request('GET', '/ready'),
    ({ status }) => status === 503,
  )
  expect(later.body['details']).toMatchObject({ checks: { revocation: false }, reasons: ['list_too_large'] })
  expect(await verdictOn(on, 'fine')).toEqual([false, ['NetworkPolicyRejected']])
  // A reload does not change it.
  await on.reload(policy)
  expect(await verdictOn(on, 'fine')).toEqual([false, ['NetworkPolicyRejected']])
  // A newer list under the limit repairs it; here from the policy file, because the next refresh is late.
  await on.reload(policyWith(await list(11, ['held', 'gone'])))
  expect((await on.request('GET', '/ready')).status).toBe(200)
  expect(await verdictOn(on, 'fine')).toEqual([true, []])
  expect(await verdictOn(on, 'gone')).toEqual([false, ['Revoked { reason: "key_compromise" }']])
  expect(await metric(on, `gateway_crl_unread_sequence${LABELS}`)).toBe(0)
})

it('a list over the limit whose head has another signer is reported, and its issuer is not refused', async () => {
  const large = await list(10, manyIds(12_000))
  const head = await headOf(large, { ...(await testIssuer('elsewhere')), keyId: by.keyId })
  reply = (response) => response.writeHead(200, head).end(writeJson(large))
  const on = await start()
  expect(await outcome(on)).toBe('too_large')
  ahead = seconds(900)
  expect((await on.request('GET', '/ready')).body).toEqual({ status: 'ready', warnings: ['list_too_large'] })
  expect(await verdictOn(on, 'fine')).toEqual([true, []])
})

it('is refused in time also when a server returns the current list again', async () => {
  const large = await list(10, manyIds(12_000))
  const [body, head] = [writeJson(large), await headOf(large)]
  let asked = 0
  reply = (response) => {
    asked += 1
    if (asked === 1) response.writeHead(200, head).end(body)
    else response.writeHead(200).end(writeJson((policy['networks'] as { agency: { crl: JsonObject } }).agency.crl))
  }
  const on = await start()
  expect(await outcome(on)).toBe('too_large')
  await until(
    () => on.request('GET', '/ready'),
    ({ status }) => status === 503,
  )
  expect(await verdictOn(on, 'fine')).toEqual([false, ['NetworkPolicyRejected']])
  // The next attempt is after the interval of the policy, so the server is not called continuously.
  expect(asked).toBeLessThan(10)
})
