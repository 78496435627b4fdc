import { DAY, type Instant, MINUTE } from '@chancery/protocol'
import { type Client, type Node, RefusedError } from '@chancery/sdk'
import { CAPABILITY, askedAmount, attestAskers, pay } from './decisions.ts'
import { nodeName } from './demo-nodes.ts'
import { importFeeds, renewTreaties } from './partners.ts'

export interface ActivityOptions {
  readonly operator: Client
  /** Returns a running node. */
  readonly find: (index: number) => Node | undefined
  readonly now: () => Instant
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
  readonly note: (text: string) => void
}

const ASK_SECONDS = 20
const KEEP_EVERY = 10n * MINUTE
const ASKERS = [0, 1, 2]
const ATTESTED_FOR = 25n * DAY

/**
 * Keeps a demo in use until it is stopped: its nodes ask for decisions, treaties are renewed before they end, and the
 * feeds of partners are imported again.
 */
export async function runActivity(options: ActivityOptions): Promise<void> {
  const { now, sleep, signal } = options
  const activity = new Activity(options)
  let keptAt = now()
  for (let turn = 1; !signal.aborted; turn += 1) {
    await sleep(ASK_SECONDS * 1000, signal)
    if (signal.aborted) return
    await activity.attempt(() => activity.ask(turn))
    if (now() - keptAt < KEEP_EVERY) continue
    keptAt = now()
    await activity.attempt(() => keepCurrent(options))
  }
}

/** Renews treaties and imports feeds. A demo that was stopped for days has no old warnings after it. */
export async function keepCurrent({ operator, now }: Pick<ActivityOptions, 'operator' | 'now'>): Promise<void> {
  await renewTreaties(operator, now())
  await importFeeds(operator, now())
}

class Activity {
  readonly #options: ActivityOptions
  readonly #attestations = new Map<number, { readonly id: string; readonly until: Instant }>()
  #hasFailed = false

  constructor(options: ActivityOptions) {
    this.#options = options
  }

  /** A failure is reported once; the next turn tries again. */
  async attempt(work: () => Promise<void>): Promise<void> {
    const { note, signal } = this.#options
    try {
      await work()
      this.#hasFailed = false
    } catch (error) {
      // An operator revoked the node. It stops at its next heartbeat.
      const isRevoked = error instanceof RefusedError && error.status === 403
      if (signal.aborted || isRevoked || this.#hasFailed) return
      this.#hasFailed = true
      note(`the demo could not continue its activity: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  /** One node asks to pay an invoice. Every second allowed payment is executed, with its evidence. */
  async ask(turn: number): Promise<void> {
    const { operator, find } = this.#options
    const index = ASKERS[turn % ASKERS.length] ?? 0
    const node = find(index) ?? find(0)
    if (node === undefined) return
    const attestation_id = await this.#attestationOf(node === find(index) ? index : 0)
    const { decision } = await node.ask(CAPABILITY, {
      attestation_id,
      context: { request_parameters: { amount: askedAmount(turn) } },
    })
    if (decision.authorized && turn % 2 === 0) await pay(operator, decision, decision.decision_id.slice(0, 8))
  }

  async #attestationOf(index: number): Promise<string> {
    const { operator, now } = this.#options
    const known = this.#attestations.get(index)
    if (known !== undefined && now() < known.until) return known.id
    const [id = ''] = await attestAskers(operator, [nodeName(index)])
    this.#attestations.set(index, { id, until: now() + ATTESTED_FOR })
    return id
  }
}
