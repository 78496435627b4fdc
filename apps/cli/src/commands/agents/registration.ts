import type { Instant } from '@chancery/protocol'
import { type AgentFacts, type Client, RefusedError, RequestError, schedule } from '@chancery/sdk'
import type { CommandContext } from '../../context.ts'
import { explain } from '../../errors/explain.ts'
import type { Report } from '../../output/events.ts'

const { after, isDue, refreshSeconds, retrySeconds, sleepMs } = schedule

export interface RegistrationParts {
  readonly context: Pick<CommandContext, 'now' | 'random'>
  readonly client: Client
  readonly report: Report
  readonly stop: AbortSignal
  readonly facts: AgentFacts
}

/** Refusals that a retry does not change. */
const FINAL: ReadonlySet<string> = new Set([
  'descriptor_network_mismatch',
  'descriptor_signature_required',
  'invalid_agent_descriptor',
  'invalid_signature',
  'node_has_no_active_certificate',
  'node_key_revoked',
])

const REMOVE_MS = 5000
const USUAL_LIFETIME_SECONDS = 600

/** Registers one agent and refreshes the registration. */
export class Registration {
  readonly #parts: RegistrationParts
  #announceAt: Instant
  #failures = 0
  #isRegistered = false

  constructor(parts: RegistrationParts) {
    this.#parts = parts
    this.#announceAt = parts.context.now()
  }

  /** Registers when it is due. Throws only when a retry cannot succeed. */
  async step(): Promise<void> {
    const { context, client, facts, report, stop } = this.#parts
    if (!isDue(this.#announceAt, context.now(), facts.lifetimeSeconds ?? USUAL_LIFETIME_SECONDS)) return
    try {
      const { expires_at } = await client.agents.register(facts, { signal: stop })
      this.#failures = 0
      const wait = refreshSeconds(facts.lifetimeSeconds ?? USUAL_LIFETIME_SECONDS, context.random())
      this.#announceAt = after(context.now(), wait)
      const [event, text] = this.#isRegistered ? ['refreshed', 'registered again'] : ['registered', 'registered']
      this.#isRegistered = true
      const details = { agent_id: facts.agent_id, expires_at, refresh_in_seconds: Math.round(wait) }
      report({ event, facts: details, text: `${facts.agent_id} ${text}, until ${expires_at}`, tone: 'good' })
    } catch (error) {
      if (stop.aborted) return
      if (error instanceof RequestError || (error instanceof RefusedError && FINAL.has(error.code))) throw error
      this.#failures += 1
      const wait = retrySeconds(this.#failures, context.random())
      this.#announceAt = after(context.now(), wait)
      const { code, message } = explain(error)
      const details = { action: 'announce', code, message, retry_in_seconds: Math.ceil(wait), failures: this.#failures }
      const text = `registration failed: ${message} Trying again in ${Math.ceil(wait)} s`
      report({ event: 'failed', facts: details, text, tone: 'warn' })
    }
  }

  nextDelayMs(): number {
    return sleepMs(this.#parts.context.now(), this.#announceAt)
  }

  /** Removes the agent before the process ends. If that fails, the registration expires. */
  async remove(): Promise<void> {
    const { client, facts, report } = this.#parts
    if (!this.#isRegistered) return
    try {
      await client.agents.remove({ signal: AbortSignal.timeout(REMOVE_MS) })
      report({ event: 'withdrawn', facts: { agent_id: facts.agent_id }, text: `${facts.agent_id} removed` })
    } catch (error) {
      const { code, message } = explain(error)
      const details = { action: 'withdraw', code, message }
      report({
        event: 'failed',
        facts: details,
        text: `cannot remove the agent, so its registration expires: ${message}`,
        tone: 'warn',
      })
    }
  }
}
