import { type JsonObject, type Signer, draftAgentDescriptor, seconds, signList, writeInstant } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  enroll,
  nodeCaller,
  refused,
  startTestAuthority,
  testSigner,
  verifiesWithNodeCrypto,
} from '@chancery/testkit'
import type { TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock()
let na: TestAuthority
let counter = 0
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())
beforeEach(async () => {
  for (const table of ['agent_registrations', 'agent_capabilities', 'agent_capability_counts'] as const)
    await rowsOf(na.core.database).deleteFrom(table).execute()
})

interface Facts {
  readonly id: string
  readonly capabilities?: readonly string[]
  readonly host?: string
  readonly lifetime?: number
}

async function register(signer: Signer, { id, capabilities = [], host = 'a.example', lifetime = 600 }: Facts) {
  const draft = draftAgentDescriptor({
    agent_id: id,
    node_public_key: signer.publicKey,
    network_name: 'TEST-NET',
    capabilities,
    endpoint: { host, port: 443 },
    registered_at: writeInstant(clock.now()),
    expires_at: writeInstant(clock.now() + seconds(lifetime)),
  })
  accepted(await na.request('POST', '/agents', { body: await signList(draft, signer) }))
}

/** A node with an agent, a second after the last one. */
async function newAgent(facts: Facts): Promise<Signer> {
  const name = `listed-${(counter += 1)}`
  const signer = await testSigner((await testSigner('node', name)).publicKey, name)
  clock.advance(1)
  await enroll(
    na,
    nodeCaller(na.url, signer, () => clock.now()),
  )
  await register(signer, facts)
  return signer
}

const get = (query = ''): Promise<TestResponse> => na.as('standard')('GET', `/admin/agents${query}`)
const page = async (query = ''): Promise<JsonObject> => accepted(await get(query))
const rows = (answer: JsonObject): readonly JsonObject[] => answer['agents'] as readonly JsonObject[]
const idsOf = (answer: JsonObject): readonly unknown[] =>
  rows(answer).map((row) => (row['descriptor'] as JsonObject)['agent_id'])
const ids = async (query = ''): Promise<readonly unknown[]> => idsOf(await page(query))

/** Reads all pages of one row each. */
async function walk(query: string): Promise<readonly unknown[]> {
  const walked: unknown[] = []
  for (let cursor = ''; walked.length < 100;) {
    const answer = await page(`?${query}&limit=1${cursor}`)
    walked.push(...idsOf(answer))
    if (answer['next_cursor'] === null) return walked
    cursor = `&cursor=${String(answer['next_cursor'])}`
  }
  throw new Error('the pages do not end')
}

async function fleet(): Promise<readonly Signer[]> {
  return [
    await newAgent({ id: 'payer', capabilities: ['pay.invoice', 'pay.refund'], host: 'pay.example' }),
    await newAgent({ id: 'reader', capabilities: ['read.manifest', 'pay.invoice'], host: 'read.example' }),
    await newAgent({ id: 'porter', capabilities: ['carry'], host: 'port.example', lifetime: 3600 }),
    await newAgent({ id: 'idle', host: 'port.example' }),
  ]
}

const WRONG = [
  ['capabilty=x', 'unexpected_field'],
  ['offset=1', 'unexpected_field'],
  ['q=', 'invalid_input'],
  [`q=${'x'.repeat(129)}`, 'invalid_input'],
  ['capability=', 'invalid_input'],
  ['host=', 'invalid_input'],
  ['state=valid', 'invalid_input'],
  ['node_public_key=x', 'invalid_public_key'],
  ['expires_before=soon', 'invalid_timestamps'],
  ['limit=0', 'invalid_page'],
  ['limit=1001', 'invalid_page'],
  ['cursor=x', 'invalid_page'],
] as const

