import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { LIMITERS } from '@chancery/contract'
import { openGuardedNetwork, startProgram } from '../../mcp/guarded-network.ts'
import type { Random } from '../lib/random.ts'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import { type RawResponse, post } from './raw-requests.ts'

/** A guard over HTTP whose node may call one tool, and the server behind it. */
export interface GuardStage {
  readonly url: string
  readonly secret: Readonly<Record<string, string>>
  /** What the server got, as sent. */
  readonly received: string[]
  stop(): Promise<void>
}

const SETTINGS = Object.fromEntries(Object.values(LIMITERS).map(({ setting }) => [setting, '1000000']))
const TOOLS = ['read', 'write'].map((name) => ({ name, inputSchema: { type: 'object' } }))

export async function openGuard(): Promise<GuardStage> {
  const network = await openGuardedNetwork(['mcp:files:read'], SETTINGS)
  const received: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const { id, method } = (body === '' ? {} : JSON.parse(body)) as { id?: string; method?: string }
      if (id?.startsWith('chancery-guard-') !== true) received.push(body)
      if (id === undefined) return void response.writeHead(202).end()
      const result = method === 'tools/list' ? { tools: TOOLS } : { content: [{ type: 'text', text: 'done' }] }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
  })
  // On a busy machine the guard would send a call on a connection that the server closes at this moment.
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  await network.chancery('mcp', 'pin', '--home', 'agent', '--server', 'files', '--upstream', upstream)
  const { child, line } = await startProgram(network.guard('--upstream', upstream, '--listen', '127.0.0.1:0'))
  return {
    url: line.slice('listening on '.length),
    secret: await network.clientHeaders(),
    received,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
      server.closeAllConnections()
      server.close()
      await network.close()
    },
  }
}

function send(stage: GuardStage, secret: Readonly<Record<string, string>>, method: string, params: object, id: string) {
  const headers = { accept: 'application/json, text/event-stream', ...secret }
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
  return post({ url: stage.url, from: '127.0.0.1' }, { path: new URL(stage.url).pathname, body, headers })
}

/** The node may call this, so that a guard that refuses everything is found, too. */
async function checkGood(stage: GuardStage, id: string): Promise<{ answer: RawResponse; complaints: string[] }> {
  const answer = await send(stage, stage.secret, 'tools/call', { name: 'read', arguments: {} }, id)
  const complaints = answer.text.includes('"done"')
    ? []
    : [`a granted call: ${answer.status} ${answer.text.slice(0, 200)}`]
  const last = stage.received.at(-1) ?? ''
  if (last.includes(`"id":${JSON.stringify(id)}`)) complaints.push('the server got the id of the client')
  if (Object.values(stage.secret).some((secret) => last.includes(secret))) complaints.push('the server got the secret')
  return { answer, complaints }
}

const METHODS: readonly (readonly [string, object])[] = [
  ['resources/read', { uri: 'file:///a' }],
  ['prompts/get', { name: 'p' }],
  ['resources/subscribe', { uri: 'file:///a' }],
  ['subscriptions/listen', { notifications: {} }],
  ['completion/complete', { ref: {} }],
  ['tasks/cancel', { taskId: 't' }],
  ['tasks/result', { taskId: 't' }],
  ['tools/call', { name: 'write', arguments: {} }],
  ['unknown/method', {}],
]

const otherMethods: Attack<GuardStage> = {
  name: 'methods without a right',
  async run(stage, _from, random) {
    const { answer: good, complaints } = await checkGood(stage, randomBytes(6).toString('hex'))
    const { length } = stage.received
    const [method, params] = random.pick(METHODS as [readonly [string, object]])
    const answer = await send(stage, stage.secret, method, params, 'x')
    if (stage.received.length > length) complaints.push(`${method} reached the server`)
    return outcomeOf([good, answer], complaints)
  },
}

const otherPrograms: Attack<GuardStage> = {
  name: 'programs without the secret',
  async run(stage, _from, random) {
    const { answer: good, complaints } = await checkGood(stage, randomBytes(6).toString('hex'))
    const { length } = stage.received
    const name = 'chancery-client-secret'
    const value = stage.secret[name] ?? ''
    const guess = wrongSecrets(value, random)
    const answer = await send(stage, guess === undefined ? {} : { [name]: guess }, 'tools/call', { name: 'read' }, 'x')
    if (answer.status !== 403) complaints.push(`a call without the secret was answered with ${answer.status}`)
    if (stage.received.length > length) complaints.push('a call without the secret reached the server')
    return outcomeOf([good, answer], complaints)
  },
}

function wrongSecrets(good: string, random: Random): string | undefined {
  const changed = `${good.startsWith('A') ? 'B' : 'A'}${good.slice(1)}`
  return random.pick([undefined, '', good.slice(1), `${good}A`, changed, randomBytes(32).toString('base64url')])
}

export const GUARD_ATTACKS: readonly [Attack<GuardStage>, ...Attack<GuardStage>[]] = [otherMethods, otherPrograms]
