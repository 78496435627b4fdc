import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { canonicalJson, changeBetween, listDeltaText, seconds, writeJson } from '@chancery/protocol'
import type { RevocationList } from '@chancery/protocol'
import { OutboundError, systemClock } from '@chancery/service-kit'
import {
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { TestGateway } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DeltaMisses, deltaUrl, isMiss } from './unread-list.ts'

const by = await testIssuer('agency')
/** Of the same name, with another key. */
const other = await testIssuer('elsewhere')
const caller = testClient('caller', ['agency'])
const IDS = Array.from({ length: 700 }, (_, n) => `cert-${n}`)
let server: Server
let asked: string[] = []
let serve: (path: string) => { status?: number; text: string }
let gateway: TestGateway | undefined

beforeEach(async () => {
  asked = []
  server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const { status = 200, text } = serve(path)
    response.writeHead(status).end(text)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
})
afterEach(async () => {
  await gateway?.stop()
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
})

function list(sequence: number, ids: readonly string[], issuer = by): Promise<RevocationList> {
  const entries = ids.map((certificate_id) => ({ certificate_id, revoked_at: '2026-01-02T03:04:05Z' }))
  return testList(issuer, systemClock.now(), { sequence, issuedAgo: seconds(600 - sequence), entries })
}

function delta(from: RevocationList, to: RevocationList): string {
  const [before, after] = [from, to].map((each) => each.revoked_certificates.map((entry) => canonicalJson(entry)))
  return listDeltaText(from.sequence, to, changeBetween(before ?? [], after ?? []))
}

