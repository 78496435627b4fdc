import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GuardNetwork, GuardSession, type Json, inSession, openGuardNetwork } from './guard-session.suite.ts'

let network = undefined as unknown as GuardNetwork
beforeAll(async () => {
  const granted = ['read', 'fail', 'hang', 'exit', 'change'].map((tool) => `mcp:files:${tool}`)
  const rules = 'tools:\n  read: { parameters: [path] }\nmethods:\n  custom/run: pass\n'
  network = await openGuardNetwork(granted, rules)
  await network.pin()
})
afterAll(() => network.close())

const textOf = (response: Json): string =>
  (response as { result: { content: { text: string }[] } }).result.content[0]?.text ?? ''

async function outcomesOf(tool: string): Promise<unknown[]> {
  const records = await network.executions()
  return records.filter((each) => each['executed_capability'] === `mcp:files:${tool}`).map(({ outcome }) => outcome)
}

const withSession = (work: (session: GuardSession) => Promise<void>): Promise<void> => inSession(network, work)

describe('tools/call', () => {
  it('passes an allowed call on and leaves evidence with its named arguments', () =>
    withSession(async (session) => {
      expect(textOf(await session.call('read', { path: '/a', text: 'private' }))).toBe('done read')
      const newest = (await network.executions()).at(-1)
      expect(newest).toMatchObject({
        outcome: 'success',
        executed_capability: 'mcp:files:read',
        execution_parameters: { path: '/a', mcp: { server: 'files', tool: 'read' } },
      })
      expect(JSON.stringify(newest)).not.toContain('private')
    }))

  it('passes on what it read and no received bytes, so that no reader finds a second message', () =>
    withSession(async (session) => {
      const before = await network.executed()
      const hidden = '{"jsonrpc":"2.0","id":"h","method":"tools/call","params":{"name":"write"}}'
      session.send(`{"jsonrpc":"2.0","id":"cr","method":"ping","params":{"a":\r${hidden}\r}}`)
      expect(await session.response('cr')).toMatchObject({ result: { method: 'ping' } })
      expect(await network.executed()).toEqual(before)
      expect(session.received.some(({ id }) => id === 'h')).toBe(false)
    }))

  it('refuses parameters that no decision covers, and has a digest of the others in the evidence', () =>
    withSession(async (session) => {
      const before = (await network.executed()).length
      const unknown = await session.ask('tools/call', { name: 'read', arguments: {}, args: { path: '/b' } })
      expect(unknown).toMatchObject({ error: { code: -32_602 } })
      expect(await session.ask('tasks/update', { taskId: 't' })).toMatchObject({ error: { code: 40_301 } })
      expect((await network.executed()).length).toBe(before)
      await session.ask('tools/call', { name: 'read', requestState: 's', inputResponses: {} })
      expect((await network.executions()).at(-1)).toMatchObject({
        execution_parameters: { mcp: { input_digest: expect.stringMatching(/^[0-9a-f]{64}$/) } },
      })
    }))

  it('records a failed call as a failure', () =>
    withSession(async (session) => {
      expect(await session.call('fail')).toMatchObject({ result: { isError: true } })
      expect((await network.executions()).at(-1)).toMatchObject({ outcome: 'failure' })
    }))

  it('never passes a denied call on, and returns reason, decision and need', () =>
    withSession(async (session) => {
      const before = await network.executed()
      const response = await session.call('write')
      expect(response).toMatchObject({ result: { isError: true, resultType: 'complete' } })
      expect(textOf(response)).toMatch(
        /^Denied: capability out of scope .*\. Decision [0-9a-f-]{36}\. Needed: .*mcp:files:write/,
      )
      expect(await network.executed()).toEqual(before)
    }))

  it('refuses a tool that the server does not list', () =>
    withSession(async (session) => {
      const before = await network.executed()
      expect(textOf(await session.call('absent'))).toContain('the server does not list the tool absent')
      expect(await session.ask('tools/call', { arguments: {} })).toMatchObject({ error: { code: -32_602 } })
      expect(await network.executed()).toEqual(before)
    }))

  it('records a call without a response as partial, when the client ends', async () => {
    const { length } = await network.executions()
    const session = new GuardSession(network)
    session.send({ jsonrpc: '2.0', id: 'h', method: 'tools/call', params: { name: 'hang' } })
    const before = (await network.executed()).length
    await expect.poll(async () => (await network.executed()).length).toBeGreaterThan(before - 1)
    await expect.poll(async () => (await network.executed()).at(-1)).toBe('hang')
    await session.end()
    const records = await network.executions()
    expect(records.length).toBe(length + 1)
    expect(records.at(-1)).toMatchObject({ outcome: 'partial' })
  })

  it('reports a server that ends during a call, and records the call as partial', async () => {
    const session = new GuardSession(network)
    session.send({ jsonrpc: '2.0', id: 'e', method: 'tools/call', params: { name: 'exit' } })
    expect(await session.response('e')).toMatchObject({ error: { code: -32_603 } })
    expect(await session.ended).toBe(1)
    expect(session.notes).toContain('The server ended with code 3')
    expect((await network.executions()).at(-1)).toMatchObject({ outcome: 'partial' })
  })

  it('passes a cancellation on, and sends no response to the cancelled call', () =>
    withSession(async (session) => {
      const before = (await network.executed()).length
      const hung = (await outcomesOf('hang')).length
      session.send({ jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'hang' } })
      await expect.poll(async () => (await network.executed()).length).toBe(before + 1)
      session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } })
      await expect.poll(() => session.received.some(({ method }) => method === 'notifications/message')).toBe(true)
      await expect.poll(async () => (await outcomesOf('hang')).slice(hung)).toEqual(['partial'])
      expect(session.received.some(({ id }) => id === 'c')).toBe(false)
    }))

  it('states the outcome of its own call when the client uses the id of a cancelled one again', () =>
    withSession(async (session) => {
      const [hung, read] = [(await outcomesOf('hang')).length, (await outcomesOf('read')).length]
      const executed = (await network.executed()).length
      session.send({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'hang' } })
      await expect.poll(async () => (await network.executed()).length).toBe(executed + 1)
      session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } })
      await expect.poll(async () => (await outcomesOf('hang')).slice(hung)).toEqual(['partial'])
      // The example server now responds to the first call with an error, and only then to the second.
      session.send({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'read', arguments: { late: true } } })
      expect(textOf(await session.response(7))).toBe('done read')
      await expect.poll(async () => (await outcomesOf('read')).slice(read)).toEqual(['success'])
    }))
})

