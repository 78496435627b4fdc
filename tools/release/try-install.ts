import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '@chancery/testkit'

/**
 * What every way to install Chancery must be able to do, tried on what was installed: the image, the packed packages,
 * the single file. Each step throws when it fails; `say` reports what was done.
 */

export interface Installed {
  /** Starts the command `chancery` as it was installed, with pipes for output. */
  spawn(args: readonly string[]): ChildProcess
  /** A folder it may write, as it sees it and as this process sees it. */
  readonly inside: string
  readonly outside: string
  readonly say: (line: string) => void
  /** How long a service may take to start. Default: 60. */
  readonly readySeconds?: number
}

const READY_SECONDS = 60

/** A program on this machine, with this environment and no other, at work in `folder`. */
export function programIn(
  folder: string,
  program: string,
  env: Readonly<Record<string, string>>,
  say: Installed['say'],
): Installed {
  return {
    inside: folder,
    outside: folder,
    say,
    spawn: (args) => spawn(program, args, { cwd: folder, env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'] }),
  }
}

/** The commands that need no service. */
export async function tryCommands(installed: Installed, version: string): Promise<void> {
  const said = await output(installed, ['--version'])
  if (said.trim() !== version) throw new Error(`--version said ${said}`)
  const help = await output(installed, ['--help'])
  if (!help.includes('authority') || !help.includes('gateway')) throw new Error('--help names no services')
  installed.say(`--version says ${version}, --help names the services`)
}

/** init, start, ready, pages, a record verified, a node joined, the configuration of a gateway checked, and a clean stop. */
export async function tryAuthority(installed: Installed, whileReady?: (url: string) => Promise<void>): Promise<void> {
  const { inside, outside, say } = installed
  const port = await freePort()
  await output(installed, ['init', '--home', `${inside}/na`, '--network', 'TRIAL-NET', '--port', String(port)])
  const started = performance.now()
  const service = installed.spawn(['authority', 'start', '--env-file', `${inside}/na/authority.env`])
  const log = collect(service)
  const ended = once(service, 'exit')
  const url = `http://127.0.0.1:${port}`
  try {
    await untilReady(url, service, log, installed.readySeconds)
    say(`init, authority start: ready after ${Math.round(performance.now() - started)} ms`)
    for (const path of ['/', '/operator-console-static/console.js', '/operator-console-static/styles.css'])
      if ((await fetch(url + path)).status !== 200) throw new Error(`${path} is not served`)
    say('pages and console are served')
    const crl = await fetch(`${url}/crl`)
    await writeFile(join(outside, 'crl.json'), await crl.text())
    await output(installed, ['verify', `${inside}/crl.json`, '--genesis', `${inside}/na/genesis.json`])
    say('its list of revocations holds: chancery verify')
    await tryJoin(installed, url)
    await tryGateway(installed)
    await whileReady?.(url)
    service.kill('SIGTERM')
    const [code] = (await ended) as [number | null]
    if (code !== 0) throw new Error(`SIGTERM ended it with ${code}\n${log()}`)
    say('SIGTERM ends it with 0')
  } finally {
    service.kill('SIGKILL')
  }
}

/** A node joins with an invite and sends a heartbeat. */
async function tryJoin(installed: Installed, url: string): Promise<void> {
  const { inside, say } = installed
  const invite = ['--role', 'role:client', '--out', `${inside}/invite.token`]
  await output(installed, ['invite', 'create', '--home', `${inside}/na`, ...invite])
  const where = ['--url', url, '--genesis', `${inside}/na/genesis.json`]
  await output(installed, ['join', '--home', `${inside}/node`, ...where, '--token-file', `${inside}/invite.token`])
  await output(installed, ['heartbeat', '--home', `${inside}/node`])
  say('invite, join, heartbeat')
}

/** gateway start --check-config and --init-state, with a policy made of the running authority's records. */
async function tryGateway(installed: Installed): Promise<void> {
  const { inside, outside, say } = installed
  const read = async (name: string): Promise<unknown> => JSON.parse(await readFile(join(outside, name), 'utf8'))
  const genesis = (await read('na/genesis.json')) as { network_authority: { public_key: string } }
  const crl = (await read('crl.json')) as { issuer: string }
  const token = randomBytes(32)
  const policy = {
    revision: 'trial',
    networks: {
      trial: { anchors: { [crl.issuer]: genesis.network_authority.public_key }, crl, minimum_crl_sequence: 0 },
    },
    clients: [
      {
        id: 'trial',
        token_sha256: createHash('sha256').update(token).digest('hex'),
        networks: ['trial'],
        requests_per_minute: 60,
      },
    ],
  }
  await writeFile(join(outside, 'policy.json'), JSON.stringify(policy))
  const settings = [`GATEWAY_POLICY_FILE=${inside}/policy.json`, `GATEWAY_STATE_FILE=${inside}/gateway.state`]
  await writeFile(join(outside, 'gateway.env'), settings.join('\n'))
  const gateway = ['gateway', 'start', '--env-file', `${inside}/gateway.env`]
  await output(installed, [...gateway, '--init-state'])
  await output(installed, [...gateway, '--check-config'])
  say('gateway start --init-state and --check-config accept a policy of its records')
}

/** A filled network, an export of its evidence, and all of that computed again by the threads of `verify`. */
export async function tryEvidence(installed: Installed): Promise<void> {
  const { inside, outside, say } = installed
  const port = await freePort()
  const demo = installed.spawn(['demo', '--home', `${inside}/demo`, '--port', String(port), '--nodes', '3'])
  const log = collect(demo)
  const config = ['--home', `${inside}/demo`]
  try {
    const seconds = installed.readySeconds ?? READY_SECONDS
    for (const end = performance.now() + seconds * 1000; !log().includes('in a browser'); await pause(100))
      if (demo.exitCode !== null || performance.now() > end) throw new Error(`the demo did not fill\n${log()}`)
    const path = await fetch(`http://127.0.0.1:${port}/connectome.json`)
    if (path.status !== 200) throw new Error('the graph, which a thread builds, is not served')
    await output(installed, ['evidence', 'export', '--out', `${inside}/evidence.jsonl`, ...config])
    await writeFile(
      join(outside, 'executors.json'),
      await output(installed, ['evidence', 'key', 'list', '--json', ...config]),
    )
  } finally {
    demo.kill('SIGKILL')
  }
  const files = [`${inside}/evidence.jsonl`, '--executor-keys', `${inside}/executors.json`]
  const verified = await output(installed, ['verify', ...files, ...config])
  say(`demo, evidence export, evidence verify: ${verified.trim().split('\n')[0] ?? ''}`)
}

/** What it printed; throws unless it ended with 0. */
export async function output(installed: Pick<Installed, 'spawn'>, args: readonly string[]): Promise<string> {
  const child = installed.spawn(args)
  const text = collect(child)
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`chancery ${args.join(' ')}: ended with ${code}\n${text()}`)
  return text()
}

function collect(child: ChildProcess): () => string {
  const chunks: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.on('error', (error) => chunks.push(Buffer.from(error.message)))
  return () => Buffer.concat(chunks).toString('utf8')
}

async function untilReady(
  url: string,
  service: ChildProcess,
  log: () => string,
  seconds = READY_SECONDS,
): Promise<void> {
  for (const end = performance.now() + seconds * 1000; ; await pause(50)) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined)
    if (answer?.status === 200) return
    if (service.exitCode !== null || performance.now() > end) throw new Error(`it did not become ready\n${log()}`)
  }
}
