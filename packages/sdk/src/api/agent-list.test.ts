import { type JsonValue, seedSigner } from '@chancery/protocol'
import { afterEach, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import type { Client } from '../client.ts'
import { type TestServer, isSignedFor, listen } from '../http/http-server.suite.ts'
import { DESCRIPTOR, NA_PUBLIC_KEY, OPERATOR_SEED } from '../testing/records.suite.ts'

let server: TestServer | undefined
afterEach(() => server?.close())

async function connect(reply: (count: number) => JsonValue): Promise<Client> {
  server = await listen((_request, count) => ({ json: reply(count) }))
  const signer = await seedSigner('ops-1', OPERATOR_SEED)
  return createAuthorityClient({ url: server.url, operator: { signer, audience: NA_PUBLIC_KEY } })
}

const targets = (): readonly string[] => server?.received.map(({ target }) => target) ?? []
const ROW = { descriptor: DESCRIPTOR, node_label: null, node_state: 'silent' }

it('agents.list sends the filters, signed, and reads agents with their nodes', async () => {
  const client = await connect(() => ({ count: 1, agents: [{ ...ROW, later: 1 }], total: 1, next_cursor: null }))
  const page = await client.agents.list({ q: 'pay', capability: 'a b', state: 'silent', limit: 2 })
  expect(page).toMatchObject({ count: 1, total: 1, next_cursor: null })
  expect(page.agents).toEqual([ROW])
  expect(targets()).toEqual(['/admin/agents?q=pay&capability=a%20b&state=silent&limit=2'])
  const { publicKey } = await seedSigner('ops-1', OPERATOR_SEED)
  const [request] = server?.received ?? []
  expect(request !== undefined && (await isSignedFor(NA_PUBLIC_KEY, publicKey, request))).toBe(true)
})

it('agents.all reads all pages', async () => {
  const client = await connect((count) => ({ count: 1, agents: [ROW], next_cursor: count < 3 ? `c${count}` : null }))
  const ids: string[] = []
  for await (const { descriptor } of client.agents.all({ host: 'h' })) ids.push(descriptor.agent_id)
  expect(ids).toHaveLength(3)
  expect(targets()).toEqual([
    '/admin/agents?host=h',
    '/admin/agents?host=h&cursor=c1',
    '/admin/agents?host=h&cursor=c2',
  ])
})

it('agents.capabilities reads capabilities with their numbers', async () => {
  const capabilities = [{ capability: 'pay.invoice', agents: 3 }]
  const client = await connect(() => ({ count: 1, capabilities, total: null, next_cursor: 'c' }))
  const page = await client.agents.capabilities({ q: 'pay' })
  expect(page).toMatchObject({ count: 1, capabilities, total: null, next_cursor: 'c' })
  expect(targets()).toEqual(['/admin/agents/capabilities?q=pay'])
})

it('agents.list refuses an answer without descriptors', async () => {
  const client = await connect(() => ({ count: 1, agents: [{ ...ROW, descriptor: {} }], next_cursor: null }))
  await expect(client.agents.list()).rejects.toMatchObject({ name: 'ResponseError' })
})
