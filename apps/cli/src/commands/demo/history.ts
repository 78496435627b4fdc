import { readFile } from 'node:fs/promises'
import { HOUR, type Instant, MINUTE } from '@chancery/protocol'
import type { Client } from '@chancery/sdk/authority'
import { addPartners, importFeeds, joinNodes, operatorOf, range, revokeSome } from './create-data.ts'
import type { DemoTarget, JoinedNode } from './create-data.ts'
import { CAPABILITY, askedAmount, attestAskers, decide, pay } from './decisions.ts'
import { nodeName } from './demo-nodes.ts'

/** The clock of an authority while the demo creates past activity. It runs on between the steps, so no two events tie. */
class PastClock {
  #at: Instant
  #movedAtMs: number = performance.now()

  constructor(start: Instant) {
    this.#at = start
  }

  now = (): Instant => this.#at + BigInt(Math.floor((performance.now() - this.#movedAtMs) * 1000))

  monotonicMs = (): number => performance.now()

  /** Moves forwards only: an authority refuses to date a record before an earlier one. */
  moveTo(at: Instant): void {
    const now = this.now()
    this.#at = at > now ? at : now
    this.#movedAtMs = performance.now()
  }
}

/** How far the past activity goes back. */
export const PAST: Instant = 12n * HOUR
/** The chart of active nodes has one point for five minutes. */
const STEP = 5n * MINUTE
const STEPS = Number(PAST / STEP)
const STEPS_OF_HOUR = Number(HOUR / STEP)
/** Nodes above this number join in the last step, so that a large demo starts in less time. */
const MAX_PAST_NODES = 300
const TOGETHER = 64
/** Short certificates begin in this part of the last hour, so that they are renewed while the demo runs. */
const LAST_STEPS = 9

/** A node asks for a decision once an hour, and at the end in every step. */
const ASKING_STEPS = 18

/** Times, in steps from the start. */
const AT = { decisions: 24, partners: 36, feeds: STEPS - 24, outage: STEPS - 26 } as const

export type PastTarget = Omit<DemoTarget, 'url' | 'now'> & {
  /** Settings file of the authority. */
  readonly settings: string
}

/**
 * Creates the past: an authority on a free port runs with a clock that begins 12 hours ago and moves in steps of five
 * minutes. Nodes join, send heartbeats and ask for decisions through the usual routes, and the authority counts
 * them with its usual job.
 */
export async function createPast(given: PastTarget, now: Instant, report: (percent: number) => void): Promise<void> {
  const clock = new PastClock(now - PAST)
  const authority = await startPastAuthority(given.settings, clock)
  try {
    const target: DemoTarget = { ...given, url: authority.url, now: clock.now }
    const past = new PastActivity(target, operatorOf(target))
    for (const step of range(0, STEPS)) {
      clock.moveTo(now - PAST + BigInt(step + 1) * STEP)
      await past.run(step)
      await authority.countNodes()
      report(Math.round(((step + 1) * 100) / STEPS))
    }
  } finally {
    await authority.close()
  }
}

class PastActivity {
  readonly #target: DemoTarget
  readonly #operator: Client
  #nodes: readonly JoinedNode[] = []
  #attestations: readonly string[] = []
  #turn = 0

  constructor(target: DemoTarget, operator: Client) {
    this.#target = target
    this.#operator = operator
  }

  async run(step: number): Promise<void> {
    const { now, nodes } = this.#target
    const operator = this.#operator
    const isLast = step === STEPS - 1
    if (step === 0) await operator.policy.publish({ policy_id: 'demo-policy' })
    await this.#heartbeats(step)
    await this.#join(isLast ? nodes : nodesAt(step, Math.min(nodes, MAX_PAST_NODES)), step)
    if (step === AT.decisions) {
      await decide(operator, now())
      this.#attestations = await attestAskers(operator, [nodeName(0)])
    }
    if (step === AT.partners) await addPartners(operator)
    if (step === AT.feeds) await importFeeds(operator, now())
    if (step > AT.decisions && (step % STEPS_OF_HOUR === 0 || step > STEPS - ASKING_STEPS)) await this.#ask()
    if (step > AT.decisions && step % STEPS_OF_HOUR === 0) await operator.evidence.anchor()
    if (isLast) await revokeSome(this.#target, operator, this.#nodes)
  }

  async #join(count: number, step: number): Promise<void> {
    const indexes = range(this.#nodes.length, count)
    const allowShort = step >= STEPS - LAST_STEPS
    this.#nodes = [...this.#nodes, ...(await joinNodes(this.#target, this.#operator, indexes, { allowShort }))]
  }

  async #heartbeats(step: number): Promise<void> {
    const hasOutage = step === AT.outage || step === AT.outage + 1
    const beating = hasOutage ? this.#nodes.filter(({ index }) => index % 3 !== 0) : this.#nodes
    for (let at = 0; at < beating.length; at += TOGETHER) {
      const batch = beating.slice(at, at + TOGETHER)
      await Promise.all(
        batch.map(({ client, certId }) => client.enrollment.heartbeat({ cert_id: certId, status: 'healthy' })),
      )
    }
  }

  async #ask(): Promise<void> {
    const [node, attestation_id] = [this.#nodes[0], this.#attestations[0]]
    if (node === undefined || attestation_id === undefined) return
    const amount = askedAmount((this.#turn += 1))
    const { decision } = await node.client.boundary.request({
      cert_id: node.certId,
      attestation_id,
      requested_capability: CAPABILITY,
      context: { context_id: crypto.randomUUID(), request_parameters: { amount } },
    })
    if (decision.authorized && this.#turn % 2 === 0)
      await pay(this.#operator, decision, decision.decision_id.slice(0, 8))
  }
}

/** Returns the number of nodes at a step: a few for 8 hours, a tenth after 11 hours, all at the end. */
export function nodesAt(step: number, nodes: number): number {
  const [few, some] = [Math.ceil(nodes / 100), Math.ceil(nodes / 10)]
  const [first, second] = [STEPS - 48, STEPS - 12]
  const part = (from: number, to: number, at: number): number => Math.round(from + (to - from) * at)
  if (step < first) return few
  if (step < second) return part(few, some, (step - first) / (second - first))
  return part(some, nodes, (step - second) / (STEPS - 1 - second))
}

interface PastAuthority {
  readonly url: string
  /** Runs the job that counts the nodes once a minute. */
  countNodes(): Promise<void>
  close(): Promise<void>
}

async function startPastAuthority(settingsFile: string, clock: PastClock): Promise<PastAuthority> {
  const { readAuthoritySettings, startAuthority } = await import('@chancery/authority')
  const envFile = { path: settingsFile, text: await readFile(settingsFile, 'utf8') }
  const { values, problems } = readAuthoritySettings({ flags: {}, env: {}, envFile })
  if (values === undefined) throw new Error(problems.join(' '))
  const running = await startAuthority({ ...values, port: 0 }, { log: SILENT, clock })
  const job = running.features.dashboard.jobs.find(({ name }) => name === 'record-activity')
  const { signal } = new AbortController()
  return {
    url: running.url,
    countNodes: async () => job?.run(signal),
    close: async () => {
      running.turnNotReady()
      await running.stopAccepting()
      await running.close()
    },
  }
}

const ignore = (): void => undefined
/** The log of the past would have times of the past between other lines of the terminal. */
const SILENT = {
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  fatal: ignore,
  flush: ignore,
  child: () => SILENT,
}
