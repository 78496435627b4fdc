import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type IncomingMessage, createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '@chancery/testkit'

export const PROXIES = ['nginx', 'caddy', 'haproxy'] as const
export type ProxyKind = (typeof PROXIES)[number]

/** How each proxy sends the original request to the check. */
export const DIALECT_OF = { nginx: 'original', caddy: 'forwarded', haproxy: 'original' } as const

/** The files that docs/how-to/http-check.md shows. */
const EXAMPLE = new URL('../../examples/http-check/', import.meta.url)
const FILES = {
  nginx: ['nginx.conf', 'chancery-headers.conf'],
  caddy: ['Caddyfile'],
  haproxy: ['haproxy.cfg', 'chancery-check.lua'],
} as const

/** Its folder belongs to the user of the test. As root, nginx would change to another user. */
const AS_ROOT = process.getuid?.() === 0 ? ' user root;' : ''

const COMMANDS: Readonly<Record<ProxyKind, (folder: string) => readonly string[]>> = {
  nginx: (folder) => ['nginx', '-p', folder, '-e', 'stderr', '-c', 'nginx.conf', '-g', `daemon off;${AS_ROOT}`],
  caddy: (folder) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
  haproxy: (folder) => ['haproxy', '-db', '-q', '-f', join(folder, 'haproxy.cfg')],
}

export interface CheckProxy {
  readonly kind: ProxyKind
  readonly port: number
  stop(): Promise<void>
}

export interface ProxyPorts {
  readonly check: number
  readonly service: number
}

/** Starts a real proxy with its example configuration, on other ports. */
export async function startCheckProxy(
  kind: ProxyKind,
  { check, service }: ProxyPorts,
  edit: (text: string) => string = (text) => text,
): Promise<CheckProxy> {
  const folder = await mkdtemp(join(tmpdir(), `chancery-${kind}-`))
  const port = await freePort()
  for (const file of FILES[kind]) {
    const example = await readFile(new URL(file, EXAMPLE), 'utf8')
    const text = example
      .replaceAll(':8000', `:${port}`)
      .replaceAll(':8081', `:${check}`)
      .replaceAll(':9000', `:${service}`)
    await writeFile(join(folder, file), edit(text))
  }
  const [command = '', ...words] = COMMANDS[kind](folder)
  // The kernel ends the proxy with this process, also when this process is killed.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', command, ...words], {
    cwd: folder,
    stdio: ['ignore', 'ignore', process.env['CHANCERY_PROXY_LOG'] === 'on' ? 'inherit' : 'ignore'],
    env: { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, HOME: folder },
  })
  await once(child, 'spawn')
  await untilOpen(port, () => child.exitCode !== null)
  return {
    kind,
    port,
    async stop() {
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function untilOpen(port: number, hasEnded: () => boolean): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (hasEnded()) break
    const socket = connect(port, '127.0.0.1')
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (isOpen) return
    await pause(50)
  }
  throw new Error('the proxy did not start')
}

/** A request as the service behind a proxy got it. */
export interface ServedRequest {
  readonly method: string
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

export interface CheckedService {
  readonly port: number
  readonly served: ServedRequest[]
  /** Protocols to which the service changed. After that it reads requests that no proxy sees. */
  readonly upgrades: string[]
  stop(): Promise<void>
}

/** Longer than any proxy keeps an idle connection to the service. */
const IDLE_MS = 600_000

/** A service that trusts the headers of its proxy. It records what reaches it. */
export async function startCheckedService(): Promise<CheckedService> {
  const served: ServedRequest[] = []
  const upgrades: string[] = []
  const server = createServer({ maxHeaderSize: 65_536 }, (request, response) => {
    void readAll(request).then((body) => {
      const { method = '', url = '', rawHeaders } = request
      served.push({ method, url, rawHeaders, body })
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ node: request.headers['chancery-node'] ?? null, bytes: body.length }))
    })
  })
  // A proxy gets no response when the service ends an idle connection in the moment in which the proxy uses it.
  server.keepAliveTimeout = IDLE_MS
  server.on('upgrade', ({ headers: { upgrade = '' } }, socket) => {
    upgrades.push(upgrade)
    socket.end(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n\r\n`)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    port: (server.address() as AddressInfo).port,
    served,
    upgrades,
    stop: () =>
      new Promise<void>((done) => {
        server.closeAllConnections()
        server.close(() => done())
      }),
  }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
