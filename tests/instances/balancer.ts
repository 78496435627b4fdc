import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Balancer {
  stop(): Promise<void>
}

/**
 * HAProxy in front of some instances, as operators run it: it asks each for its readiness, sends requests only to the
 * ready ones, says whence a request came, and passes on everything else as it is.
 */
export async function startBalancer(facts: {
  readonly folder: string
  readonly host: string
  readonly port: number
  readonly upstream: readonly number[]
}): Promise<Balancer> {
  const file = join(facts.folder, 'haproxy.cfg')
  await writeFile(file, configure(facts))
  // The kernel ends it with this process, should that be killed.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'haproxy', '-db', '-q', '-f', file], {
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  })
  await once(child, 'spawn')
  return { stop: () => end(child) }
}

function configure({ host, port, upstream }: { host: string; port: number; upstream: readonly number[] }): string {
  const servers = upstream.map(
    (each, index) => `  server na${index + 1} 127.0.0.1:${each} check inter 200 fall 1 rise 1`,
  )
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
    DOCUMENTS,
    '  use_backend documents if { method GET HEAD } is_document',
    '  default_backend instances',
    ...backend('instances', '/readyz'),
    ...servers,
    // What is signed and public is had from memory while the database is away.
    ...backend('documents', '/readyz?for=reads'),
    ...servers,
    '',
  ].join('\n')
}

const DOCUMENTS =
  '  acl is_document path,url_dec -m reg ^/(crl|policy|genesis|key-history|key-succession|sovereign[.]json|sovereign-revocation-feed)(/|$)'

function backend(name: string, check: string): string[] {
  return [
    `backend ${name}`,
    '  balance roundrobin',
    `  option httpchk GET ${check}`,
    '  retry-on conn-failure',
    // A connection that waits for its next request may be closed by an instance that stops: such a one is not used.
    '  http-reuse never',
  ]
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
