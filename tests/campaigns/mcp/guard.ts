import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { JoinCertificate } from '@chancery/protocol'
import { createGatewayClient } from '@chancery/sdk/gateway'
import { createAuthorizer } from '@chancery/sdk'
import { authenticate } from '@chancery/sdk/nodejs'
import { freePort, type GatewayProcess, startGatewayProcess } from '@chancery/testkit'
import { type GuardedNetwork, openGuardedNetwork, raiseQuota, startProgram } from '../../mcp/guarded-network.ts'
import { type CampaignOptions, type CampaignResult, conclude } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'

export const summary =
  'tool calls through the MCP guard with kill -9 of guard, gateway and authority; no call without an allowed decision, no execution without a record'
/** Calls. One of three targets is killed after every 40. */
export const defaultCount = 2000

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const CALLS_PER_KILL = 40
const AT_ONCE = 4
const DRAIN_SECONDS = 120
const MOST_ATTEMPTS = 100
const PAUSE_MS = 100
const MOST_STARTS = 10
/** The reader of the test kit refuses a response with more than 50,000 values. */
const PAGE_ROWS = 100
/** One node makes all calls, faster than the limits for one node and one address allow. */
const PER_MINUTE = 1_000_000
const SETTINGS = Object.fromEntries(
  ['EVIDENCE', 'DECISION', 'DECISION_ADDRESS', 'DECISION_FAILURES', 'NODE', 'PUBLIC', 'READ'].map((name) => [
    `NA_RATE_LIMIT_${name}_PER_MINUTE`,
    String(PER_MINUTE),
  ]),
)

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const setup = await GuardSetup.open()
  let violations: readonly string[] = []
  try {
    for (let done = 0; done < count;) {
      const calls = Math.min(CALLS_PER_KILL, count - done)
      await Promise.all([setup.callAll(done, calls, random), setup.kill(random)])
      done += calls
      if (done % 400 === 0 || done === count)
        log(`${done} calls, ${setup.executed.length} executed, ${setup.kills} kills`)
    }
    violations = await setup.inspect()
    log(`responses: ${JSON.stringify(Object.fromEntries(setup.answers))}`)
  } finally {
    await setup.close()
  }
  return conclude(log, count, violations)
}

/** A tool server that asks the gateway about its callers, and a guard in front of it that asks the authority. */
class GuardSetup {
  readonly #network: GuardedNetwork
  readonly #gatewayEnv: Readonly<Record<string, string>>
  readonly #gatewayPort: number
  #gateway: GatewayProcess | undefined
  #server: Server | undefined
  #upstream = ''
  #guard: { readonly child: ChildProcess; readonly url: string } | undefined
  /** Tool and call number of each executed call. */
  readonly executed: string[] = []
  readonly answers = new Map<string, number>()
  readonly #unanswered: string[] = []
  kills = 0

  private constructor(network: GuardedNetwork, gateway: Readonly<Record<string, string>>, port: number) {
    this.#network = network
    this.#gatewayEnv = gateway
    this.#gatewayPort = port
  }

