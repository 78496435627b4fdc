import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { LIMITERS } from '@chancery/contract'
import { systemClock } from '@chancery/service-kit'
import { costlyVerifications } from '@chancery/testkit'
import { openGuardedNetwork, startProgram } from '../../mcp/guarded-network.ts'
import type { Random } from '../lib/random.ts'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import { exchange, finishLate, post, type RawResponse, withhold } from './raw-requests.ts'
import type { GatewaySetup } from './setup.ts'

/** Longer than the deadline of the gateway under attack. */
const LATE_MS = 1200

const COSTLY = [...costlyVerifications(systemClock.now(), { kind: 'values', count: 20_000 }).values()]

const SMALL = costlyVerifications(systemClock.now()).get('/trust-evidence/verify')

const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` })

const lateBodies: Attack<GatewaySetup> = {
  name: 'bodies after the deadline',
  async run({ url, client, certificate, forwarded }, from, random) {
    const isForwarded = random.chance(50)
    const path = isForwarded ? forwarded : '/verify'
    const body = isForwarded ? (SMALL ?? '') : JSON.stringify({ certificate })
    const headers = bearer(random.chance(70) ? client.token : randomBytes(32).toString('hex'))
    const answers = await Promise.all(
      Array.from({ length: 1 + random.below(3) }, () => finishLate({ url, from }, { path, body, headers }, LATE_MS)),
    )
    const served = answers.filter(({ status }) => status === 200)
    return outcomeOf(answers, served.length > 0 ? ['a body that came too late was verified'] : [])
  },
}

const badTokens: Attack<GatewaySetup> = {
  name: 'bad tokens',
  async run({ url, client, certificate }, from, random) {
    const body = JSON.stringify({ certificate })
    const token = (): string =>
      random.pick(['', 'x', 'ä'.repeat(3), randomBytes(32).toString('hex'), 'a'.repeat(2000), `${client.token}0`])
    const attempts = Array.from({ length: 1 + random.below(40) }, () =>
      post({ url, from }, { path: '/verify', body, headers: bearer(encodeURI(token())) }),
    )
    const answers = await Promise.all(attempts)
    // The same address with a valid credential.
    const good = await post({ url, from }, { path: '/verify', body, headers: bearer(client.token) })
    const complaints = answers.some(({ status }) => status === 200) ? ['a bad token was taken'] : []
    if (good.status !== 200) complaints.push(`a good token was answered with ${good.status} after bad ones`)
    return outcomeOf([...answers, good], complaints)
  },
}

const withheldBodies: Attack<GatewaySetup> = {
  name: 'withheld bodies',
  async run({ url, client, forwarded }, from, random) {
    const announced = random.pick([600, 65_536, 524_288])
    const plan = {
      path: random.pick(['/verify', '/verify/batch', forwarded]),
      announced,
      sent: Math.min(announced - 1, random.pick([0, 100, 60_000])),
      connections: 1 + random.below(12),
      headers: random.chance(50) ? [`Authorization: Bearer ${client.token}`] : [],
    }
    return outcomeOf(await withhold({ url, from }, plan, 20 + random.below(150)))
  },
}

const costlyDocuments: Attack<GatewaySetup> = {
  name: 'costly documents',
  async run({ url, client, certificate, forwarded }, from, random) {
    const signatures = Array.from({ length: 8 }, (_, n) => ({
      key_id: `k-${n}`,
      sig: randomBytes(64).toString('base64'),
    }))
    const forged = { ...certificate, signatures }
    const bodies = [
      JSON.stringify({ certificate: forged }),
      JSON.stringify({ certificates: Array.from({ length: 100 }, () => forged) }),
      COSTLY[random.below(COSTLY.length)] ?? '',
      `${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`,
    ]
    const headers = bearer(random.chance(80) ? client.token : 'nobody')
    const send = (): Promise<RawResponse> =>
      post(
        { url, from },
        { path: random.pick(['/verify', '/verify/batch', forwarded]), body: bodies[random.below(4)] ?? '', headers },
        random.chance(30) ? random.below(40) : undefined,
      )
    const answers = await Promise.all(Array.from({ length: 1 + random.below(3) }, send))
    const trusted = answers.some(({ text }) => text.includes('"trusted":true'))
    return outcomeOf(answers, trusted ? ['a forged certificate was trusted'] : [])
  },
}

const oddRequests: Attack<GatewaySetup> = {
  name: 'odd requests',
  async run({ url }, from, random) {
    const target = random.pick([
      '/%76erify',
      '//verify',
      '/verify/../metrics',
      '/v1/networks/%2e%2e/services/x',
      '/%',
      '*',
    ])
    const framing = random.pick([
      '\r\n',
      'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
      `X: ${'a'.repeat(20_000)}\r\n\r\n`,
    ])
    const bytes = `${random.pick(['GET', 'POST', 'TRACE'])} ${target} HTTP/1.1\r\nHost: x\r\n${framing}`
    return outcomeOf([await exchange({ url, from }, bytes, 400)])
  },
}

export const GATEWAY_ATTACKS: readonly [Attack<GatewaySetup>, ...Attack<GatewaySetup>[]] = [
  lateBodies,
  badTokens,
  badTokens,
  withheldBodies,
  withheldBodies,
  costlyDocuments,
  costlyDocuments,
  oddRequests,
]

/** A guard over HTTP whose node may call one tool, and the server behind it. */
interface GuardStage {
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
  await network.chancery('agent', 'guard-mcp', '--pin', '--home', 'agent', '--server', 'files', '--upstream', upstream)
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

function sendToGuard(
  stage: GuardStage,
  secret: Readonly<Record<string, string>>,
  method: string,
  params: object,
  id: string,
) {
  const headers = { accept: 'application/json, text/event-stream', ...secret }
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
  return post({ url: stage.url, from: '127.0.0.1' }, { path: new URL(stage.url).pathname, body, headers })
}

/** The node may call this, so that a guard that refuses everything is found, too. */
async function checkGood(stage: GuardStage, id: string): Promise<{ answer: RawResponse; complaints: string[] }> {
  const answer = await sendToGuard(stage, stage.secret, 'tools/call', { name: 'read', arguments: {} }, id)
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
    const answer = await sendToGuard(stage, stage.secret, method, params, 'x')
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
    const answer = await sendToGuard(
      stage,
      guess === undefined ? {} : { [name]: guess },
      'tools/call',
      { name: 'read' },
      'x',
    )
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
