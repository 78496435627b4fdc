import type { IncomingMessage, ServerResponse } from 'node:http'
import type { JsonObject } from '@chancery/protocol'
import { type ForeignObject, accepted, foreignSovereign, foreignTreaty, wireText } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { openPartnerCalls, treatyRows } from './partner-calls.suite.ts'
import type { StubPartner } from './stub-partner.suite.ts'

const calls = openPartnerCalls()
const { clock } = calls
const treatyTo = (stub: StubPartner, name: string, changes: ForeignObject = {}): ForeignObject =>
  foreignTreaty(stub.key, foreignSovereign(name), clock.now(), changes)

// The authority has a moved clock and the stubs that of the machine, so `clock_offset` is a reason of each.
describe('a malicious partner', () => {
  it('cannot use keys of another sovereign', async () => {
    const stub = await calls.newPartner()
    const thief = foreignSovereign(stub.name, `${stub.name}-thief`)
    const good = treatyTo(stub, 'GOOD')
    stub.show('/crl', thief.sign({ ...stub.crl(4, []), signatures: [] }))
    stub.show('/sovereign-revocation-feed', thief.sign({ ...stub.feed(4, ['x']), signatures: [] }))
    stub.show('/recognition-treaties', treatyRows(good, foreignTreaty(thief, foreignSovereign('BAD'), clock.now())))
    const { outcome, partner } = (await calls.pull(stub)) as { outcome: string; partner: JsonObject }
    expect([outcome, partner]).toMatchObject([
      'unauthentic',
      { feed: null, crl: null, treaties: { active: 1, refused: 1 } },
    ])
    expect(await calls.isRevoked(stub, 'x')).toBe(false)
  })

  it('shows two revocation lists with one number, and two treaties with one id in one page', async () => {
    const stub = await calls.newPartner()
    const entry = (id: string): ForeignObject => ({
      certificate_id: id,
      revoked_at: '2026-01-01T00:00:00Z',
      reason: 'superseded',
      issuer: stub.key.key_id,
    })
    stub.show('/crl', stub.crl(2, [entry('one')]))
    await calls.pull(stub)
    const before = (await calls.show(stub))['crl']
    stub.show('/crl', stub.crl(2, [entry('two')]))
    const twice = { treaty_id: 'twice' }
    stub.show('/recognition-treaties', treatyRows(treatyTo(stub, 'A', twice), treatyTo(stub, 'B', twice)))
    expect(await calls.pull(stub)).toMatchObject({
      outcome: 'equivocation',
      partner: { state: 'alarm', crl: before, treaties: { active: 0 } },
    })
    const alarms = (await calls.show(stub))['alarms'] as JsonObject[]
    expect(alarms.map((alarm) => alarm['material']).toSorted()).toEqual(['crl', 'treaty'])
  })

  it('sends a body slowly: the request ends after 10 seconds, and the other material is read', async () => {
    const stub = await calls.newPartner()
    stub.show('/sovereign-revocation-feed', drip)
    stub.show('/crl', stub.crl(7, []))
    const started = performance.now()
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'timeout', partner: { feed: null, crl: { sequence: 7 } } })
    const took = performance.now() - started
    expect(took).toBeGreaterThan(9500)
    expect(took).toBeLessThan(40_000)
  }, 60_000)

  it('lists 10,000 treaties, and more: at most 10 pages are read', async () => {
    const stub = await calls.newPartner()
    const pages = Array.from({ length: 10 }, (_, page) =>
      Array.from({ length: 1000 }, (_each, i) => treatyTo(stub, 'FAR', { treaty_id: `t-${page}-${i}` })),
    )
    const texts = pages.map((rows, page) => wireText({ ...treatyRows(...rows), next_cursor: `p${page + 1}` }))
    const asked: (string | null)[] = []
    stub.show('/recognition-treaties', (request: IncomingMessage, response: ServerResponse) => {
      const cursor = new URL(request.url ?? '', 'http://stub').searchParams.get('cursor')
      asked.push(cursor)
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(texts[cursor === null ? 0 : Number(cursor.slice(1))] ?? '{}')
    })
    expect(await calls.pull(stub)).toMatchObject({
      outcome: 'ok',
      partner: {
        treaties: { active: 10_000, refused: 0, truncated: true },
        reasons: ['clock_offset', 'treaties_truncated'],
      },
    })
    expect(asked).toEqual([null, ...Array.from({ length: 9 }, (_, i) => `p${i + 1}`)])
    const page = accepted(await calls.admin('GET', `/${stub.name}/treaties?limit=1000`))
    expect(page).toMatchObject({ count: 1000, next_cursor: expect.any(String) })
  }, 180_000)

  it('comes back after a month: it was stale, and is read without an alarm', async () => {
    const stub = await calls.newPartner()
    stub.show('/sovereign-revocation-feed', stub.feed(3, ['early']))
    stub.show('/recognition-treaties', treatyRows(treatyTo(stub, 'FAR')))
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'ok', partner: { treaties: { active: 1 } } })
    stub.show('/genesis', (_request, response) => void response.writeHead(502).end())
    clock.advance(30 * 86_400)
    expect(await calls.pull(stub)).toMatchObject({
      outcome: 'unreachable',
      partner: { state: 'stale', reasons: expect.arrayContaining(['feed_old', 'crl_old']), failures: 1 },
    })
    stub.show('/genesis', stub.genesis())
    stub.show('/crl', stub.crl(61, []))
    stub.show('/sovereign-revocation-feed', stub.feed(63, ['early', 'late']))
    stub.show('/recognition-treaties', treatyRows())
    expect(await calls.pull(stub)).toMatchObject({
      outcome: 'ok',
      partner: { state: 'fresh', reasons: ['clock_offset'], failures: 0, alarms: [], treaties: { active: 0 } },
    })
    expect([await calls.isRevoked(stub, 'early'), await calls.isRevoked(stub, 'late')]).toEqual([true, true])
  })
})

/** One byte in every 200 ms, without an end. */
function drip(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  const timer = setInterval(() => response.write(' '), 200)
  response.on('close', () => clearInterval(timer))
}
