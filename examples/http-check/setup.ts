/** The processes of `run.ts`: an authority, gateways and proxies, in one folder, until `close`. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, type Server, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { readJson, createSigningFetch } from '@chancery/sdk'
import { readSignerFile } from '@chancery/sdk/nodejs'
import { readJoinCertificate } from '@chancery/sdk/protocol'

export const AUDIENCE = 'https://print.example'
const HERE = import.meta.dirname
const FOLDER = await mkdtemp(join(tmpdir(), 'chancery-http-check-'))
const stops: (() => unknown)[] = [() => rm(FOLDER, { recursive: true, force: true })]

/** As root, nginx would change to a user that cannot read the folder. */
const NGINX_USER = process.getuid?.() === 0 ? ' user root;' : ''
const PROXIES = {
  nginx: {
    dialect: 'original',
    files: ['nginx.conf', 'chancery-headers.conf'],
    command: ['nginx', '-p', FOLDER, '-e', 'stderr', '-c', 'nginx.conf', '-g', `daemon off;${NGINX_USER}`],
  },
  caddy: {
    dialect: 'forwarded',
    files: ['Caddyfile'],
    command: ['caddy', 'run', '--adapter', 'caddyfile', '--config', 'Caddyfile'],
  },
  haproxy: {
    dialect: 'original',
    files: ['haproxy.cfg', 'chancery-check.lua'],
    command: ['haproxy', '-db', '-q', '-f', 'haproxy.cfg'],
  },
} as const
export type ProxyName = keyof typeof PROXIES

/** Returns the named proxies, or those that are installed. */
export function chooseProxies(named: readonly string[]): ProxyName[] {
  const all = Object.keys(PROXIES) as ProxyName[]
  if (named.length > 0) return all.filter((name) => named.includes(name))
  return all.filter((name) => spawnSync(name, ['-v']).error === undefined)
}

export async function chancery(line: string): Promise<void> {
  const env = { ...process.env, CHANCERY_CONFIG: join(FOLDER, 'na/chancery.toml'), HOME: FOLDER }
  await promisify(execFile)('chancery', line.split(' '), { cwd: FOLDER, env })
}

export async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stops.push(() => server.close())
  return (server.address() as AddressInfo).port
}

async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listen(server)
  server.close()
  await once(server, 'close')
  return port
}

/** Stops a process that `chancery` started in the background, and waits for its end. */
async function stopDetached(file: string): Promise<void> {
  const pid = (await readFile(join(FOLDER, file), 'utf8').catch(() => '')).trim()
  const isRunning = (): boolean => pid !== '' && spawnSync('kill', ['-0', pid]).status === 0
  if (isRunning()) process.kill(Number(pid))
  while (isRunning()) await pause(50)
}

export async function startAuthority(): Promise<string> {
  const port = await freePort()
  stops.push(() => stopDetached('na/authority.pid'))
  await chancery(`up --home ./na --network MY-NET --port ${port} --sheet recovery.txt --detach`)
  // The gateways ask for decisions with this key.
  await chancery('keygen operator --out ./decisions --key-id decisions')
  await chancery('operator add decisions --key ./decisions.pub --tier standard')
  return `http://127.0.0.1:${port}`
}

/** A node that proves its requests, and its entry in `subjects` of the policy. */
export interface ExampleNode {
  readonly call: typeof fetch
  readonly subject: readonly [string, string]
}

/** Joins a node and issues an attestation with one capability. */
export async function joinNode(authority: string, name: string, capability: string): Promise<ExampleNode> {
  await chancery(`invite --role role:client --out ${name}.token --quiet`)
  await chancery(`join --home ./${name} --url ${authority} --genesis ./na/genesis.json --token-file ${name}.token`)
  const key = `--public-key ./${name}/node.pub`
  await chancery(`attestation issue ${name} --role role:client ${key} --capability ${capability} --out ${name}.json`)
  const signer = await readSignerFile(join(FOLDER, name, 'node.key'))
  const certificate = readJoinCertificate(readJson(await readFile(join(FOLDER, name, 'certificate.json'), 'utf8')))
  const { attestation_id = '' } = JSON.parse(await readFile(join(FOLDER, `${name}.json`), 'utf8')) as Record<
    string,
    string
  >
  const call = createSigningFetch({ signer, certificate }, { audience: AUDIENCE })
  return { call, subject: [`node:${certificate.cert_id}`, attestation_id] }
}

/** Adds the check to the files of `chancery gateway init`, and starts the gateway. Returns the port of the check. */
async function startGateway(dialect: string, check: object, nodes: readonly ExampleNode[]): Promise<number> {
  const [folder, port] = [`gateway-${dialect}`, await freePort()]
  await chancery(`gateway init --home ./na --out ./${folder} --port ${await freePort()} --refresh-seconds 10`)
  const file = join(FOLDER, folder, 'policy.json')
  const policy = JSON.parse(await readFile(file, 'utf8'))
  const subjects = Object.fromEntries(nodes.map(({ subject }) => subject))
  for (const network of Object.values<Record<string, unknown>>(policy.networks))
    network['decisions'] = { key_file: join(FOLDER, 'decisions.key'), subjects }
  await writeFile(file, JSON.stringify({ ...policy, check }, null, 2), { mode: 0o600 })
  const settings = `\nGATEWAY_CHECK_ADDR=127.0.0.1:${port}\nGATEWAY_CHECK_DIALECT=${dialect}\n`
  await appendFile(join(FOLDER, folder, 'gateway.env'), settings)
  stops.push(() => stopDetached(`${folder}/gateway.pid`))
  await chancery(`gateway start --env-file ./${folder}/gateway.env --detach`)
  return port
}

/** Starts a gateway for each dialect, and the proxies. Returns the address of each proxy. */
export async function startProxies(
  names: readonly ProxyName[],
  facts: { readonly check: object; readonly nodes: readonly ExampleNode[]; readonly service: number },
): Promise<Map<ProxyName, string>> {
  const checks = new Map<string, number>()
  for (const dialect of new Set(names.map((name) => PROXIES[name].dialect)))
    checks.set(dialect, await startGateway(dialect, facts.check, facts.nodes))
  const addresses = new Map<ProxyName, string>()
  for (const name of names)
    addresses.set(name, await startProxy(name, checks.get(PROXIES[name].dialect) ?? 0, facts.service))
  return addresses
}

async function startProxy(name: ProxyName, check: number, service: number): Promise<string> {
  const { files, command } = PROXIES[name]
  const port = await freePort()
  for (const file of files) {
    const text = await readFile(join(HERE, file), 'utf8')
    const placed = text.replaceAll(':8000', `:${port}`).replaceAll(':8081', `:${check}`)
    await writeFile(join(FOLDER, file), placed.replaceAll(':9000', `:${service}`))
  }
  const [program, ...words] = command
  const env = { ...process.env, HOME: FOLDER, XDG_DATA_HOME: FOLDER, XDG_CONFIG_HOME: FOLDER }
  const child = spawn(program, words, { cwd: FOLDER, stdio: 'ignore', env })
  stops.push(() => child.kill())
  await once(child, 'spawn')
  while (!(await isOpen(port))) {
    if (child.exitCode !== null) throw new Error(`${name} ended with code ${child.exitCode}`)
    await pause(50)
  }
  return `http://127.0.0.1:${port}`
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

export async function stopGateways(): Promise<void> {
  for (const { dialect } of Object.values(PROXIES)) await stopDetached(`gateway-${dialect}/gateway.pid`)
}

/** Stops everything in reverse order, and removes the folder. */
export async function close(): Promise<void> {
  for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) await stop()
}
