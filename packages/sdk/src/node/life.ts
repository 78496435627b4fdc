import { LIMITS } from '@chancery/contract'
import { instantOf, readInstant, writeJson } from '@chancery/protocol'
import type { Instant, JoinCertificate } from '@chancery/protocol'
import type { AgentFacts } from '../areas/agents.ts'
import type { Client } from '../client.ts'
import { RefusedError, RequestError } from '../errors.ts'
import { CertificateError, lifeHours, readKept, requireOurs } from './certificate.ts'
import type { Expected } from './certificate.ts'
import type { NodeAction, NodeEmitter } from './events.ts'
import { isFinalRefusal } from './final-refusals.ts'
import type { NodeLists } from './lists.ts'
import { after, isDue, paceSeconds, refreshSeconds, renewalTime, retrySeconds, sleepMs } from './schedule.ts'
import type { NodeStore } from './store.ts'

export interface LifeParts {
  readonly client: Client
  readonly store: NodeStore
  readonly lists: NodeLists
  readonly events: NodeEmitter
  readonly clock: () => Instant
  readonly random: () => number
  readonly expected: () => Expected
  readonly signal: AbortSignal
  readonly status: string | (() => string)
  readonly agent: AgentFacts | undefined
  readonly certificate: JoinCertificate
}

const CLOCK_WARNING_SECONDS = 60

type Due = 'heartbeat' | 'renew' | 'announce'

/** One node: its certificate, and when it does what next. */
export class NodeLife {
  readonly #parts: LifeParts
  readonly #at: Record<Due, Instant>
  readonly #failures: Record<Due, number> = { heartbeat: 0, renew: 0, announce: 0 }
  #certificate: JoinCertificate
  /** The store would not take the certificate in use; held here until it does. */
  #isUnsaved = false
  #isAnnounced = false

  constructor(parts: LifeParts) {
    this.#parts = parts
    this.#certificate = parts.certificate
    const now = parts.clock()
    this.#at = { heartbeat: now, renew: this.#timeToRenew(), announce: now }
  }

  get certificate(): JoinCertificate {
    return this.#certificate
  }

