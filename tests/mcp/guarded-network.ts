import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { writePrivateKeyFile } from '@chancery/protocol'
import {
  COMPILE_CACHE,
  EndedAtStartError,
  createTestDatabase,
  createTestNetwork,
  startAuthorityProcess,
  testSeed,
} from '@chancery/testkit'
import type { AuthorityProcess } from '@chancery/testkit'

const MAIN = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url))

/** The command line from sources, as a client starts it. */
export const CHANCERY: readonly string[] = [process.execPath, '--conditions=development', MAIN]
export const ENVIRONMENT: Record<string, string> = { ...(process.env as Record<string, string>), ...COMPILE_CACHE }

const START_MS = 60_000
const MOST_STARTS = 10

/** Starts a program that stays, and waits for its first line. Throws with what it reported when it ends before. */
export async function startProgram(
  [command = '', ...args]: readonly string[],
  cwd?: string,
): Promise<{ readonly child: ChildProcess; readonly line: string }> {
  const child = spawn(command, args, {
    env: ENVIRONMENT,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  })
  let notes = ''
  child.stderr.on('data', (chunk: Buffer) => {
    notes = `${notes}${chunk.toString()}`.slice(-2000)
  })
  const lines = createInterface({ input: child.stdout })
  const first = once(lines, 'line', { signal: AbortSignal.timeout(START_MS) })
  const ended = once(child, 'exit').then(() => undefined)
  const line = await Promise.race([first, ended])
  if (line === undefined) throw new Error(`${command} ended at its start: ${notes}`)
  return { child, line: String(line[0]) }
}

/** A network with a node in `agent` that may call tools of the server `files`, and the rules of its guard. */
export interface GuardedNetwork {
  readonly folder: string
  readonly url: string
  authority: AuthorityProcess
  chancery(...words: readonly string[]): Promise<string>
  /** The words that start a guard. */
  guard(...words: readonly string[]): readonly string[]
  /** The header that a client of a guard over HTTP sends. The guard makes the secret at its first start. */
  clientHeaders(): Promise<Record<string, string>>
  /** Starts the authority again at the same address, after a kill. */
  restart(): Promise<void>
  close(): Promise<void>
}

const SETTINGS = {
  EVIDENCE_STORE: 'on',
  NA_NODE_DECISIONS: 'own',
  NA_ANCHOR_INTERVAL_SECONDS: '0',
  NA_RATE_LIMIT_ADMIN_PER_MINUTE: '100000',
  NA_CLOCK_CHECK: 'off',
}

export async function openGuardedNetwork(
  capabilities: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<GuardedNetwork> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-mcp-'))
  const [network, database] = [await createTestNetwork('MCP-NET'), await createTestDatabase('sqlite')]
  const start = (port?: string): Promise<AuthorityProcess> =>
    startAuthorityProcess({
      network,
      settings: { ...database.settings, ...SETTINGS, ...settings, ...(port === undefined ? {} : { PORT: port }) },
    })
  const authority = await start()
  const { url } = authority
  const genesis = join(folder, 'genesis.json')
  await copyFile(network.settings['GENESIS_FILE'] ?? '', genesis)
  await writeFile(join(folder, 'operator.key'), writePrivateKeyFile(testSeed('op-privileged'), 'op-privileged'), {
    mode: 0o600,
  })
  await writeFile(
    join(folder, 'chancery.toml'),
    `[network]\nname = "MCP-NET"\nna_endpoint = "${url}"\n[paths]\ngenesis = "genesis.json"\noperator_private_key = "operator.key"\n`,
  )
  const chancery = async (...words: readonly string[]): Promise<string> => {
    const [command = '', ...before] = CHANCERY
    const run = promisify(execFile)(command, [...before, ...words], { cwd: folder, env: ENVIRONMENT })
    run.child.stdin?.end()
    return (await run).stdout
  }
  await chancery('invite create', '--role', 'role:client', '--out', 'agent.token')
  await chancery('join', '--home', 'agent', '--url', url, '--genesis', genesis, '--token-file', 'agent.token')
  await chancery('keygen', 'executor', '--out', 'executor', '--key-id', 'guard-1')
  await chancery('evidence', 'key', 'add', 'guard-1', '--public-key', 'executor.pub', '--executor', 'agent-1')
  const flags = capabilities.flatMap((each) => ['--capability', each])
  const issue = ['attestation', 'issue', 'agent-1', '--role', 'role:client', '--public-key', 'agent/node.pub']
  await chancery(...issue, ...flags, '--out', 'agent/attestation.json')
  await writeFile(
    join(folder, 'agent', 'mcp.yaml'),
    'attestation: attestation.json\nexecutor: agent-1\nexecutor_key: ../executor.key\ntools:\n  read: { parameters: [path] }\n',
  )
  const setup: GuardedNetwork = {
    folder,
    url,
    authority,
    chancery,
    guard: (...words) => [
      ...CHANCERY,
      'agent',
      'guard-mcp',
      '--home',
      join(folder, 'agent'),
      '--server',
      'files',
      ...words,
    ],
    clientHeaders: () => readClientHeaders(join(folder, 'agent', 'mcp', 'files', 'client.secret')),
    restart: async () => {
      setup.authority = await startAgain(() => start(new URL(url).port))
    },
    close: async () => {
      await setup.authority.stop()
      await database.drop()
      await network.remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
  return setup
}

async function readClientHeaders(file: string): Promise<Record<string, string>> {
  return { 'chancery-client-secret': (await readFile(file, 'utf8')).trim() }
}

/** While an authority was down, another connection of this machine may have got its port. */
async function startAgain(start: () => Promise<AuthorityProcess>): Promise<AuthorityProcess> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start()
    } catch (error) {
      if (!(error instanceof EndedAtStartError) || tries === MOST_STARTS) throw error
      await pause(100)
    }
  }
}

/** Raises the quota of all clients of a gateway: the server of a campaign asks it about each call. */
export async function raiseQuota(policyFile: string, perMinute: number): Promise<void> {
  const policy = JSON.parse(await readFile(policyFile, 'utf8')) as { clients: { requests_per_minute: number }[] }
  for (const client of policy.clients) client.requests_per_minute = perMinute
  await writeFile(policyFile, JSON.stringify(policy))
}
