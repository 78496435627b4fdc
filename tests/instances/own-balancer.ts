import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { buffer } from 'node:stream/consumers'
import { send } from '@chancery/testkit'
import type { Balancer } from './balancer.ts'

const CHECK_MS = 200
const FALL = 2

interface Upstream {
  readonly port: number
  failed: number
}

/** Where HAProxy is not installed: the same rules of `check inter 200 fall 2 rise 1`, round robin. */
export async function startOwnBalancer(facts: {
  readonly host: string
  readonly port: number
  readonly upstream: readonly number[]
}): Promise<Balancer> {
  const upstream: readonly Upstream[] = facts.upstream.map((port) => ({ port, failed: FALL }))
  const stopping = new AbortController()
  const checks = upstream.map((each) => keepChecked(each, stopping.signal))
  let turn = 0
  const server = createServer((incoming, answer) => {
    turn += 1
    const ready = upstream.filter(({ failed }) => failed < FALL)
    const inTurn = ready.map((_, index) => ready[(turn + index) % ready.length]?.port ?? 0)
    forward(incoming, answer, inTurn).catch(() => answer.destroy())
  })
  await new Promise<void>((done) => server.listen(facts.port, facts.host, done))
  return {
    async stop() {
      stopping.abort()
      server.closeAllConnections()
      await Promise.all([...checks, new Promise((done) => server.close(done))])
    },
  }
}

async function keepChecked(upstream: Upstream, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const status = await send(`http://127.0.0.1:${upstream.port}`, 'GET', '/readyz').then(
      (answer) => answer.status,
      () => 0,
    )
    upstream.failed = status === 200 ? 0 : upstream.failed + 1
    await pause(CHECK_MS)
  }
}

/** Only a connection that could not be made is tried again, with the next instance. */
async function forward(incoming: IncomingMessage, answer: ServerResponse, ports: readonly number[]): Promise<void> {
  const body = await buffer(incoming)
  for (const port of ports) {
    const response = await ask(incoming, body, port)
    if (response === undefined) continue
    answer.writeHead(response.statusCode ?? 502, response.rawHeaders)
    response.pipe(answer)
    return
  }
  answer.writeHead(503).end()
}

function ask(incoming: IncomingMessage, body: Buffer, port: number): Promise<IncomingMessage | undefined> {
  const { method, url: path, socket } = incoming
  const headers = { ...incoming.headers, 'x-forwarded-for': socket.remoteAddress ?? '' }
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, resolve)
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') resolve(undefined)
      else reject(error)
    })
    outgoing.end(body)
  })
}
