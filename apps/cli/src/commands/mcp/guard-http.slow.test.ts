import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { type IncomingMessage, type ServerResponse, request as httpRequest } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type GuardNetwork, GuardSession, openGuardNetwork } from './guard-session.suite.ts'
import { JSON_TYPE, TOOLS, upstream } from './http-server.suite.ts'

/** The guard between a client and a server that are reached by HTTP, with malicious messages of both. */
let network = undefined as unknown as GuardNetwork
let session = undefined as unknown as GuardSession
let address: string
let secretFile: string
let secret: Record<string, string>
const { seen } = upstream

const VERSION = '2026-07-28'
const MODERN = { 'io.modelcontextprotocol/protocolVersion': VERSION, 'io.modelcontextprotocol/clientCapabilities': {} }
beforeAll(async () => {
  network = await openGuardNetwork(['mcp:files:read'])
  const url = await upstream.listen()
  await network.run(['agent', 'guard-mcp', '--pin', '--home', 'agent', '--server', 'files', '--upstream', url])
  session = new GuardSession(network, ['--upstream', url, '--listen', '127.0.0.1:0'])
  address = await session.address()
  secretFile = network.setup.path('agent', 'mcp', 'files', 'client.secret')
  secret = { 'chancery-client-secret': (await readFile(secretFile, 'utf8')).trim() }
})
afterEach(() => {
  upstream.answerCall = undefined
  upstream.answerList = undefined
})
afterAll(async () => {
  await session.stop()
  upstream.close()
  await network.close()
})

async function post(
  body: string | Buffer<ArrayBuffer>,
  headers: Record<string, string> = JSON_TYPE,
): Promise<Response> {
  return fetch(address, { method: 'POST', headers: { ...secret, ...headers }, body, redirect: 'manual' })
}