describe('tools/list', () => {
  it('shows pinned and granted tools only', () =>
    withSession(async (session) => {
      const response = (await session.ask('tools/list')) as { result?: { tools: { name: string }[] } }
      expect(response.result?.tools.map(({ name }) => name)).toEqual(['read'])
    }))

  it('refuses and hides a tool that changed since it was pinned, and names the command', () =>
    withSession(async (session) => {
      expect(textOf(await session.call('change'))).toBe('done change')
      const before = await network.executed()
      const refused = textOf(await session.call('read'))
      expect(refused).toContain('changed since it was pinned')
      expect(refused).toMatch(/approves it with: chancery agent guard-mcp --pin --server files$/)
      const response = (await session.ask('tools/list')) as { result?: { tools: { name: string }[] } }
      expect(response.result?.tools).toEqual([])
      expect(await network.executed()).toEqual(before)
    }))

  it('refuses every tool without pins', async () => {
    await rm(network.setup.path('agent', 'mcp', 'files', 'pins.json'))
    await withSession(async (session) => {
      expect(textOf(await session.call('read'))).toContain('the tool read is not pinned')
    })
    expect(await network.pin()).toContain('Pinned 6 tools of files.')
  })
})

describe('other messages', () => {
  it('passes harmless methods, requests of the server and responses of the client on', () =>
    withSession(async (session) => {
      expect(await session.ask('ping')).toMatchObject({ result: { method: 'ping' } })
      expect(await session.ask('custom/run')).toMatchObject({ result: { method: 'custom/run' } })
      session.send({ jsonrpc: '2.0', id: 'from-server', result: { roots: [] } })
      await expect
        .poll(() => session.received.map(({ params }) => (params as { data?: string } | undefined)?.data))
        .toContain('response received')
    }))

  it('refuses unknown methods', () =>
    withSession(async (session) => {
      expect(await session.ask('tools/execute')).toMatchObject({ error: { code: 40_301 } })
    }))

  it.each([
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}}]', -32_600],
    [
      'a repeated member',
      '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"read"}}',
      -32_700,
    ],
    [
      'a member in capitals',
      '{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call","params":{"name":"read"}}',
      -32_600,
    ],
    [
      'a parameter in capitals',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","NAME":"write"}}',
      -32_600,
    ],
    ['an id that is a list', '{"jsonrpc":"2.0","id":[1],"method":"tools/call","params":{"name":"read"}}', -32_600],
  ])('refuses %s, which a server could read differently', async (_name, line, code) => {
    const before = await network.executed()
    const session = new GuardSession(network)
    session.send(line)
    await expect.poll(() => session.received.length).toBe(1)
    expect(session.received[0]).toMatchObject({ error: { code } })
    await session.end()
    expect(await network.executed()).toEqual(before)
  })

  it('drops a tool call that is sent as a notification', () =>
    withSession(async (session) => {
      const before = await network.executed()
      session.send({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'read' } })
      await session.ask('ping')
      expect(await network.executed()).toEqual(before)
    }))

  it('refuses a second request with the id of a running one', () =>
    withSession(async (session) => {
      const before = (await network.executed()).length
      session.send({ jsonrpc: '2.0', id: 'same', method: 'tools/call', params: { name: 'hang' } })
      await expect.poll(async () => (await network.executed()).length).toBe(before + 1)
      session.send({ jsonrpc: '2.0', id: 'same', method: 'tools/list' })
      expect(await session.response('same')).toMatchObject({ error: { code: -32_600 } })
    }))
})

