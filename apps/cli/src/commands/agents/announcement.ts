import type { Instant } from '@chancery/protocol'
import { RefusedError, RequestError, schedule } from '@chancery/sdk'
import type { AgentFacts, Client } from '@chancery/sdk'
import type { CommandContext } from '../../context.ts'
import { explain } from '../../explain.ts'
import type { Report } from '../../output/events.ts'

const { after, isDue, refreshSeconds, retrySeconds, sleepMs } = schedule

export interface AnnouncementParts {
  readonly context: Pick<CommandContext, 'now' | 'random'>
  readonly client: Client
  readonly report: Report
  readonly stop: AbortSignal
  readonly facts: AgentFacts
}

/** The same announcement would be refused again, however often it is signed. */
const FINAL: ReadonlySet<string> = new Set([
  'descriptor_network_mismatch',
  'descriptor_signature_required',
  'invalid_agent_descriptor',
  'invalid_signature',
  'node_has_no_active_certificate',
  'node_key_revoked',
])

const WITHDRAW_MS = 5000
const USUAL_LIFETIME_SECONDS = 600

/** Keeps one agent registered. */
export class Announcement {
  readonly #parts: AnnouncementParts
  #announceAt: Instant
  #failures = 0
  #isRegistered = false

  constructor(parts: AnnouncementParts) {
    this.#parts = parts
    this.#announceAt = parts.context.now()
  }

  /** Announces when it is time. Throws only when nothing that could be done later would help. */
  async step(): Promise<void> {
    const { context, client, facts, report, stop } = this.#parts
    if (!isDue(this.#announceAt, context.now(), facts.lifetimeSeconds ?? USUAL_LIFETIME_SECONDS)) return
    try {
      const { expires_at } = await client.agents.register(facts, { signal: stop })
      this.#failures = 0
      const wait = refreshSeconds(facts.lifetimeSeconds ?? USUAL_LIFETIME_SECONDS, context.random())
      this.#announceAt = after(context.now(), wait)
      const [event, text] = this.#isRegistered ? ['refreshed', 'announced anew'] : ['registered', 'announced']
      this.#isRegistered = true
      const told = { agent_id: facts.agent_id, expires_at, refresh_in_seconds: Math.round(wait) }
      report({ event, facts: told, text: `${facts.agent_id} ${text}, until ${expires_at}`, tone: 'good' })
    } catch (error) {
      if (stop.aborted) return
      if (error instanceof RequestError || (error instanceof RefusedError && FINAL.has(error.code))) throw error
      this.#failures += 1
      const wait = retrySeconds(this.#failures, context.random())
      this.#announceAt = after(context.now(), wait)
      const { code, message } = explain(error)
      const told = { action: 'announce', code, message, retry_in_seconds: Math.ceil(wait), failures: this.#failures }
      const text = `announcing failed: ${message} Trying again in ${Math.ceil(wait)} s`
      report({ event: 'failed', facts: told, text, tone: 'warn' })
    }
  }

  restMs(): number {
    return sleepMs(this.#parts.context.now(), this.#announceAt)
  }

  /** An agent that goes says so. When that fails, the registration runs out by itself. */
  async withdraw(): Promise<void> {
    const { client, facts, report } = this.#parts
    if (!this.#isRegistered) return
    try {
      await client.agents.remove({ signal: AbortSignal.timeout(WITHDRAW_MS) })
      report({ event: 'withdrawn', facts: { agent_id: facts.agent_id }, text: `${facts.agent_id} withdrawn` })
    } catch (error) {
      const { code, message } = explain(error)
      const told = { action: 'withdraw', code, message }
      report({ event: 'failed', facts: told, text: `not withdrawn, it runs out by itself: ${message}`, tone: 'warn' })
    }
  }
}