const message = (method: string, params: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
const call = (params: object = {}): string => message('tools/call', { name: 'read', arguments: {}, ...params })

async function newOutcome(before: number): Promise<unknown> {
  await expect.poll(async () => (await network.executions()).length, { timeout: 10_000 }).toBe(before + 1)
  return (await network.executions()).at(-1)?.['outcome']
}

describe('a program of this machine without the client secret', () => {
  it.each([
    ['none', {}],
    ['another', { 'chancery-client-secret': 'x'.repeat(43) }],
    ['an empty one', { 'chancery-client-secret': '' }],
  ])('is refused with %s, and the server gets nothing', async (_name, headers) => {
    const { length } = seen
    for (const method of ['POST', 'GET', 'DELETE']) {
      const body = method === 'POST' ? { body: call() } : {}
      const response = await fetch(address, { method, headers: { ...JSON_TYPE, ...headers }, ...body })
      expect(response.status).toBe(403)
      expect(await response.text()).toContain('Chancery-Client-Secret is missing or wrong')
    }
    expect(seen.length).toBe(length)
  })

  it('cannot read the secret, which the guard names at its start and never sends to the server', async () => {
    expect((await stat(secretFile)).mode & 0o077).toBe(0)
    expect(session.notes).toContain(`clients send the header Chancery-Client-Secret with the content of ${secretFile}`)
    expect((await post(message('ping'))).status).toBe(200)
    expect(JSON.stringify(seen.at(-1))).not.toContain(secret['chancery-client-secret'])
  })
})

describe('a request', () => {
  it('is written again, with a fixed content type', async () => {
    const type = { 'content-type': 'application/json; charset="UTF-8"', 'content-language': 'x' }
    expect((await post('{"jsonrpc":"2.0",\r\n "id":1, "method":"ping"}', type)).status).toBe(200)
    const { headers, body } = seen.at(-1) ?? { headers: {}, body: '' }
    expect(body).toMatch(/^\{"jsonrpc":"2.0","id":"[0-9a-f-]{36}","method":"ping"\}$/)
    expect([headers['content-type'], headers['content-language']]).toEqual(['application/json', undefined])
  })

  it.each([
    [{ 'content-type': 'application/json; charset=utf-7' }],
    [{ 'content-type': 'application/json; charset=utf-8; charset=utf-7' }],
    [{ 'content-type': 'text/plain' }],
    [{ ...JSON_TYPE, 'content-encoding': 'gzip' }],
  ])('is refused with %j, which a server could decode differently', async (headers: Record<string, string>) => {
    const { length } = seen
    expect((await post(message('ping'), headers)).status).toBe(415)
    expect((await post(Buffer.from([0x22, 0xff, 0x22]))).status).toBe(400)
    expect(seen.length).toBe(length)
  })

  it.each([
    ['Mcp-Method', { 'mcp-method': 'ping' }, call()],
    ['Mcp-Name', { 'mcp-name': 'write' }, call()],
    ['MCP-Protocol-Version', { 'mcp-protocol-version': VERSION }, call()],
    ['MCP-Protocol-Version', {}, call({ _meta: MODERN })],
    ['Mcp-Method', { 'mcp-protocol-version': VERSION }, call({ _meta: MODERN })],
    ['Mcp-Name', { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call' }, call({ _meta: MODERN })],
    ['mcp-param-region', { 'mcp-param-region': 'b' }, call({ arguments: { region: 'a' } })],
    ['mcp-param-other', { 'mcp-param-other': 'b' }, call()],
    [
      'mcp-param-region',
      { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'read' },
      call({ arguments: { region: 'a' }, _meta: MODERN }),
    ],
  ])('is refused when %s differs from the body', async (name, headers: Record<string, string>, body) => {
    const { length } = seen
    const response = await post(body, { ...JSON_TYPE, ...headers })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { code: -32_020, message: `The header ${name} differs from the body.` },
    })
    expect(seen.length).toBe(length)
  })

  it('passes with headers that are equal to the body, also in base64', async () => {
    const { length } = await network.executions()
    const region = `=?base64?${Buffer.from('é').toString('base64')}?=`
    const headers = { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'read' }
    const response = await post(call({ arguments: { region: 'é' }, _meta: MODERN }), {
      ...JSON_TYPE,
      ...headers,
      'mcp-param-region': region,
    })
    expect(await response.json()).toMatchObject({ result: { content: [{ text: 'done' }] } })
    // The next test counts executions from here.
    expect(await newOutcome(length)).toBe('success')
  })
})

describe('ids toward the server', () => {
  const events = { 'content-type': 'text/event-stream' }
  const said = (message: object): string => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`

  it('are random, so that a late response to an earlier request of the same id is not taken for its own', async () => {
    const { length } = await network.executions()
    const ids: unknown[] = []
    // As a server does that finds the stream of a request by its id.
    upstream.answerCall = (response, { id }) => {
      ids.push(id)
      response.writeHead(200, events)
      const failed = { content: [{ type: 'text', text: 'late' }], isError: true }
      for (const late of [1, ids[0]].filter((each) => each !== id)) response.write(said({ id: late, result: failed }))
      if (ids.length === 2) response.write(said({ id, result: { content: [{ type: 'text', text: 'own' }] } }))
      response.end()
    }
    await (await post(call())).text()
    const text = await (await post(call())).text()
    expect(text).toContain('own')
    expect(ids.every((id) => id !== 1) && ids[0] !== ids[1]).toBe(true)
    await expect.poll(async () => (await network.executions()).length).toBe(length + 2)
    expect((await network.executions()).slice(length).map(({ outcome }) => outcome)).toEqual(['partial', 'success'])
  })

  it('get one response, on the stream of the request: what the evidence states', async () => {
    const { length } = await network.executions()
    const result = (text: string, isError = false): object => ({ content: [{ type: 'text', text }], isError })
    const running: { readonly id: unknown; readonly response: ServerResponse }[] = []
    upstream.answerCall = (response, { id }) => {
      response.writeHead(200, events)
      response.flushHeaders()
      running.push({ id, response })
    }
    const [one, other] = [post(call()), post(call())]
    await expect.poll(() => running.length).toBe(2)
    const [first, second] = running
    // A response to the other request, and two to the own one.
    first?.response.write(said({ id: second?.id, result: result('of another') }))
    for (const text of ['taken', 'too late'])
      first?.response.write(said({ id: first.id, result: result(text, text === 'taken') }))
    first?.response.end()
    second?.response.end(said({ id: second.id, result: result('done') }))
    const texts = [await (await one).text(), await (await other).text()].sort()
    expect(texts.join()).not.toMatch(/of another|too late/)
    expect(texts.join()).toMatch(/taken/)
    expect(texts.join()).toMatch(/done/)
    await expect.poll(async () => (await network.executions()).length).toBe(length + 2)
    const outcomes = (await network.executions()).slice(length).map(({ outcome }) => outcome)
    expect([...outcomes].sort()).toEqual(['failure', 'success'])
  })

  it('are in progress and cancellations, too, and the client gets its own back', async () => {
    const stored = (await network.executions()).length
    let sent = undefined as unknown as { id: string; params: { _meta: { progressToken: unknown } } }
    let running: ServerResponse | undefined
    upstream.answerCall = (response, given) => {
      sent = given as unknown as typeof sent
      running = response
      const { progressToken } = sent.params['_meta']
      response.writeHead(200, events)
      response.write(said({ method: 'notifications/progress', params: { progressToken: 'of-me', progress: 1 } }))
      response.write(said({ method: 'notifications/progress', params: { progressToken, progress: 2 } }))
    }
    const answer = post(call({ _meta: { progressToken: 'of-me' } }))
    await expect.poll(() => running).toBeDefined()
    const cancel = (requestId: unknown): Promise<Response> =>
      post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }))
    const { length } = seen
    expect((await cancel('another')).status).toBe(202)
    expect(seen.length).toBe(length)
    expect((await cancel(1)).status).toBe(202)
    expect(JSON.parse(seen.at(-1)?.body ?? '')).toMatchObject({ params: { requestId: sent.id } })
    running?.end(said({ id: sent.id, result: { content: [] } }))
    const text = await (await answer).text()
    expect(text).toContain('"progressToken":"of-me","progress":2')
    expect(text).not.toContain('"progress":1')
    expect(text).not.toContain('"result"')
    await newOutcome(stored)
  })
})

describe('a call with an unknown effect', () => {
  it('is recorded as partial when the response is cut after its headers', async () => {
    const { length } = await network.executions()
    upstream.answerCall = (response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': '1000' })
      response.write('{"jsonrpc"', () => response.destroy())
    }
    expect((await post(call())).status).toBe(502)
    expect(await newOutcome(length)).toBe('partial')
  })

  it('is recorded as partial when the client disconnects', async () => {
    const { length } = await network.executions()
    const client = new AbortController()
    upstream.answerCall = () => client.abort()
    const sent = fetch(address, {
      method: 'POST',
      headers: { ...JSON_TYPE, ...secret },
      body: call(),
      signal: client.signal,
    })
    await expect(sent).rejects.toThrow('aborted')
    expect(await newOutcome(length)).toBe('partial')
  })

  it('is recorded as partial when a client disconnects that did not read', async () => {
    const { length } = await network.executions()
    let isBlocked = false
    const event = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'x', params: { a: 'a'.repeat(1_000_000) } })}\n\n`
    upstream.answerCall = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let sent = 0; sent < 40; sent += 1) isBlocked = !response.write(event)
    }
    const client = httpRequest(address, { method: 'POST', headers: { ...JSON_TYPE, ...secret } }).end(call())
    client.on('error', () => undefined)
    const [response] = (await once(client, 'response')) as [IncomingMessage]
    await expect.poll(() => isBlocked && response.readableLength > 0).toBe(true)
    client.destroy()
    expect(await newOutcome(length)).toBe('partial')
  })
})