describe('GET /admin/agents', () => {
  it('200: lists agents newest first, as they were signed, with label and state of the node', async () => {
    const [payer] = await fleet()
    const key = payer?.publicKey ?? ''
    accepted(await na.as('standard')('POST', '/admin/nodes/label', { node_public_key: key, label: 'Till' }))
    const answer = await page()
    expect(answer).toMatchObject({ count: 4, total: 4, next_cursor: null })
    expect(idsOf(answer)).toEqual(['idle', 'porter', 'reader', 'payer'])
    expect(rows(answer)[3]).toMatchObject({ node_label: 'Till', node_state: 'active' })
    expect(rows(answer)[0]).toMatchObject({ node_label: null, node_state: 'active' })
    expect(verifiesWithNodeCrypto(JSON.stringify(rows(answer)[3]?.['descriptor']), key)).toBe(true)
    clock.advance(1)
    if (payer !== undefined) await register(payer, { id: 'payer' })
    expect(await ids()).toEqual(['payer', 'idle', 'porter', 'reader'])
  })

  it('200: finds agents by the begin of id, host and capability, each once', async () => {
    await fleet()
    expect(await ids('?q=pay')).toEqual(['payer', 'reader'])
    expect(await ids('?q=po')).toEqual(['porter', 'idle'])
    expect(await ids('?q=read.')).toEqual(['reader'])
    expect(await ids('?q=carry')).toEqual(['porter'])
    for (const none of ['ayer', 'PAY', 'pay%25', '_ayer']) expect(await ids(`?q=${none}`), none).toEqual([])
  })

  it('200: filters by capability, host, node, end and state of the node, also together', async () => {
    const [payer] = await fleet()
    expect(await ids('?capability=pay.invoice')).toEqual(['reader', 'payer'])
    expect(await ids('?capability=pay')).toEqual([])
    expect(new Set(await ids('?host=port.example'))).toEqual(new Set(['porter', 'idle']))
    expect(await ids('?host=port')).toEqual([])
    expect(await ids(`?node_public_key=${encodeURIComponent(payer?.publicKey ?? '')}`)).toEqual(['payer'])
    const soon = encodeURIComponent(writeInstant(clock.now() + seconds(601)))
    expect(await ids(`?expires_before=${soon}`)).toEqual(['payer', 'reader', 'idle'])
    expect(await ids(`?capability=carry&expires_before=${soon}`)).toEqual([])
    expect(await ids('?q=pay&capability=pay.refund')).toEqual(['payer'])
    expect(await ids('?host=port.example&capability=carry')).toEqual(['porter'])
    expect(await ids('?state=silent')).toEqual([])
    clock.advance(300)
    expect(await ids('?state=silent&capability=carry')).toEqual(['porter'])
    expect(await ids('?state=active')).toEqual([])
  })

  it('200: omits agents that ended, also before the purge, in every order', async () => {
    const [payer] = await fleet()
    clock.advance(600)
    for (const query of ['', '?q=p', '?host=port.example', '?capability=carry', '?expires_before=2999-01-01T00:00:00Z'])
      expect(await ids(query), query).toEqual(['porter'])
    expect(await ids('?q=pay')).toEqual([])
    expect(await ids(`?node_public_key=${encodeURIComponent(payer?.publicKey ?? '')}`)).toEqual([])
  })

  it('200: omits an agent whose node is revoked', async () => {
    const { publicKey } = await newAgent({ id: 'goes', capabilities: ['carry'] })
    await newAgent({ id: 'stays', capabilities: ['carry'] })
    const [row] = await rowsOf(na.core.database)
      .selectFrom('issued_certs')
      .select('cert_id')
      .where('node_public_key', '=', publicKey)
      .execute()
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: row?.cert_id ?? '', reason: 'unspecified' }))
    for (const query of ['', '?q=g', '?q=carry', '?capability=carry', '?host=a.example'])
      expect(await ids(query), query).toEqual(query === '?q=g' ? [] : ['stays'])
  })

  it('200: pages give every agent once in each order, with an exact total', async () => {
    await fleet()
    for (const [query, count] of [
      ['q=p', 4],
      ['capability=pay.invoice', 2],
      ['host=port.example', 2],
      ['expires_before=2999-01-01T00:00:00Z', 4],
    ] as const) {
      const whole = await ids(`?${query}`)
      expect(await walk(query), query).toEqual(whole)
      expect(whole, query).toHaveLength(count)
      expect(await page(`?${query}&limit=1`), query).toMatchObject({ count: 1, total: count })
    }
    expect(await page('?limit=1')).toMatchObject({ count: 1, total: 4 })
    expect(await page('?limit=1&q=p&capability=carry')).toMatchObject({ count: 1, total: 1, next_cursor: null })
    const { next_cursor } = await page('?limit=1')
    refused(await get(`?q=p&cursor=${String(next_cursor)}`), 400, 'invalid_page')
  })

  it('200: finds an agent of an earlier release, which has no host, by its id', async () => {
    await newAgent({ id: 'older', host: 'old.example' })
    await rowsOf(na.core.database).updateTable('agent_registrations').set({ host: null }).execute()
    expect(await ids('?q=old')).toEqual(['older'])
    expect(await ids('?host=old.example')).toEqual([])
  })

  it.each(WRONG)('400: %s is %s', async (query, code) => {
    refused(await get(`?${query}`), 400, code)
  })

  it('401: without a signature', async () => {
    refused(await na.request('GET', '/admin/agents'), 401, 'admin_auth_failed')
  })
})

describe('GET /admin/agents/capabilities', () => {
  const list = async (query = ''): Promise<JsonObject> =>
    accepted(await na.as('standard')('GET', `/admin/agents/capabilities${query}`))
  const pairs = (answer: JsonObject): readonly unknown[] =>
    (answer['capabilities'] as readonly JsonObject[]).map((row) => [row['capability'], row['agents']])

  it('200: counts the agents of each capability, the most common first', async () => {
    const [payer] = await fleet()
    const answer = await list()
    expect(pairs(answer)).toEqual([
      ['pay.invoice', 2],
      ['carry', 1],
      ['pay.refund', 1],
      ['read.manifest', 1],
    ])
    expect(answer).toMatchObject({ count: 4, total: 4, next_cursor: null })
    if (payer !== undefined) await register(payer, { id: 'payer', capabilities: ['pay.refund', 'zip'] })
    expect(pairs(await list('?limit=1'))).toEqual([['carry', 1]])
    expect(pairs(await list('?q=pay'))).toEqual([
      ['pay.invoice', 1],
      ['pay.refund', 1],
    ])
  })

  it('200: pages give each capability once, by number and by name', async () => {
    await fleet()
    for (const [query, count] of [
      ['', 4],
      ['&q=pay.', 2],
    ] as const) {
      const walked: unknown[] = []
      for (let cursor = ''; ;) {
        const answer = await list(`?limit=1${query}${cursor}`)
        expect(answer['total']).toBe(count)
        walked.push(...pairs(answer))
        if (answer['next_cursor'] === null) break
        cursor = `&cursor=${String(answer['next_cursor'])}`
      }
      expect(walked).toEqual(pairs(await list(query.replace('&', '?'))))
      expect(walked).toHaveLength(count)
    }
  })

  it.each([
    ['capability=x', 'unexpected_field'],
    ['q=', 'invalid_input'],
    ['limit=1001', 'invalid_page'],
    ['cursor=x', 'invalid_page'],
  ])('400: %s is %s', async (query, code) => {
    refused(await na.as('standard')('GET', `/admin/agents/capabilities?${query}`), 400, code)
  })

  it('401: without a signature', async () => {
    refused(await na.request('GET', '/admin/agents/capabilities'), 401, 'admin_auth_failed')
  })
})
