import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GuardNetwork, GuardSession, type Json, openGuardNetwork } from './guard-session.suite.ts'

// Holds: that a decision covers what a caller sends besides the arguments, and that a person is asked for an argument
// that a policy needs: once, by one caller, for one call.

const VERSION = '2026-07-28'
const MODERN = { 'io.modelcontextprotocol/protocolVersion': VERSION, 'io.modelcontextprotocol/clientCapabilities': {} }
const JSON_TYPE = { 'content-type': 'application/json' }
const properties = { copies: { type: 'integer' }, password: { type: 'string' } }
const TOOLS = [
  { name: 'print', inputSchema: { type: 'object', properties } },
  { name: 'read', inputSchema: { type: 'object' } },
]

let network = undefined as unknown as GuardNetwork
let session = undefined as unknown as GuardSession
let address: string
let secret: Record<string, string>
/** Calls that reached the server. */
const seen: string[] = []
const upstream = createServer((request, response) => void serve(request, response))

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  const { id, method } = JSON.parse(body) as Json
  if (method === 'tools/call') seen.push(body)
  const result = method === 'tools/list' ? { tools: TOOLS } : { content: [{ type: 'text', text: 'done' }] }
  response.writeHead(200, JSON_TYPE).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
}

beforeAll(async () => {
  const rules = 'tools:\n  print: { parameters: [copies, password] }\n'
  network = await openGuardNetwork(['mcp:files:read', 'mcp:files:print'], rules)
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`
  await network.run(['agent', 'guard-mcp', '--pin', '--home', 'agent', '--server', 'files', '--upstream', url])
  session = new GuardSession(network, ['--upstream', url, '--listen', '127.0.0.1:0'])
  address = await session.address()
  const text = await readFile(network.setup.path('agent', 'mcp', 'files', 'client.secret'), 'utf8')
  secret = { 'chancery-client-secret': text.trim() }
})
afterAll(async () => {
  await session.stop()
  upstream.closeAllConnections()
  upstream.close()
  await network.close()
})

async function call(params: object, headers: Record<string, string> = {}): Promise<Json> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const response = await fetch(address, { method: 'POST', headers: { ...JSON_TYPE, ...secret, ...headers }, body })
  return (await response.json()) as Json
}

/** Puts a policy with one gate of type max_value into force. */
async function limit(policy: string, argument: string, max: number): Promise<void> {
  const gate = {
    gate_id: 'max',
    gate_type: 'max_value.v1',
    order: 0,
    config: { path: `request_parameters.${argument}`, max },
  }
  const window = { valid_from: '2026-01-01T00:00:00Z', valid_until: '2036-01-01T00:00:00Z' }
  const intent = { policy_id: policy, ...window, selector: { capabilities: ['mcp:files:print'] }, gates: [gate] }
  await writeFile(network.setup.path(`${policy}.json`), JSON.stringify(intent))
  for (const line of [`publish ${policy}.json`, `activate ${policy} 1 --yes`]) {
    const { code, stderr } = await network.asOperator(`boundary-policy ${line}`)
    if (code !== 0) throw new Error(stderr)
  }
}

describe('_meta of a call', () => {
  it('is passed on, and its digest is part of the evidence', async () => {
    const digestOf = async (meta: object): Promise<unknown> => {
      const { length } = await network.executions()
      await call({ name: 'read', arguments: {}, _meta: meta })
      await expect.poll(async () => (await network.executions()).length, { timeout: 10_000 }).toBe(length + 1)
      const parameters = (await network.executions()).at(-1)?.['execution_parameters'] as { mcp: Json } | undefined
      return parameters?.mcp['meta_digest']
    }
    const [one, two] = [await digestOf({ 'example.com/user': 'a' }), await digestOf({ 'example.com/user': 'b' })]
    expect(JSON.parse(seen.at(-1) ?? '')).toMatchObject({ params: { _meta: { 'example.com/user': 'b' } } })
    expect(one).toMatch(/^[0-9a-f]{64}$/)
    expect(one).not.toBe(two)
    expect(await digestOf({})).toBeUndefined()
  })

  it('is refused when it is not an object', async () => {
    expect(await call({ name: 'read', _meta: 'x' })).toMatchObject({ error: { code: -32_602 } })
  })
})

describe('a call without an argument that a policy needs', () => {
  const ELICITS = { ...MODERN, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }
  const HEADERS = { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'print' }
  const print = (params: object = {}, headers: Record<string, string> = {}): Promise<Json> =>
    call({ name: 'print', arguments: { title: 'a' }, _meta: ELICITS, ...params }, { ...HEADERS, ...headers })
  const answer = (content: object, action = 'accept'): object => ({ 'chancery-facts': { action, content } })
  const stateOf = (response: Json): string => (response as { result: { requestState: string } }).result.requestState

  beforeAll(() => limit('printing', 'copies', 10))

  it('asks the person, decides again with the answer, and passes it on as an argument', async () => {
    const { length } = seen
    const first = await print()
    expect(first).toMatchObject({
      result: {
        resultType: 'input_required',
        inputRequests: {
          'chancery-facts': {
            method: 'elicitation/create',
            params: {
              mode: 'form',
              requestedSchema: { properties: { copies: { type: 'integer' } }, required: ['copies'] },
            },
          },
        },
        _meta: { 'chancery/decision': { authorized: false } },
      },
    })
    expect(seen.length).toBe(length)
    const { length: executions } = await network.executions()
    const requestState = stateOf(first)
    const second = await print({ requestState, inputResponses: answer({ copies: 2, other: 1 }) })
    expect(second).toMatchObject({ result: { content: [{ text: 'done' }] } })
    const passed = JSON.parse(seen.at(-1) ?? '') as { params: Json }
    expect(passed.params).toEqual({ name: 'print', arguments: { title: 'a', copies: 2 }, _meta: ELICITS })
    await expect.poll(async () => (await network.executions()).length, { timeout: 10_000 }).toBe(executions + 1)
    expect((await network.executions()).at(-1)).toMatchObject({ execution_parameters: { copies: 2 } })
    // The state is used up.
    expect(await print({ requestState, inputResponses: answer({ copies: 2 }) })).toMatchObject({
      error: { code: -32_602 },
    })
  })

  it('denies an answer that the policy does not allow, and does not ask again', async () => {
    const { length } = seen
    const response = await print({ requestState: stateOf(await print()), inputResponses: answer({ copies: 11 }) })
    expect(response).toMatchObject({ result: { resultType: 'complete', isError: true } })
    expect(seen.length).toBe(length)
  })

  it.each([
    ['a declined question', answer({ copies: 2 }, 'decline')],
    ['an answer of another type', answer({ copies: '2' })],
    ['no answer', {}],
  ])('is not passed on after %s', async (_name, inputResponses) => {
    const { length } = seen
    const response = await print({ requestState: stateOf(await print()), inputResponses })
    expect(response).toMatchObject({
      result: { isError: true, content: [{ text: 'Not called: no value was given for copies.' }] },
    })
    expect(seen.length).toBe(length)
  })

  it.each<[string, object, Record<string, string>]>([
    ['with other arguments', { arguments: { title: 'b' } }, {}],
    ['of another caller', {}, { authorization: 'Bearer b' }],
    ['with a task', { task: { ttl: 1 } }, {}],
  ])('is not answered by a call %s', async (_name, params, headers) => {
    const { length } = seen
    const requestState = stateOf(await print())
    expect(await print({ requestState, inputResponses: answer({ copies: 2 }), ...params }, headers)).toMatchObject({
      error: { code: -32_602 },
    })
    expect(seen.length).toBe(length)
  })

  it('passes responses to questions of the server on, after its own', async () => {
    const own = { requestState: 'of the server', inputResponses: { theirs: { action: 'accept', content: {} } } }
    const requestState = stateOf(await print(own))
    await print({ requestState, inputResponses: answer({ copies: 3 }) })
    expect(JSON.parse(seen.at(-1) ?? '')).toMatchObject({ params: { ...own, arguments: { copies: 3 } } })
  })

  it('passes the answer to a question of another guard on to the server', async () => {
    const theirs = { requestState: `chancery-guard.${'A'.repeat(16)}.b`, inputResponses: answer({ pages: 3 }) }
    await call({ name: 'read', arguments: {}, ...theirs })
    expect(JSON.parse(seen.at(-1) ?? '')).toMatchObject({ params: { name: 'read', ...theirs } })
  })

  it('is only denied when the client has no forms', async () => {
    const withElicitation = (elicitation?: object): object => ({
      ...MODERN,
      'io.modelcontextprotocol/clientCapabilities': elicitation === undefined ? {} : { elicitation },
    })
    for (const meta of [withElicitation(), withElicitation({ url: {} })])
      expect(await print({ _meta: meta })).toMatchObject({ result: { resultType: 'complete', isError: true } })
    expect(await print({ _meta: withElicitation({ form: {}, url: {} }) })).toMatchObject({
      result: { resultType: 'input_required' },
    })
  })

  it('never asks for a secret', async () => {
    await limit('secrets', 'password', 1)
    expect(await print()).toMatchObject({ result: { resultType: 'complete', isError: true } })
  })
})
