import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '@chancery/testkit'
import { openGuardedNetwork, startProgram } from './guarded-network.ts'
import { loadClientPackage } from './official-packages.ts'

/**
 * Runs the server suite of the published MCP conformance package against two servers, directly and through a guard,
 * and compares every check: `node --conditions=development tests/mcp/conformance.ts [example|own]`. One server is an official
 * example, the other has what all scenarios call. npx downloads suite and example, so this is no part of CI. Prints a
 * table, and exits with 1 when a check differs.
 */
const SUITE = '@modelcontextprotocol/conformance@0.1.16'
const EXAMPLE = '@modelcontextprotocol/server-everything@2026.8.31'
const OWN = fileURLToPath(new URL('conformance-server.ts', import.meta.url))

/** Methods that a guard decides by default, besides calls of tools. */
const DECIDED = ['prompts/get', 'resources/read', 'resources/subscribe', 'completion/complete', 'subscriptions/listen']
const START_MS = 300_000
const RUN_MS = 600_000

/** Results by scenario: the checks in their order, each as id and status. */
type Results = ReadonlyMap<string, readonly string[]>

interface RunningServer {
  readonly child: ChildProcess
  readonly url: string
}

process.exitCode = await main()

async function main(): Promise<number> {
  const only = process.argv[2]
  const differences: number[] = []
  if (only !== 'own') differences.push(await compare(EXAMPLE, startExample))
  if (only !== 'example') differences.push(await compare('official packages (conformance-server.ts)', startOwn))
  return differences.every((count) => count === 0) ? 0 : 1
}

/** Returns the number of scenarios with different results. */
async function compare(name: string, start: () => Promise<RunningServer>): Promise<number> {
  const server = await start()
  try {
    // The rights of the guard are those of all tools: the suite tests the messages, not the decisions.
    const tools = await listTools(server.url)
    const network = await openGuardedNetwork([...tools, ...DECIDED].map((each) => `mcp:files:${each}`))
    try {
      await network.chancery(
        'agent',
        'guard-mcp',
        '--pin',
        '--home',
        'agent',
        '--server',
        'files',
        '--upstream',
        server.url,
      )
      const guard = await startProgram(network.guard('--upstream', server.url, '--listen', '127.0.0.1:0'))
      const client = await startClient(new URL(guard.line.replace('listening on ', '')), await network.clientHeaders())
      try {
        const without = await runSuite(server.url)
        return report(name, without, await runSuite(client.url))
      } finally {
        client.close()
        await stop(guard.child)
      }
    } finally {
      await network.close()
    }
  } finally {
    await stop(server.child)
  }
}

/** The suite cannot send the client secret, so this adds it to each request. */
async function startClient(
  target: URL,
  secret: Record<string, string>,
): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer((request, response) => {
    const headers = { ...request.headers, ...secret }
    const sent = httpRequest(target, { method: request.method ?? 'GET', headers }, (received) => {
      response.writeHead(received.statusCode ?? 502, received.headers)
      received.pipe(response)
    })
    sent.on('error', () => response.destroy())
    response.on('close', () => sent.destroy())
    request.pipe(sent)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${target.pathname}`, close }
}

async function startOwn(): Promise<RunningServer> {
  const { child, line } = await startProgram([process.execPath, OWN])
  return { child, url: `http://127.0.0.1:${line}/mcp` }
}

async function startExample(): Promise<RunningServer> {
  const port = String(await freePort())
  const env = { ...process.env, PORT: port }
  const child = spawn('npx', ['--yes', EXAMPLE, 'streamableHttp'], { env, stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}/mcp`
  for (const end = performance.now() + START_MS; performance.now() < end; await pause(200)) {
    if (child.exitCode !== null) throw new Error(`${EXAMPLE} ended at its start`)
    const isListening = await fetch(url).then(
      () => true,
      () => false,
    )
    if (isListening) return { child, url }
  }
  await stop(child)
  throw new Error(`${EXAMPLE} did not start`)
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function listTools(url: string): Promise<readonly string[]> {
  const { Client, StreamableHTTPClientTransport } = await loadClientPackage()
  const client = new Client({ name: 'conformance', version: '1.0.0' }, {})
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  const { tools } = await client.listTools()
  await client.close()
  return tools.map(({ name }) => name)
}

/** The exit code is 1 when a check fails, so only the stored results count. */
async function runSuite(url: string): Promise<Results> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-conformance-'))
  try {
    const args = ['--yes', SUITE, 'server', '--url', url, '--suite', 'all', '--output-dir', folder]
    await new Promise<void>((resolve) => {
      execFile('npx', args, { timeout: RUN_MS, maxBuffer: 64 * 1024 * 1024 }, () => resolve())
    })
    const results = new Map<string, readonly string[]>()
    for (const name of (await readdir(folder)).toSorted()) {
      const text = await readFile(join(folder, name, 'checks.json'), 'utf8')
      const checks = JSON.parse(text) as { readonly id: string; readonly status: string }[]
      const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '')
      results.set(
        scenario,
        checks.map(({ id, status }) => `${id} ${status}`),
      )
    }
    if (results.size === 0) throw new Error(`${SUITE} stored no results`)
    return results
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function report(name: string, without: Results, through: Results): number {
  const scenarios = [...new Set([...without.keys(), ...through.keys()])].toSorted()
  print(`\n${name}\n\n| Scenario | Direct | Through the guard | Result |\n|---|---|---|---|`)
  let different = 0
  for (const scenario of scenarios) {
    const [one = [], two = []] = [without.get(scenario), through.get(scenario)]
    const result = resultOf(one, two)
    if (result === 'differs') different += 1
    print(`| ${scenario} | ${countOf(one)} | ${countOf(two)} | ${result} |`)
    if (one.join() !== two.join())
      process.stderr.write(`${scenario}\n  direct: ${one.join(', ')}\n  guard: ${two.join(', ')}\n`)
  }
  const [all, passed] = [[...through.values()].flat(), [...through.values()].flat().filter(isPassed)]
  print(
    `\n${scenarios.length} scenarios, ${different} different; through the guard ${passed.length} of ${all.length} passed`,
  )
  return different
}

/** A server that lacks what a scenario calls passes no check of it, and errors have several forms. */
function resultOf(direct: readonly string[], guarded: readonly string[]): string {
  if (direct.join() === guarded.join()) return 'same'
  if (![...direct, ...guarded].some(isPassed)) return 'passes neither way'
  const isBetter = direct.every((check, at) => check === guarded[at] || isPassed(guarded[at] ?? ''))
  return isBetter && direct.length === guarded.length ? 'better' : 'differs'
}

function isPassed(check: string): boolean {
  return check.endsWith(' SUCCESS')
}

function countOf(checks: readonly string[]): string {
  return `${checks.filter(isPassed).length} of ${checks.length}`
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
