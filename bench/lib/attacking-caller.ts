import { randomBytes, randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { LIMITERS } from '@chancery/contract'
import { writeInstant } from '@chancery/protocol'
import { costlyVerifications } from '@chancery/testkit'
import type { AttackMessage, AttackReport, AttackTask } from './attacking-task.ts'
import { HOST } from './conditions.ts'

/** A request, and how often it may be sent within one minute. */
interface Attack {
  readonly kind: string
  readonly path: string
  readonly times: number
  readonly body: Buffer
  readonly headers: () => Readonly<Record<string, string>>
}

const PARALLEL = 64
const NO_HEADERS = (): Readonly<Record<string, string>> => ({})

/** Bodies that are announced and never finished: [route, announced bytes, connections, bytes sent of each]. */
const WITHHELD: readonly (readonly [string, number, number, number])[] = [
  ['/admin/sovereign-revocation-feeds/import', 8_388_608, 8, 8_388_607],
  ['/attestations/verify', 2_097_152, 40, 2_097_151],
  ['/trust-evidence/verify', 2_097_152, 200, 65_536],
  ['/heartbeat', 65_536, 100, 1024],
]

// Built once, because making them costs more than sending them.
const ATTACKS = buildAttacks()

process.on('message', (task: AttackTask) => {
  void run(task).then(
    (report) => tell({ report }),
    (error: unknown) => tell({ problem: String(error) }),
  )
})
process.once('disconnect', () => process.exit(0))
tell({ ready: true })

function tell(message: AttackMessage): void {
  process.send?.(message)
}

function buildAttacks(): readonly Attack[] {
  const now = BigInt(Date.now()) * 1000n
  const fillings = [
    costlyVerifications(now, { kind: 'values', count: 45_000 }),
    costlyVerifications(now, { kind: 'text', bytes: 1_900_000 }),
    costlyVerifications(now, { kind: 'text', bytes: 60_000 }),
    costlyVerifications(now),
  ]
  const times = LIMITERS.verify.default / fillings.length
  const verifications = fillings.flatMap((bodies) =>
    [...bodies].map(([path, text]) => ({
      kind: 'verify',
      path,
      times,
      body: Buffer.from(text),
      headers: NO_HEADERS,
    })),
  )
  const junk = JSON.stringify({ evidence: { evidence_id: 'x', parameters: 'p'.repeat(2000) } })
  const list = (count: number): string => JSON.stringify({ feed: { ids: Array.from({ length: count }, String) } })
  return [
    ...verifications,
    { kind: 'junk evidence', path: '/evidence/execution', times: 100, body: Buffer.from(junk), headers: NO_HEADERS },
    {
      kind: 'junk evidence',
      path: '/evidence/execution',
      times: 20,
      body: Buffer.from(list(40_000)),
      headers: NO_HEADERS,
    },
    { kind: 'bad credentials', path: '/admin/revoke', times: 20, body: Buffer.from(list(10)), headers: forgedHeaders },
    {
      kind: 'bad credentials',
      path: '/admin/sovereign-revocation-feeds/import',
      times: 10,
      body: Buffer.from(list(240_000)),
      headers: forgedHeaders,
    },
    { kind: 'bad invite', path: '/join', times: 10, body: Buffer.from('{"invite_token":"x"}'), headers: NO_HEADERS },
    { kind: 'bad proof', path: '/heartbeat', times: 600, body: Buffer.from('{"cert_id":"x"}'), headers: NO_HEADERS },
  ]
}

/** Well-formed headers of an existing operator key, with an invalid signature. */
function forgedHeaders(): Readonly<Record<string, string>> {
  return {
    'X-Admin-Key-Id': 'bench-operator',
    'X-Admin-Timestamp': writeInstant(BigInt(Date.now()) * 1000n),
    'X-Admin-Nonce': randomUUID(),
    'X-Admin-Signature': randomBytes(64).toString('base64'),
  }
}

async function run({ port, from, seconds }: AttackTask): Promise<AttackReport> {
  const until = performance.now() + seconds * 1000
  const answers: Record<string, number> = {}
  const sockets: Socket[] = []
  let sentBytes = 0
  const waiting = ATTACKS.flatMap((attack) => Array.from({ length: attack.times }, () => attack))
  // In a mixed order, so that no kind comes alone at the end.
  const order = waiting
    .map((attack, at) => ({ attack, key: (at * 7919) % waiting.length }))
    .sort((a, b) => a.key - b.key)
  const worker = async (): Promise<void> => {
    for (let next = order.shift(); next !== undefined; next = order.shift()) {
      const left = until - performance.now()
      if (left <= 0) return
      sentBytes += next.attack.body.length
      const status = await send(next.attack, port, from, left)
      const name = `${next.attack.kind} ${status}`
      answers[name] = (answers[name] ?? 0) + 1
      // Not admitted yet, so the limit was not used.
      if (status === '503') order.push(next)
    }
  }
  for (const held of WITHHELD) sockets.push(...withhold(held, port, from))
  await Promise.all([...Array.from({ length: PARALLEL }, worker), pause(seconds * 1000)])
  for (const socket of sockets) socket.destroy()
  return { answers, sentBytes, withheldConnections: sockets.length }
}

function send(attack: Attack, port: number, from: string, limitMs: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': attack.body.length,
    ...attack.headers(),
  }
  const sent = request({
    host: HOST,
    port,
    path: attack.path,
    method: 'POST',
    headers,
    localAddress: from,
    agent: false,
  })
  sent.on('response', (answer) => {
    answer.resume()
    resolve(String(answer.statusCode))
  })
  sent.on('error', () => resolve('none'))
  sent.setTimeout(limitMs, () => sent.destroy())
  sent.end(attack.body)
  return promise
}

/** Opens connections, sends the given bytes and then sends nothing. */
function withhold(
  [path, announced, connections, bytes]: (typeof WITHHELD)[number],
  port: number,
  from: string,
): readonly Socket[] {
  const piece = Buffer.alloc(bytes, 0x20)
  return Array.from({ length: connections }, () => {
    const socket = connect({ host: HOST, port, localAddress: from })
    socket.on('error', () => {})
    socket.on('data', () => {})
    const lines = [`POST ${path} HTTP/1.1`, `Host: ${HOST}`, 'Content-Type: application/json']
    socket.write(`${lines.join('\r\n')}\r\nContent-Length: ${announced}\r\n\r\n`)
    socket.write(piece)
    return socket
  })
}
