import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { GATEWAY_OPERATIONS, type GatewayOperation, OPERATOR_HEADERS } from '@chancery/contract'
import { systemClock } from '@chancery/service-kit'
import { startTestGateway, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { TestGateway } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { seededRandom } from '../lib/random.ts'
import { type ProxyCase, proxyCase } from './proxy-cases.ts'

/** One request as it was sent, nothing joined, dropped or decoded. */
interface RecordedRequest {
  readonly method: string
  readonly target: string
  /** Names in lower case, values as sent, in order. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer
  readonly bytes: Buffer
}

interface Recorder {
  readonly url: string
  readonly host: string
  readonly requests: RecordedRequest[]
  /** Connections since the start, used or not. */
  readonly connections: () => number
  stop(): Promise<void>
}

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
const LINES_ANSWER = ANSWER.replace('application/json', 'application/x-ndjson')

/** A server that records requests. It reads the bytes itself, so that no HTTP library changes what was sent. */
async function startRecorder(): Promise<Recorder> {
  const requests: RecordedRequest[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    let received = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      for (;;) {
        const found = cutRequest(received)
        if (found === undefined) return
        received = received.subarray(found.bytes.length)
        requests.push(found)
        socket.write(found.target.startsWith('/admin/evidence/export') ? LINES_ANSWER : ANSWER)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${host}`,
    host,
    requests,
    connections: () => connections,
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

/**
 * Returns the first complete request. A length that is not only digits would leave the rest as a second request, which
 * is detected.
 */
function cutRequest(received: Buffer): RecordedRequest | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [line = '', ...fields] = received.subarray(0, end).toString('latin1').split('\r\n')
  const [method = '', target = ''] = line.split(' ')
  const headers = fields.map((field) => {
    const cut = field.indexOf(':')
    return [field.slice(0, cut).toLowerCase(), field.slice(cut + 1).trim()] as const
  })
  const length = Number(headers.find(([name]) => name === 'content-length')?.[1] ?? 0)
  const whole = end + 4 + length
  if (received.length < whole) return undefined
  return { method, target, headers, body: received.subarray(end + 4, whole), bytes: received.subarray(0, whole) }
}

export const summary =
  'every operation with mutated path, query, headers and body: the authority sees only what is catalogued'
/** A hundred for each operation. */
export const defaultCount = GATEWAY_OPERATIONS.length * 100

const SHOWN = 10

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const recorder = await startRecorder()
  const groups = [...new Set(GATEWAY_OPERATIONS.map(({ group }) => group))]
  const caller = testClient('caller', ['agency'], {
    service_groups: groups,
    authority_admin: true,
    requests_per_minute: 1_000_000,
  })
  const gateway = await startGateway(recorder, caller)
  const random = seededRandom(seed)
  const outcomes = new Map<string, number>()
  let [cases, violations] = [0, 0]
  try {
    for (let index = 0; cases < count; index += 1) {
      for (const operation of GATEWAY_OPERATIONS.slice(0, count - cases)) {
        // Each operation starts at another mutation, so that a short run has every mutation.
        const each = proxyCase(operation, index + GATEWAY_OPERATIONS.indexOf(operation), caller.token, random)
        const complaint = await checkCase(each, operation, { gateway, recorder, token: caller.token })
        cases += 1
        const outcome = `${each.what}: ${each.upstream === undefined ? 'refused' : 'forwarded'}`
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        if (complaint === undefined) continue
        violations += 1
        if (violations <= SHOWN)
          log(`${operation.id}, ${each.what}: ${complaint} (${each.method} ${each.target.slice(0, 200)})`)
      }
    }
    for (const line of [...outcomes].map((each) => each.join(' ')).sort()) log(line)
  } finally {
    await gateway.stop()
    await recorder.stop()
  }
  return { cases, violations }
}

async function startGateway(recorder: Recorder, caller: ReturnType<typeof testClient>): Promise<TestGateway> {
  const now = systemClock.now()
  const [by, hidden] = [await testIssuer('agency'), await testIssuer('hidden')]
  const reached = { authority_url: recorder.url, allow_http: true }
  return startTestGateway({
    policy: testPolicy(
      {
        agency: testNetwork(by, await testList(by, now), reached),
        hidden: testNetwork(hidden, await testList(hidden, now), reached),
      },
      [caller],
    ),
  })
}

interface ProxySetup {
  readonly gateway: TestGateway
  readonly recorder: Recorder
  readonly token: string
}

/** Returns a description of the violation, or undefined. */
async function checkCase(each: ProxyCase, operation: GatewayOperation, setup: ProxySetup): Promise<string | undefined> {
  const { recorder } = setup
  const connections = recorder.connections()
  recorder.requests.length = 0
  const answer = await ask(each, setup.gateway.gateway.address.port)
  const seen = recorder.requests
  if (each.upstream === undefined) {
    if (seen.length > 0) return `forwarded as ${seen[0]?.method} ${seen[0]?.target}`
    if (recorder.connections() !== connections) return 'the authority was connected'
    return answer.status >= 400 && answer.status < 500 ? undefined : `answered ${answer.status}`
  }
  if (answer.status !== 200) return `answered ${answer.status} ${answer.text.slice(-160)}`
  const [request, ...more] = seen
  if (request === undefined || more.length > 0) return `${seen.length} requests reached the authority`
  return compare(request, each.upstream, operation, { ...setup, each, requestId: answer.requestId })
}

function compare(
  request: RecordedRequest,
  expected: NonNullable<ProxyCase['upstream']>,
  operation: GatewayOperation,
  { recorder, token, each, requestId }: ProxySetup & { readonly each: ProxyCase; readonly requestId: string },
): string | undefined {
  if (request.method !== operation.method) return `sent as ${request.method}`
  if (request.target !== expected.target) return `sent to ${request.target}, not to ${expected.target}`
  if (!request.body.equals(expected.body)) return 'the body is not the same bytes'
  if (request.bytes.includes(token)) return 'the credential was sent'
  const wanted = new Map<string, string>([
    ['host', recorder.host],
    ['connection', 'keep-alive'],
    ['accept', operation.response === 'ndjson' ? 'application/x-ndjson' : 'application/json'],
    ['x-request-id', requestId],
    ...(operation.method === 'GET'
      ? []
      : [['content-type', 'application/json'] as const, ['content-length', String(expected.body.length)] as const]),
    ...(operation.admin ? Object.values(OPERATOR_HEADERS) : []).map(
      (name) => [name.toLowerCase(), each.headers.find((header) => header[0] === name)?.[1] ?? ''] as const,
    ),
  ])
  const given = request.headers.map(([name, value]) => `${name}: ${value}`).sort()
  const listed = [...wanted].map(([name, value]) => `${name}: ${value}`).sort()
  return given.join('\n') === listed.join('\n') ? undefined : `headers were ${JSON.stringify(given)}`
}

interface Answered {
  readonly status: number
  readonly requestId: string
  readonly text: string
}

/** Sends the bytes over a separate connection. */
function ask({ method, target, headers, body, isChunked }: ProxyCase, port: number): Promise<Answered> {
  const framed = body === undefined ? [] : isChunked ? chunks(body) : [body]
  const framing =
    body === undefined ? [] : isChunked ? ['Transfer-Encoding: chunked'] : [`Content-Length: ${body.length}`]
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...headers.map((header) => header.join(': ')),
    ...framing,
    'Connection: close',
  ]
  const bytes = Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), ...framed])
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    let text = ''
    socket.setTimeout(20_000, () => socket.destroy(new Error('no answer')))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', (error) => (text === '' ? reject(error) : undefined))
    socket.on('close', () => {
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0)
      resolve({ status, requestId: /^x-request-id: (.*)$/im.exec(text)?.[1]?.trim() ?? '', text })
    })
  })
}

function chunks(body: Buffer): readonly Buffer[] {
  const half = Math.ceil(body.length / 2)
  const parts = [body.subarray(0, half), body.subarray(half)].filter((part) => part.length > 0)
  return [
    ...parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]),
    Buffer.from('0\r\n\r\n'),
  ]
}