async function start(bootstrap: RevocationList): Promise<TestGateway> {
  const crl_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/crl`
  const network = testNetwork(by, bootstrap, { crl_url, allow_http: true, refresh_seconds: 3600 })
  gateway = await startTestGateway({ policy: testPolicy({ agency: network }, [caller]) })
  return gateway
}

async function refreshed(on: TestGateway): Promise<{ readonly outcome: string; readonly sequence: number }> {
  for (let tries = 0; tries < 1500; tries += 1) {
    const { body } = await on.request('GET', '/v1/networks', { token: caller.token })
    const [network] = body['networks'] as unknown as {
      last_refresh: { outcome: string } | null
      revocation: { sequence: number }
    }[]
    if (network?.last_refresh?.outcome !== undefined)
      return { outcome: network.last_refresh.outcome, sequence: network.revocation.sequence }
    await new Promise((done) => setTimeout(done, 20))
  }
  throw new Error('no refresh ended')
}

async function isTrusted(on: TestGateway, cert_id: string): Promise<unknown> {
  const certificate = await testCertificate(by, systemClock.now(), { cert_id })
  const { body } = await on.request('POST', '/verify', { token: caller.token, body: { certificate } })
  return body['trusted']
}

describe('a gateway with a large list', () => {
  it('reads the change, and installs the list that it makes', async () => {
    const [held, next] = [await list(5, IDS), await list(7, [...IDS.slice(1), 'cert-new'])]
    serve = () => ({ text: delta(held, next) })
    const on = await start(held)
    expect(await refreshed(on)).toEqual({ outcome: 'installed', sequence: 7 })
    expect(asked).toEqual(['/crl/delta?from=5&issuer=na-main'])
    expect([await isTrusted(on, 'cert-new'), await isTrusted(on, 'cert-0'), await isTrusted(on, 'other')]).toEqual([
      false,
      // Named once: a later list without it does not remove it.
      false,
      true,
    ])
  })

  it('takes a change of nothing as unchanged', async () => {
    const held = await list(5, IDS)
    serve = () => ({ text: delta(held, held) })
    expect(await refreshed(await start(held))).toEqual({ outcome: 'unchanged', sequence: 5 })
    expect(asked).toHaveLength(1)
  })

  it.each<[string, (held: RevocationList, next: RevocationList) => Promise<{ status?: number; text: string }>]>([
    ['there is no delta', async () => ({ status: 404, text: '{}' })],
    ['it is no delta', async () => ({ text: '{' })],
    ['it is a list', async (_held, next) => ({ text: writeJson(next) })],
    ['it is cut', async (held, next) => ({ text: delta(held, next).slice(0, -20) })],
    ['it is of another base', async (_held, next) => ({ text: delta(await list(6, IDS), next) })],
    [
      'an entry is missing',
      async (held, next) => ({ text: delta(held, { ...next, revoked_certificates: held.revoked_certificates }) }),
    ],
    ['another key signed it', async (held) => ({ text: delta(held, await list(7, [...IDS, 'x'], other)) })],
    [
      'it leads to an older list',
      async (held) => ({ text: delta(held, await list(4, IDS)).replace('"sequence":4', '"sequence":8') }),
    ],
    ['it is huge', async (held, next) => ({ text: delta(held, next) + ' '.repeat(5_000_000) })],
  ])('reads the full list when %s', async (_name, make) => {
    const [held, next] = [await list(5, IDS), await list(7, [...IDS, 'cert-new'])]
    const wrong = await make(held, next)
    serve = (path) => (path === '/crl' ? { text: writeJson(next) } : wrong)
    const on = await start(held)
    expect(await refreshed(on)).toEqual({ outcome: 'installed', sequence: 7 })
    expect(asked).toEqual(['/crl/delta?from=5&issuer=na-main', '/crl'])
    expect(await isTrusted(on, 'cert-new')).toBe(false)
  })

  it('finds two lists under one sequence, also when the full list is the current one', async () => {
    const [held, second] = [await list(5, IDS), await list(5, IDS.slice(1))]
    serve = (path) => ({ text: path === '/crl' ? writeJson(held) : delta(held, second) })
    const on = await start(held)
    expect(await refreshed(on)).toEqual({ outcome: 'equivocation', sequence: 5 })
    expect(asked).toEqual(['/crl/delta?from=5&issuer=na-main'])
  })

  it('stays with its list when the full list is wrong, too', async () => {
    const [held, forged] = [await list(5, IDS), await list(7, [], other)]
    serve = (path) => ({ text: path === '/crl' ? writeJson(forged) : delta(held, forged) })
    expect(await refreshed(await start(held))).toEqual({ outcome: 'unauthentic', sequence: 5 })
  })
})

it('reads a small list in full', async () => {
  const next = await list(6, ['a', 'b'])
  serve = () => ({ text: writeJson(next) })
  expect(await refreshed(await start(await list(5, ['a'])))).toEqual({ outcome: 'installed', sequence: 6 })
  expect(asked).toEqual(['/crl'])
})

it('finds the address of deltas next to that of the list', () => {
  const position = { issuer: 'na main', sequence: 7 }
  const found = (url: string): string | undefined => deltaUrl(new URL(url), position)?.href
  expect(found('https://na.example/crl')).toBe('https://na.example/crl/delta?from=7&issuer=na+main')
  expect(found('https://na.example/a/crl/keys/na/1')).toBe('https://na.example/a/crl/delta?from=7&issuer=na+main')
  for (const url of ['https://na.example/crl?x=1', 'https://na.example/list.json', 'https://na.example/crl.json'])
    expect(found(url)).toBeUndefined()
})

it('asks an issuer without deltas less and less often', () => {
  const misses = new DeltaMisses()
  const tries: number[] = []
  for (let refresh = 0; refresh < 200; refresh += 1) {
    if (misses.skip('issuer')) continue
    tries.push(refresh)
    misses.add('issuer')
  }
  expect(tries).toEqual([0, 1, 4, 11, 26, 57, 120, 184])
  misses.clear('issuer')
  expect(misses.skip('issuer')).toBe(false)
})

it('does not ask an issuer less often that was away or overloaded', () => {
  for (const kind of ['unreachable', 'timeout'] as const) expect(isMiss(new OutboundError(kind))).toBe(false)
  expect(isMiss(new OutboundError('too_large'))).toBe(true)
  expect([408, 429, 500, 502, 503].filter((status) => isMiss({ status }))).toEqual([])
  // 200: the delta was wrong.
  expect([200, 400, 403, 404].filter((status) => !isMiss({ status }))).toEqual([])
})
