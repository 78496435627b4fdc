import type { JsonObject } from '@chancery/protocol'
import { accepted, detailsOf, eventsOf, foreignSovereign, foreignTreaty, refused } from '@chancery/testkit'
import type { ForeignObject } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { type PartnerCalls, openPartnerCalls, requestOf, treatyRows } from './partner-calls.suite.ts'
import { StubPartner } from './stub-partner.suite.ts'

const calls = openPartnerCalls()
const { clock } = calls

const admin: PartnerCalls['admin'] = (method, path, body) => calls.admin(method, path, body)
const newStub = (): Promise<StubPartner> => calls.newStub()
const newPartner = (changes: JsonObject = {}): Promise<StubPartner> => calls.newPartner(changes)
const pull = (stub: StubPartner): Promise<JsonObject> => calls.pull(stub)
const partnerOf = (stub: StubPartner): Promise<JsonObject> => calls.show(stub)

describe('POST /admin/partners', () => {
  it('reads genesis block and metadata, stores the partner and audits it', async () => {
    const stub = await newStub()
    const answer = await admin('POST', '', requestOf(stub, { label: 'neighbour' }))
    const partner = accepted(answer, 201)
    expect(partner).toMatchObject({ sovereign_id: stub.name, state: 'new', label: 'neighbour', alarms: [] })
    expect(stub.seen).toEqual(['/genesis', '/sovereign.json'])
    const [event] = await eventsOf(calls.na, answer)
    expect(event?.['event_type']).toBe('partner_added')
    expect(detailsOf(event)).toMatchObject({ sovereign_id: stub.name, pin_kind: 'root', import_feeds: true })
    refused(await admin('POST', '', requestOf(stub)), 409, 'partner_exists')
  })

  it('refuses another root, name or own name, and what it cannot read', async () => {
    const stub = await newStub()
    const other = foreignSovereign('ANOTHER').publicKey
    refused(await admin('POST', '', requestOf(stub, { root_public_key: other })), 422, 'partner_mismatch')
    refused(await admin('POST', '', requestOf(stub, { sovereign_id: 'ANOTHER' })), 422, 'partner_mismatch')
    refused(await admin('POST', '', requestOf(stub, { sovereign_id: 'TEST-NET' })), 422, 'partner_mismatch')
    stub.show(
      '/genesis',
      (_request, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    )
    const { details } = refused(await admin('POST', '', requestOf(stub)), 422, 'partner_unreachable') as {
      details: JsonObject
    }
    expect(details['reason']).toBe('redirect')
  })

  it.each([
    ['http://127.0.0.1/path', {}],
    ['http://user@127.0.0.1', {}],
    ['http://169.254.169.254', {}],
    ['https://[::ffff:169.254.169.254]', {}],
    ['http://127.0.0.1', { allow_http: false }],
    ['ftp://127.0.0.1', {}],
    ['http://8.8.8.8', {}],
  ])('refuses the address %s', async (url, changes) => {
    const stub = await newStub()
    const body = requestOf(stub, { url, sovereign_id: 'X', defer: true, ...changes })
    expect(refused(await admin('POST', '', body), 400, 'invalid_partner')).toMatchObject({ details: { field: 'url' } })
  })
})

describe('a pull', () => {
  it('reads all material, imports the feed and is unchanged the second time', async () => {
    const stub = await newPartner()
    const good = foreignTreaty(stub.key, foreignSovereign('FAR'), clock.now())
    stub.show('/sovereign-revocation-feed', stub.feed(3, ['gone-1']))
    stub.show('/recognition-treaties', treatyRows(good, { ...good, treaty_id: 'changed' }))
    expect(await pull(stub)).toMatchObject({ outcome: 'ok', changed: expect.arrayContaining(['feed', 'treaties']) })
    expect(await partnerOf(stub)).toMatchObject({
      state: 'fresh',
      feed: { sequence: 3, ids: 1, imported_sequence: 3, complete: true },
      treaties: { active: 1, refused: 1, truncated: false },
    })
    expect(await calls.isRevoked(stub, 'gone-1')).toBe(true)
    expect(await pull(stub)).toMatchObject({ outcome: 'unchanged', changed: [] })
  })

  it('ends at a genesis block of another root', async () => {
    const stub = await newPartner()
    stub.show('/genesis', stub.genesis(foreignSovereign(stub.name, 'thief')))
    stub.seen.length = 0
    expect(await pull(stub)).toMatchObject({ outcome: 'unauthentic' })
    expect(stub.seen).toEqual(['/genesis'])
  })

  it('refuses endless, malformed and forged feeds, and updates the rest', async () => {
    const stub = await newPartner()
    const hostile: readonly (readonly [string, Parameters<StubPartner['show']>[1]])[] = [
      [
        'too_large',
        (_request, response) => {
          response.writeHead(200, { 'content-type': 'application/json' })
          const timer = setInterval(() => response.write(Buffer.alloc(1_048_576, 32)), 1)
          response.on('close', () => clearInterval(timer))
        },
      ],
      ['malformed', (_request, response) => void response.end('{"sequence":1,"sequence":2}')],
      ['unauthentic', { ...stub.feed(9, ['forged']), sequence: 10 }],
      ['mismatch', foreignFeedOf('ELSEWHERE')],
      ['redirect', (_request, response) => void response.writeHead(301, { location: '/crl' }).end('{}')],
      ['unreachable', (_request, response) => void response.writeHead(500).end('{}')],
    ]
    let sequence = 0
    for (const [outcome, answer] of hostile) {
      sequence += 1
      stub.show('/sovereign-revocation-feed', answer)
      stub.show('/crl', stub.crl(sequence, []))
      expect(await pull(stub)).toMatchObject({ outcome, partner: { crl: { sequence } } })
    }
    expect(await calls.isRevoked(stub, 'forged')).toBe(false)
    expect(await partnerOf(stub)).toMatchObject({ alarms: [] })
  })

  it('raises an alarm for two feeds with one sequence, and imports the ids of both', async () => {
    const stub = await newPartner()
    stub.show('/sovereign-revocation-feed', stub.feed(5, ['a']))
    await pull(stub)
    stub.show('/sovereign-revocation-feed', stub.feed(5, ['b']))
    const { outcome, partner } = (await pull(stub)) as { outcome: string; partner: { alarms: { alarm_id: string }[] } }
    expect([outcome, partner]).toMatchObject(['equivocation', { state: 'alarm', alarms: [{ kind: 'equivocation' }] }])
    expect([await calls.isRevoked(stub, 'a'), await calls.isRevoked(stub, 'b')]).toEqual([true, true])
    await pull(stub)
    const alarm_id = partner.alarms[0]?.alarm_id ?? ''
    expect((await partnerOf(stub))['alarms']).toHaveLength(1)
    refused(await admin('POST', `/${stub.name}/clear-alarm`, { alarm_id: 'x', reason: 'y' }), 404, 'alarm_not_found')
    accepted(await admin('POST', `/${stub.name}/clear-alarm`, { alarm_id, reason: 'asked them' }))
    expect(await pull(stub)).toMatchObject({ outcome: 'ok', partner: { state: 'fresh' } })
    expect(await calls.isRevoked(stub, 'a')).toBe(true)
  })

  it('raises an alarm for the second lower sequence in a row, also after removal', async () => {
    const stub = await newPartner()
    stub.show('/sovereign-revocation-feed', stub.feed(9, ['a']))
    await pull(stub)
    stub.show('/sovereign-revocation-feed', stub.feed(8, []))
    expect(await pull(stub)).toMatchObject({ outcome: 'rollback', partner: { alarms: [] } })
    accepted(await admin('POST', `/${stub.name}/remove`, { reason: 'x' }))
    accepted(await admin('POST', '', requestOf(stub)), 201)
    expect(await pull(stub)).toMatchObject({ outcome: 'rollback', partner: { state: 'new' } })
    expect(await pull(stub)).toMatchObject({ partner: { state: 'alarm', alarms: [{ kind: 'rollback' }] } })
    expect(await calls.isRevoked(stub, 'a')).toBe(true)
  })

  it('hides a treaty that was shown in two forms', async () => {
    const stub = await newPartner()
    const treaty = (subject: string): ForeignObject =>
      foreignTreaty(stub.key, foreignSovereign(subject), clock.now(), { treaty_id: 'twice' })
    stub.show('/recognition-treaties', treatyRows(treaty('FAR')))
    await pull(stub)
    stub.show('/recognition-treaties', treatyRows(treaty('FURTHER')))
    expect(await pull(stub)).toMatchObject({ outcome: 'equivocation', partner: { state: 'alarm' } })
    expect(accepted(await admin('GET', `/${stub.name}/treaties`))).toMatchObject({ count: 0 })
  })

  it('takes a new key that the pinned root signed, and waits longer after failures', async () => {
    const stub = await newPartner({ interval_seconds: 300 })
    await pull(stub)
    const next = foreignSovereign(stub.name, `${stub.name}-next`)
    const network_authority = {
      public_key: next.publicKey,
      valid_from: '2026-01-02T00:00:00Z',
      valid_to: '2027-01-02T00:00:00Z',
    }
    stub.show('/genesis', stub.genesis(stub.root, { network_authority }))
    stub.show('/sovereign-revocation-feed', next.sign({ ...stub.feed(1, ['by-next']), signatures: [] }))
    await pull(stub)
    expect(await calls.isRevoked(stub, 'by-next')).toBe(true)
    expect(await partnerOf(stub)).toMatchObject({ reasons: expect.arrayContaining(['key_changed']) })
    stub.show('/genesis', (_request, response) => void response.writeHead(503).end())
    const waits: number[] = []
    for (let i = 0; i < 2; i += 1) {
      const { partner } = (await pull(stub)) as { partner: { last_pull: { at: string }; next_pull_at: string } }
      waits.push(Date.parse(partner.next_pull_at) - Date.parse(partner.last_pull.at))
    }
    expect(waits[0]).toBeGreaterThanOrEqual(540_000)
    expect(waits[1]).toBeGreaterThan(waits[0] ?? 0)
  })
})

function foreignFeedOf(name: string): ForeignObject {
  return new StubPartner(name, () => clock.now()).feed(7, ['x'])
}
