import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENVIRONMENT, type GuardedNetwork, openGuardedNetwork } from '../mcp/guarded-network.ts'
import { loadClientPackage } from '../mcp/official-packages.ts'
import type { ClientPackage, OfficialClient, ToolResult } from '../mcp/official-packages.ts'

/**
 * The official client and server of the Model Context Protocol with a guard in between: both protocol eras, at standard
 * input and output and over HTTP.
 */
const SERVER = fileURLToPath(new URL('../mcp/official-server.ts', import.meta.url))

let network = undefined as unknown as GuardedNetwork
let official: ClientPackage
let upstream: string
let listening: string
let secret: Record<string, string>
const children: ChildProcess[] = []
const serverWords = (): string[] => [process.execPath, SERVER, join(network.folder, 'executed')]

beforeAll(async () => {
  official = await loadClientPackage()
  network = await openGuardedNetwork(['mcp:files:read', 'mcp:files:fail'])
  const port = await firstLine([...serverWords(), 'http'])
  upstream = `http://127.0.0.1:${port}/mcp`
  await network.chancery('agent', 'guard-mcp', '--pin', '--home', 'agent', '--server', 'files', '--', ...serverWords())
  const line = await firstLine(network.guard('--upstream', upstream, '--listen', '127.0.0.1:0'))
  listening = line.replace('listening on ', '')
  secret = await network.clientHeaders()
})
afterAll(async () => {
  for (const child of children) {
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  await network.close()
})

/** Starts a program that stays, and returns its first line. */
async function firstLine([command = '', ...args]: readonly string[]): Promise<string> {
  const child = spawn(command, args, { env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'inherit'], cwd: network.folder })
  children.push(child)
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return line
}

function stdioTransport(): object {
  const [command = '', ...args] = network.guard('--', ...serverWords())
  return new official.StdioClientTransport({ command, args, env: ENVIRONMENT, cwd: network.folder, stderr: 'ignore' })
}

const textOf = ({ content: [first] }: ToolResult): string => first?.text ?? ''

async function executed(): Promise<string[]> {
  const text = await readFile(join(network.folder, 'executed'), 'utf8').catch(() => '')
  return text.split('\n').slice(0, -1)
}

interface Execution {
  readonly outcome: string
  readonly execution_parameters: { readonly path?: string }
}

async function executions(): Promise<readonly Execution[]> {
  const { json } = await network.authority.as('privileged')('GET', '/admin/evidence?entry_kind=execution&limit=1000')
  return (json as unknown as { entries: { payload: Execution }[] }).entries.map(({ payload }) => payload)
}

describe.each([
  ['legacy', 'stdio'],
  ['auto', 'stdio'],
  ['legacy', 'http'],
  ['auto', 'http'],
] as const)('an official client in mode %s over %s', (mode, transport) => {
  let client: OfficialClient
  beforeAll(async () => {
    client = new official.Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
    await client.connect(
      transport === 'stdio'
        ? stdioTransport()
        : new official.StreamableHTTPClientTransport(new URL(listening), { requestInit: { headers: secret } }),
    )
  })
  afterAll(() => client.close())

  it('speaks the era of its mode', () => {
    expect(client.getNegotiatedProtocolVersion()).toBe(mode === 'auto' ? '2026-07-28' : '2025-11-25')
  })

  it('lists granted tools only', async () => {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name).toSorted()).toEqual(['fail', 'read'])
  })

  it('calls an allowed tool, which leaves evidence', async () => {
    const path = `${mode}-${transport}`
    const result = await client.callTool({ name: 'read', arguments: { path } })
    expect([textOf(result), result.isError ?? false]).toEqual([`read ${path}`, false])
    expect(await executed()).toContain(`read ${path}`)
    await expect
      .poll(async () => (await executions()).filter((each) => each.execution_parameters.path === path))
      .toMatchObject([{ outcome: 'success' }])
  })

  it('gets the result of a tool that fails, and the evidence states the failure', async () => {
    const before = (await executions()).filter(({ outcome }) => outcome === 'failure').length
    expect(await client.callTool({ name: 'fail', arguments: {} })).toMatchObject({ isError: true })
    await expect
      .poll(async () => (await executions()).filter(({ outcome }) => outcome === 'failure').length)
      .toBe(before + 1)
  })

  it('gets a result with the reason for a denied tool, which is not executed', async () => {
    const result = await client.callTool({ name: 'write', arguments: { path: 'x' } })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/^Denied: capability out of scope .*Decision .*Needed: .*mcp:files:write/)
    expect((await executed()).filter((line) => line.startsWith('write'))).toEqual([])
  })
})

describe('over HTTP', () => {
  const post = (headers: Record<string, string>, body: object = { jsonrpc: '2.0', id: 1, method: 'tools/list' }) =>
    fetch(listening, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...secret,
        ...headers,
      },
      body: JSON.stringify(body),
    })

  it('refuses the origin of a web page', async () => {
    expect((await post({ origin: 'https://page.example' })).status).toBe(403)
  })

  it('refuses a header that names another tool than the body', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read', arguments: {} } }
    const before = await executed()
    const response = await post({ 'mcp-method': 'tools/call', 'mcp-name': 'write' }, call)
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: -32_020 } }])
    expect((await post({ 'mcp-method': 'ping' }, call)).status).toBe(400)
    expect(await executed()).toEqual(before)
  })

  it('forbids caches to store a list', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
    }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } }
    const response = await post({ 'mcp-method': 'tools/list', 'mcp-protocol-version': '2026-07-28' }, body)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.text()).toContain('"cacheScope":"private"')
  })

  it('refuses a method that is not known, with 403', async () => {
    const response = await post({}, { jsonrpc: '2.0', id: 1, method: 'tools/execute' })
    expect([response.status, await response.json()]).toMatchObject([403, { error: { code: 40_301 } }])
  })
})