describe('a response', () => {
  it('never is a redirect', async () => {
    upstream.answerCall = (response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/mcp' }).end()
    const response = await post(call())
    expect([response.status, response.headers.get('location')]).toEqual([502, null])
  })

  const list = JSON.stringify({ jsonrpc: '2.0', id: 'ID', result: { tools: TOOLS } })
  it.each([
    ['a list', 'application/json', `[${list}]`, 502],
    ['a byte order mark', 'application/json', `\ufeff${list}`, 502],
    ['a method that is null', 'application/json', list.replace('"id"', '"method":null,"id"'), 502],
    ['another content type', 'text/plain; charset=utf-16', list, 200],
    ['mixed ends of lines', 'text/event-stream', `data: ${list}\n\r\n`, 200],
    ['a list in an event', 'text/event-stream', `data: [${list}]\n\n`, 200],
    ['an event with a name', 'text/event-stream', `event: x\rdata: ${list}\r\r`, 200],
  ])('never shows tools that are not granted: %s', async (_name, type, body, status) => {
    upstream.answerList = (response, { id }) =>
      void response.writeHead(200, { 'content-type': type }).end(body.replace('ID', String(id)))
    const response = await post(message('tools/list'))
    const text = await response.text()
    expect(response.status).toBe(status)
    expect(text).toMatch(/"read"|"error"/)
    expect(text).not.toContain('"write"')
  })

  it('keeps the status and the challenge of an error', async () => {
    upstream.answerCall = (response) => void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end('<html>')
    const response = await post(call())
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32_603 } })
  })
})