  static async open(): Promise<GuardSetup> {
    const network = await openGuardedNetwork(['mcp:files:read'], SETTINGS)
    const port = await freePort()
    const { folder, url } = network
    const { root_public_key } = JSON.parse(await readFile(join(folder, 'genesis.json'), 'utf8')) as {
      root_public_key: string
    }
    const init = ['gateway', 'init', '--authority', url, '--root-key', root_public_key, '--out', 'gateway']
    await network.chancery(...init, '--port', String(port), '--role', 'role:client')
    await raiseQuota(join(folder, 'gateway', 'policy.json'), PER_MINUTE)
    const settings = await readFile(join(folder, 'gateway', 'gateway.env'), 'utf8')
    const lines = settings.split('\n').flatMap((line) => {
      const [, name, value = ''] = /^([A-Z_]+)=(.*)$/.exec(line) ?? []
      return name === undefined ? [] : [[name, value.replaceAll(/^["']|["']$/g, '')] as const]
    })
    const setup = new GuardSetup(network, Object.fromEntries(lines), port)
    await setup.#startGateway()
    await setup.#startServer((await readFile(join(folder, 'gateway', 'caller.token'), 'utf8')).trim())
    const target = ['--upstream', setup.#upstream, '--prove', 'tools']
    await network.chancery('agent', 'guard-mcp', '--pin', '--home', 'agent', '--server', 'files', ...target)
    await setup.#startGuard()
    return setup
  }

  /** Makes calls, some at the same time. A third is of a tool that is not granted. */
  async callAll(first: number, count: number, random: Random): Promise<void> {
    const tools = Array.from({ length: count }, () => (random.chance(33) ? 'write' : 'read'))
    let next = 0
    const worker = async (): Promise<void> => {
      while (next < tools.length) {
        const at = next
        next += 1
        await this.#callUntilAnswered(tools[at] ?? 'read', `call-${first + at}`)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }

  /** Kills one of the three at any time, and starts it again. */
  async kill(random: Random): Promise<void> {
    const [target, delay, down] = [random.below(3), random.below(600), random.below(200)]
    await pause(delay)
    this.kills += 1
    if (target === 0) {
      await this.#stopGuard('SIGKILL')
      await pause(down)
      await this.#startGuard()
    } else if (target === 1) {
      await this.#gateway?.kill()
      await pause(down)
      await this.#startGateway()
    } else {
      await this.#network.authority.kill()
      await pause(down)
      await this.#network.restart()
    }
  }

  /** Waits until a new guard submitted all evidence, then compares it with what the server executed. */
  async inspect(): Promise<readonly string[]> {
    await this.#stopGuard('SIGKILL')
    await this.#startGuard()
    await this.#call('write', 'last')
    const violations: string[] = [...this.#unanswered]
    if (!(await this.#drained())) violations.push('evidence is still in the outbox')
    const allowed = new Map<string, string>()
    for (const { payload } of await this.#entries('decision')) {
      const { decision, context } = payload as unknown as DecisionPayload
      if (decision.authorized) allowed.set(decision.decision_id, context.request_parameters.path ?? '')
    }
    const records = new Map<string, number>()
    const used = new Set<string>()
    const executed = new Set(this.executed)
    for (const { payload } of await this.#entries('execution')) {
      const { path = '' } = payload['execution_parameters'] as { readonly path?: string }
      const decision = String(payload['decision_id'])
      records.set(path, (records.get(path) ?? 0) + 1)
      if (allowed.get(decision) !== path) violations.push(`the evidence of ${path} has no allowed decision`)
      if (used.has(decision)) violations.push(`the decision of ${path} was used twice`)
      used.add(decision)
      if (payload['outcome'] === 'success' && !executed.has(`read ${path}`))
        violations.push(`${path} has a record of success and was not executed`)
    }
    if (new Set(this.executed).size !== this.executed.length) violations.push('a call was executed twice')
    for (const line of this.executed) {
      const [tool, path = ''] = line.split(' ')
      if (tool !== 'read') violations.push(`${line} was executed without an allowed decision`)
      else if (records.get(path) !== 1)
        violations.push(`${path} was executed and has ${records.get(path) ?? 0} records`)
    }
    if (this.executed.length === 0) violations.push('no call was executed')
    return violations
  }

  async close(): Promise<void> {
    await this.#stopGuard('SIGKILL')
    await this.#gateway?.stop()
    this.#server?.close()
    this.#server?.closeAllConnections()
    await this.#network.close()
  }

  /** Calls again, under another name, while a target is down. Every attempt may have been executed. */
  async #callUntilAnswered(name: string, path: string): Promise<void> {
    let last = ''
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      last = await this.#call(name, `${path}.${attempt}`)
      this.answers.set(last, (this.answers.get(last) ?? 0) + 1)
      if (last === 'done' || last === 'Denied') return
      await pause(PAUSE_MS)
    }
    this.#unanswered.push(`${path} has no result after ${MOST_ATTEMPTS} attempts: ${last}`)
  }

  async #call(name: string, path: string): Promise<string> {
    const body = { jsonrpc: '2.0', id: path, method: 'tools/call', params: { name, arguments: { path } } }
    try {
      const response = await fetch(this.#guard?.url ?? '', {
        method: 'POST',
        headers: { ...HEADERS, ...(await this.#network.clientHeaders()) },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(30_000),
      })
      const { result, error } = (await response.json()) as {
        result?: { isError?: boolean; content: { text: string }[] }
        error?: { code?: number | string; message?: string }
      }
      if (result === undefined) return `${response.status} ${error?.code} ${error?.message?.slice(0, 40)}`
      return result.isError === true ? (result.content[0]?.text.split(/[ :]/)[0] ?? 'failed') : 'done'
    } catch {
      return 'no response'
    }
  }

  async #entries(kind: string): Promise<readonly { readonly payload: Record<string, unknown> }[]> {
    const all: { readonly payload: Record<string, unknown> }[] = []
    for (let after: number | null = 0; after !== null;) {
      const target = `/admin/evidence?entry_kind=${kind}&limit=${PAGE_ROWS}&after_sequence=${after}`
      const { status, json } = await this.#network.authority.as('privileged')('GET', target)
      if (status !== 200 || json === undefined) throw new Error(`${target} gave ${status} and no JSON that can be read`)
      const page = json as unknown as { entries: typeof all; next_after_sequence: number | null }
      all.push(...page.entries)
      after = page.next_after_sequence
    }
    return all
  }

  async #drained(): Promise<boolean> {
    const folder = join(this.#network.folder, 'agent', 'mcp', 'files', 'outbox')
    for (let tries = 0; tries < DRAIN_SECONDS * 10; tries += 1) {
      const names = await readdir(folder, { recursive: true })
      if (!names.some((name) => name.endsWith('.json'))) return true
      await pause(100)
    }
    return false
  }

  /** While the gateway was down, another connection of this machine may have got its port. */
  async #startGateway(): Promise<void> {
    for (let tries = 0; tries < MOST_STARTS; tries += 1) {
      this.#gateway = await startGatewayProcess(this.#gatewayEnv, this.#gatewayPort)
      if (this.#gateway !== undefined) return
      await pause(PAUSE_MS)
    }
    throw new Error('the gateway ended at its start')
  }

  async #startServer(token: string): Promise<void> {
    const gateway = createGatewayClient({
      url: `http://127.0.0.1:${this.#gatewayPort}`,
      token,
      retry: false,
      timeoutMs: 5000,
    })
    const authorizer = createAuthorizer({ audience: 'tools', trust: gateway })
    this.#server = createServer(
      authenticate(authorizer, (_request, response, { body }) => {
        const asked: unknown = JSON.parse(body.toString('utf8'))
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(this.#serve(asked)))
      }),
    )
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#upstream = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`
  }

  #serve(body: unknown): object {
    const { id, method, params } = body as { id: unknown; method: string; params?: Record<string, unknown> }
    if (method === 'tools/list') {
      const tools = ['read', 'write'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } }))
      return { jsonrpc: '2.0', id, result: { tools } }
    }
    if (method !== 'tools/call') return { jsonrpc: '2.0', id, result: {} }
    const { name, arguments: given } = params as { name: string; arguments: { path: string } }
    this.executed.push(`${name} ${given.path}`)
    return { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } }
  }

  async #startGuard(): Promise<void> {
    const target = ['--upstream', this.#upstream, '--prove', 'tools', '--listen', '127.0.0.1:0']
    const { child, line } = await startProgram(this.#network.guard(...target))
    this.#guard = { child, url: line.replace('listening on ', '') }
  }

  async #stopGuard(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#guard?.child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }
}

interface DecisionPayload {
  readonly decision: { readonly decision_id: string; readonly authorized: boolean }
  readonly context: { readonly request_parameters: { readonly path?: string } }
}
