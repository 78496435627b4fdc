import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startOwnBalancer } from './own-balancer.ts'

export interface Balancer {
  stop(): Promise<void>
}

/** Kind of the servers: an authority has a separate backend for documents, a gateway has not. */
export type Balanced = 'authority' | 'gateway'

interface BalancerFacts {
  readonly folder: string
  readonly host: string
  readonly port: number
  readonly upstream: readonly number[]
  readonly service?: Balanced
}

/**
 * HAProxy in front of some instances, as operators run it. It checks the readiness of each instance, sends requests
 * only to ready ones, adds the address of the caller, and forwards everything else unchanged.
 */
export async function startBalancer(facts: BalancerFacts): Promise<Balancer> {
  const { service = 'authority' } = facts
  if (service === 'authority' && spawnSync('haproxy', ['-v']).status !== 0) return startOwnBalancer(facts)
  const file = join(facts.folder, 'haproxy.cfg')
  await writeFile(file, configure(facts))
  // The kernel ends HAProxy with this process, also when this process is killed.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'haproxy', '-db', '-q', '-f', file], {
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  })
  await once(child, 'spawn')
  await listens(child, facts)
  return { stop: () => end(child) }
}

/** HAProxy reads its file first: an earlier request would be refused. */
async function listens(child: ChildProcess, { host, port }: BalancerFacts): Promise<void> {
  while (child.exitCode === null) {
    const socket = connect({ host, port })
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
    await pause(10)
  }
  throw new Error(`HAProxy ended with ${child.exitCode}`)
}

function configure(facts: BalancerFacts): string {
  const { host, port, service = 'authority' } = facts
  return [
    'global',
    '  maxconn 2000',
    '  tune.bufsize 65536',
    'defaults',
    '  mode http',
    '  timeout connect 1s',
    '  timeout client 60s',
    '  timeout server 60s',
    '  timeout check 2s',
    '  option forwardfor',
    '  option redispatch',
    '  retries 3',
    'frontend public',
    `  bind ${host}:${port}`,
    '  option accept-invalid-http-request',
    ...(service === 'authority' ? authorities(facts) : gateways(facts)),
    '',
  ].join('\n')
}

function authorities({ upstream }: BalancerFacts): string[] {
  const servers = serversOf('na', upstream)
  return [
    DOCUMENTS,
    '  use_backend documents if { method GET HEAD } is_document',
    '  default_backend instances',
    ...backend('instances', '/readyz'),
    ...servers,
    // Instances serve signed public documents from memory while the database is unreachable.
    ...backend('documents', '/readyz?for=reads'),
    ...servers,
  ]
}

function gateways({ upstream }: BalancerFacts): string[] {
  return ['  default_backend gateways', ...backend('gateways', '/ready'), ...serversOf('gw', upstream)]
}

/**
 * Two failed checks remove a server, one successful check adds it. So in a rolling restart the restarted server is
 * added before the next one is removed.
 */
function serversOf(name: string, upstream: readonly number[]): string[] {
  return upstream.map((port, index) => `  server ${name}${index + 1} 127.0.0.1:${port} check inter 200 fall 2 rise 1`)
}

const DOCUMENTS =
  '  acl is_document path,url_dec -m reg ^/(crl|policy|genesis|key-history|key-succession|sovereign[.]json|sovereign-revocation-feed)(/|$)'

function backend(name: string, check: string): string[] {
  return [
    `backend ${name}`,
    '  balance roundrobin',
    `  option httpchk GET ${check}`,
    '  retry-on conn-failure',
    // An instance that stops may close an idle connection, so idle connections are not reused.
    '  http-reuse never',
  ]
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