describe('start', () => {
  it('writes and submits nothing when a client only asks for the protocol version', async () => {
    await rm(network.setup.path('agent', 'mcp', 'files', 'outbox'), { recursive: true, force: true })
    const session = new GuardSession(network)
    await session.ask('server/discover')
    await session.end()
    expect(await readdir(network.setup.path('agent', 'mcp', 'files'))).toEqual(['pins.json'])
  })

  it('reports evidence that cannot be read and evidence that the authority refused', async () => {
    const folder = network.setup.path('agent', 'mcp', 'files', 'outbox', '1')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, '000000000001.json'), 'damaged')
    const content = { state: 'dead_letter', record: { evidence_id: 'e-1' }, attempts: 1, next_attempt_at: null }
    const entry = { format: 'gm.evidence.outbox.v1', ...content, code: 'invalid_request' }
    await writeFile(join(folder, '000000000002.json'), JSON.stringify(entry))
    await withSession(async (session) => {
      await expect.poll(() => session.notes).toContain('evidence cannot be read: 000000000001.json.unreadable')
      await expect.poll(() => session.notes).toContain('evidence was refused: e-1 (invalid_request)')
    })
    await rm(folder, { recursive: true })
  })

  it('ends the server when a line of the client is too long, and ignores an odd id of a cancellation', async () => {
    const session = new GuardSession(network)
    session.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740993}}')
    await session.ask('ping')
    await rm(network.setup.path('executed.end'), { force: true })
    session.stdin.write('x'.repeat(17 * 1024 * 1024))
    expect(await session.ended).not.toBe(0)
    await expect.poll(() => readFile(network.setup.path('executed.end'), 'utf8').catch(() => '')).toBe('ended')
  })

  it('lets two guards of one server work at the same time', () =>
    withSession((one) =>
      withSession(async (two) => {
        expect(textOf(await one.call('read'))).toBe('done read')
        expect(textOf(await two.call('read'))).toBe('done read')
      }),
    ))

  it('refuses rules with unknown members, a missing server name and two servers', async () => {
    const run = (line: string): ReturnType<GuardNetwork['run']> => network.run(line)
    const rules = await readFile(network.setup.path('agent', 'mcp.yaml'), 'utf8')
    await writeFile(network.setup.path('agent', 'bad.yaml'), `${rules}tols: {}\n`)
    const bad = await run('agent guard-mcp --home agent --server files --rules agent/bad.yaml -- true')
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining('tols is not a member')])
    expect((await run('agent guard-mcp --home agent -- true')).stderr).toContain('--server is missing')
    expect((await run('agent guard-mcp --home agent --server files')).code).toBe(2)
    expect((await run('agent guard-mcp --home agent --server files --upstream http://x -- true')).code).toBe(2)
    expect((await run('agent guard-mcp --home agent --server ../x -- true')).stderr).toContain('--server is not usable')
  })
})
