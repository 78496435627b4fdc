import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { seedSigner, signOperatorRequest, writeInstant, writeJson } from '@chancery/protocol'
import type { JsonObject, OperatorHeaders, OperatorRequest } from '@chancery/protocol'
import type { LoadTask, RequestPlan } from './load-task.ts'
import type { BenchNetwork } from './network.ts'

/** Returns the bytes of request number `index`; undefined when there are no more. */
export type RequestSource = (index: number) => Buffer | undefined

export type OperatorPlan = Extract<RequestPlan, { readonly kind: 'operator' }>

/** Builds the requests of a slice, before the clock starts. */
export async function buildRequests({ plan, host, port, maxRequests }: LoadTask): Promise<RequestSource> {
  if (plan.kind === 'bodies' || plan.kind === 'signed-bodies') return readBodies(plan, `${host}:${port}`)
  const lines = [
    `GET ${plan.kind === 'operator' ? (plan.sentTo ?? plan.path) : plan.path} HTTP/1.1`,
    `Host: ${host}:${port}`,
    'User-Agent: chancery-bench',
    'Accept: application/json',
    ...Object.entries(plan.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
  ]
  if (plan.kind === 'plain') {
    const bytes = toBytes(lines)
    return (index) => (index < maxRequests ? bytes : undefined)
  }
  const pool: Buffer[] = []
  const sign = await operatorHeaders(plan)
  while (pool.length < maxRequests) {
    const signed = Object.entries(await sign()).map(([name, value]) => `${name}: ${value}`)
    pool.push(toBytes([...lines, ...signed]))
  }
  return (index) => pool[index]
}

async function readBodies(plan: Extract<RequestPlan, { readonly file: string }>, host: string): Promise<RequestSource> {
  const lines = (await readFile(plan.file, 'utf8')).split('\n').filter((line) => line !== '')
  const head = [
    `POST ${plan.path} HTTP/1.1`,
    `Host: ${host}`,
    'User-Agent: chancery-bench',
    'Content-Type: application/json',
  ]
  const pool = lines.map((line) => {
    const { headers, body } = plan.kind === 'bodies' ? { headers: {}, body: line } : readSigned(line)
    const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    const all = [...head, ...more, `Content-Length: ${Buffer.byteLength(body)}`]
    return Buffer.from(`${all.join('\r\n')}\r\n\r\n${body}`)
  })
  return (index) => pool[index]
}

function readSigned(line: string): { headers: Readonly<Record<string, string>>; body: string } {
  return JSON.parse(line) as ReturnType<typeof readSigned>
}

/** Signs the request of the plan, with a new nonce each time. */
export async function operatorHeaders(plan: OperatorPlan): Promise<() => Promise<OperatorHeaders>> {
  const signer = await seedSigner(plan.keyId, plan.seed)
  return () => signOperatorRequest(operatorRequest(plan), signer)
}

export function operatorRequest({
  path,
  audience,
}: Pick<OperatorPlan, 'path' | 'audience'>): Omit<OperatorRequest, 'key_id'> {
  const timestamp = writeInstant(BigInt(Date.now()) * 1000n)
  return { method: 'GET', path, query: {}, audience, body: {}, timestamp, nonce: randomUUID() }
}

function toBytes(lines: readonly string[]): Buffer {
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

/** Calls of an operator to a route, each with its own headers, as lines of a file with signed bodies. */
export async function signAll(
  path: string,
  count: number,
  body: JsonObject,
  { audience, operator }: BenchNetwork,
): Promise<readonly string[]> {
  const signer = await seedSigner(operator.keyId, operator.seed)
  const text = writeJson(body)
  const lines: string[] = []
  for (let index = 0; index < count; index += 1) {
    const facts = { ...operatorRequest({ path, audience }), method: 'POST', body }
    lines.push(JSON.stringify({ headers: await signOperatorRequest(facts, signer), body: text }))
  }
  return lines
}