  /** Does what is due. Throws only when nothing that could be done later would help. */
  async step(): Promise<void> {
    const { agent, clock, signal } = this.#parts
    if (this.#isUnsaved) await this.#save()
    if (clock() >= this.#at.renew) await this.#attempt('renew', () => this.#renew())
    // A clock that was turned back must not put a heartbeat off for ever; a renewal then simply has more time.
    if (!signal.aborted && isDue(this.#at.heartbeat, clock())) await this.#attempt('heartbeat', () => this.#heartbeat())
    if (agent === undefined || signal.aborted) return
    if (isDue(this.#at.announce, clock(), lifetimeOf(agent)))
      await this.#attempt('announce', () => this.#announce(agent))
  }

  restMs(): number {
    const { heartbeat, renew, announce } = this.#at
    const times = this.#parts.agent === undefined ? [heartbeat, renew] : [heartbeat, renew, announce]
    return sleepMs(this.#parts.clock(), ...times)
  }

  /**
   * The last things to do: a certificate that is not kept yet would be lost with the process, and an agent that goes
   * says so. When that fails, the registration runs out by itself.
   */
  async settle(withinMs: number): Promise<void> {
    const { client, events } = this.#parts
    if (this.#isUnsaved) await this.#save()
    if (!this.#isAnnounced) return
    try {
      await client.agents.remove({ signal: AbortSignal.timeout(withinMs), budgetMs: withinMs })
    } catch (error) {
      events.emit('failed', { action: 'withdraw', error: toError(error), retryInSeconds: Infinity })
    }
  }

  #timeToRenew(): Instant {
    const { issued_at, expires_at } = this.#certificate
    return renewalTime({ issuedAt: instantOf(issued_at), expiresAt: instantOf(expires_at) }, this.#parts.random())
  }

  async #heartbeat(): Promise<void> {
    const { client, clock, events, lists, signal, status } = this.#parts
    const { cert_id } = this.#certificate
    const said = typeof status === 'string' ? status : status()
    const answer = await client.enrollment.heartbeat({ cert_id, status: said }, { signal })
    const nextSeconds = paceSeconds(answer.next_heartbeat_seconds)
    this.#at.heartbeat = after(clock(), nextSeconds)
    events.emit('heartbeat', { answer, nextSeconds })
    this.#warnOfClock(answer.server_time)
    await this.#follow('crl', nextSeconds, () => lists.followCrl(answer))
    await this.#follow('policy', nextSeconds, () => lists.followPolicy(answer))
    const entry = lists.entryOf(cert_id)
    if (entry !== undefined) throw new CertificateError(`the certificate ${cert_id} is revoked: ${entry.reason}`)
  }

  /** A list that could not be fetched is left to the next heartbeat: lists may lag, they never grant. */
  async #follow(action: 'crl' | 'policy', retryInSeconds: number, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!this.#parts.signal.aborted)
        this.#parts.events.emit('failed', { action, error: toError(error), retryInSeconds })
    }
  }

  #warnOfClock(serverTime: string): void {
    const there = readInstant(serverTime)
    const offsetSeconds = there === undefined ? 0 : Number(this.#parts.clock() - there) / 1_000_000
    if (Math.abs(offsetSeconds) >= CLOCK_WARNING_SECONDS) this.#parts.events.emit('clock', { offsetSeconds })
  }

  async #renew(): Promise<void> {
    const { client, events, expected, signal, store } = this.#parts
    // Somebody may have renewed beside this process: what is kept counts, when it is good for longer.
    const kept = await readKept(await store.read('certificate'), expected())
    if (kept !== undefined && instantOf(kept.expires_at) > instantOf(this.#certificate.expires_at)) {
      this.#adopt(kept)
      return
    }
    const old = this.#certificate
    const certificate = await client.enrollment.renew(
      { cert_id: old.cert_id, validity_hours: lifeHours(old) },
      { signal },
    )
    await requireOurs(certificate, expected())
    this.#adopt(certificate)
    await this.#save()
    events.emit('renewed', { certificate, replaces: old.cert_id })
  }

  #adopt(certificate: JoinCertificate): void {
    this.#certificate = certificate
    this.#at.renew = this.#timeToRenew()
  }

  /**
   * A full disk must not cost the certificate: renewing again would be refused once the grace time is over. It is tried
   * again at every step.
   */
  async #save(): Promise<void> {
    try {
      await this.#parts.store.write('certificate', writeJson(this.#certificate))
      this.#isUnsaved = false
    } catch (error) {
      this.#isUnsaved = true
      this.#parts.events.emit('failed', { action: 'save', error: toError(error), retryInSeconds: 0 })
    }
  }

  async #announce(agent: AgentFacts): Promise<void> {
    const { client, clock, events, random, signal } = this.#parts
    const announced = await client.agents.register(agent, { signal })
    this.#isAnnounced = true
    this.#at.announce = after(clock(), refreshSeconds(lifetimeOf(agent), random()))
    events.emit('announced', announced)
  }

  /** Runs one call; a failure that time may heal is told and tried again until it is done. */
  async #attempt(action: Due & NodeAction, work: () => Promise<void>): Promise<void> {
    const { clock, events, random, signal } = this.#parts
    try {
      await work()
      this.#failures[action] = 0
    } catch (error) {
      if (signal.aborted) return
      if (isFinal(error, action)) throw error
      this.#failures[action] += 1
      const retryInSeconds = retrySeconds(this.#failures[action], random())
      this.#at[action] = after(clock(), retryInSeconds)
      events.emit('failed', { action, error: toError(error), retryInSeconds })
    }
  }
}

function isFinal(error: unknown, action: Due): boolean {
  if (error instanceof RefusedError) return isFinalRefusal(error)
  // A descriptor that has no form will not get one; a renewal that does not verify may have come from a broken proxy.
  return error instanceof RequestError || (error instanceof CertificateError && action === 'heartbeat')
}

function lifetimeOf(agent: AgentFacts): number {
  return agent.lifetimeSeconds ?? LIMITS.agentLifetimeUsualSeconds
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
