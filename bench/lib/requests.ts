import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { seedSigner, signOperatorRequest, writeInstant } from '@chancery/protocol'
import type { OperatorHeaders, OperatorRequest } from '@chancery/protocol'
import type { LoadTask, RequestPlan } from './load-task.ts'

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

export function operatorRequest({ path, audience }: OperatorPlan): Omit<OperatorRequest, 'key_id'> {
  const timestamp = writeInstant(BigInt(Date.now()) * 1000n)
  return { method: 'GET', path, query: {}, audience, body: {}, timestamp, nonce: randomUUID() }
}

function toBytes(lines: readonly string[]): Buffer {
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}
