import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { send } from '@chancery/testkit'
import type { Outcome } from './authority-attacks.ts'
import type { AuthoritySetup, GatewaySetup } from './setup.ts'
import { text as textOf } from '../lib/rows.ts'

/** Another caller gets a response within this time, during and after an attack. */
const SERVED_MS = 5000
/** The authority releases all resources of an attack within this time after its end. */
const RELEASED_MS = 8000
const MEMORY_MAX_KB = 1_500_000

/** No 5xx, whatever was sent. */
export function checkOutcome({ statuses, complaints }: Outcome): string[] {
  const failures = statuses.filter((status) => status === 500)
  return [...complaints, ...failures.map((status) => `answered with ${status}`)]
}

/** Other callers are served. */
export async function checkServed({ authority, node, certId }: AuthoritySetup, from: string): Promise<string[]> {
  const found: string[] = []
  const started = performance.now()
  const [beat, list] = await Promise.all([
    node.heartbeat(certId, {}, { from }).catch(() => undefined),
    authority.request('GET', '/crl', { from }).catch(() => undefined),
  ])
  if (beat?.status !== 200) found.push(`the heartbeat of another caller: ${beat?.status ?? 'no answer'}`)
  if (list?.status !== 200) found.push(`the list for another caller: ${list?.status ?? 'no answer'}`)
  const tookMs = performance.now() - started
  if (tookMs > SERVED_MS) found.push(`another caller waited ${Math.round(tookMs)} ms`)
  return found
}

export async function checkGatewayServed(setup: GatewaySetup, from: string): Promise<string[]> {
  const started = performance.now()
  const { gateway, client, certificate } = setup
  const options = { token: client.token, body: { certificate }, from }
  const answer = await gateway.request('POST', '/verify', options).catch(() => undefined)
  const isTrusted = answer?.status === 200 && answer.text.includes('"trusted":true')
  const tookMs = performance.now() - started
  if (!isTrusted)
    return [`the good caller of the gateway: ${answer?.status ?? 'no answer'} ${answer?.text.slice(0, 120)}`]
  return tookMs > SERVED_MS ? [`the good caller of the gateway waited ${Math.round(tookMs)} ms`] : []
}

const USAGE_GAUGES = [
  'chancery_http_requests_in_flight',
  'chancery_http_verifications_in_flight',
  'chancery_http_body_bytes',
] as const

/** No slot and no body memory is in use when no request is open. */
export async function checkReleased({ url }: AuthoritySetup): Promise<string[]> {
  const deadline = performance.now() + RELEASED_MS
  for (;;) {
    const { text: metrics } = await send(url, 'GET', '/metrics', { from: '127.9.9.9' })
    const gauges = USAGE_GAUGES.flatMap((name) => samplesOf(metrics, name))
    const used = gauges.filter(({ value }) => value !== 0)
    if (gauges.length < USAGE_GAUGES.length) return ['the metrics do not show used slots and memory']
    if (used.length === 0) return []
    if (performance.now() > deadline) return used.map(({ line }) => `still held: ${line}`)
    await pause(20)
  }
}

function samplesOf(text: string, name: string): readonly { readonly line: string; readonly value: number }[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith(name))
    .map((line) => ({ line, value: Number(line.split(' ').at(-1)) }))
}

/**
 * Stored refusals of unauthenticated callers: separate entries, and one sum for each code (protocol/trust-operations
 * 6.14).
 */
const REJECTIONS_PER_MINUTE = 60 + 20

/** The number of rows that unauthenticated callers cause is limited by time, not by what they send. */
export async function checkStored(setup: AuthoritySetup): Promise<string[]> {
  const minutes = Math.ceil((Date.now() - setup.startedAt) / 60_000) + 1
  const found: string[] = []
  const lists = await countRows(setup, 'crl_versions')
  if (lists > minutes + setup.revocations + 3) found.push(`${lists} lists are stored after ${minutes} minutes`)
  const rejections =
    (await countRows(setup, "evidence_entries where entry_kind = 'rejection'")) +
    (await countRows(setup, 'evidence_rejections'))
  if (rejections > minutes * REJECTIONS_PER_MINUTE) found.push(`${rejections} rejections after ${minutes} minutes`)
  const memory = Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${setup.authority.pid}/status`, 'latin1'))?.[1])
  if (memory > MEMORY_MAX_KB) found.push(`the authority uses ${memory} kB`)
  const errors = setup.authority.log.filter((line) => line.includes('"unexpected error"'))
  return [...found, ...errors.slice(0, 3)]
}

async function countRows({ rows }: AuthoritySetup, table: string): Promise<number> {
  const [row] = await rows.query(`select count(*) as count from ${table}`)
  return Number(textOf(row, 'count'))
}
