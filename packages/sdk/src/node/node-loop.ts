// oxlint-disable max-lines -- one loop: what is due, in its order
import { LIMITS } from '@chancery/contract'
import { DAY, instantOf, readInstant, verifyList, writeJson } from '@chancery/protocol'
import type { Instant, JoinCertificate } from '@chancery/protocol'
import type { AgentFacts } from '../api/agent-calls.ts'
import type { NodeAreas } from './areas.ts'
import { RefusedError } from '../errors.ts'
import {
  Follower,
  isFinal,
  isTooLate,
  isUnknown,
  listedAsRevoked,
  readStored,
  rejoin,
  requireOwnOrFollow,
  toNodeError,
} from './certificate.ts'
import type { Expected } from './certificate.ts'
import { type PlatformEvidence, freshEvidence } from './evidence.ts'
import type { NodeAction } from './events.ts'
import type { NodeSettings } from './settings.ts'
import type { FollowedKeys, NodeStore } from './followed.ts'
import type { NodeLists } from './lists.ts'
import {
  after,
  isDue,
  lifetimeHours,
  paceSeconds,
  refreshSeconds,
  renewalTime,
  retrySeconds,
  sleepMs,
} from './schedule.ts'

export interface NodeLoopParts {
  readonly client: NodeAreas
  readonly store: NodeStore
  readonly lists: NodeLists
  readonly followed: FollowedKeys
  readonly settings: NodeSettings
  readonly clock: () => Instant
  readonly random: () => number
  readonly expected: () => Expected
  readonly signal: AbortSignal
  readonly renewBeforeHours: number
  readonly certificate: JoinCertificate
  /** For a certificate that came from evidence: each renewal needs fresh evidence. */
  readonly evidence: PlatformEvidence | undefined
}

const CLOCK_WARNING_SECONDS = 30
/** Over so many heartbeats a fleet renews to a new key. */
const MOVING_PACES = 20

type Due = 'heartbeat' | 'renew' | 'register'

/** One node: its certificate, and when it does what next. */
export class NodeLoop {
  readonly #parts: NodeLoopParts
  readonly #follower: Follower
  readonly #at: Record<Due, Instant>
  /** In a row, by what was tried. */
  readonly #failures = new Map<NodeAction, number>()
  #certificate: JoinCertificate
  /** The store would not take the certificate in use; held here until it does. */
  #isUnsaved = false
  /** The certificate that was presented for its adoption. */
  #presented = ''
  #isRegistered = false
  /** A renewal to the new key is planned. */
  #isMoving = false
  /** A newer key history may come with the same block, which heartbeats do not report: fetched once a day. */
  #followAt: Instant = 0n

  constructor(parts: NodeLoopParts) {
    this.#parts = parts
    this.#follower = new Follower(parts)
    this.#certificate = parts.certificate
    const now = parts.clock()
    this.#at = { heartbeat: now, renew: this.#timeToRenew(), register: now }
  }

  get certificate(): JoinCertificate {
    return this.#certificate
  }

  /** Does what is due. Throws only when nothing that could be done later would help. */
  async step(): Promise<void> {
    const { clock, settings, signal } = this.#parts
    const { agent } = settings
    if (this.#isUnsaved) await this.#save()
    else if (clock() >= this.#at.renew || isDue(this.#at.heartbeat, clock())) await this.#useStoredCertificate()
    if (clock() >= this.#at.renew) await this.#attempt('renew', () => this.#renew())
    // A clock that moved back must not stop heartbeats; a renewal then has more time.
    if (!signal.aborted && isDue(this.#at.heartbeat, clock())) await this.#attempt('heartbeat', () => this.#heartbeat())
    if (agent === undefined || signal.aborted) return
    if (isDue(this.#at.register, clock(), lifetimeOf(agent)))
      await this.#attempt('register', () => this.#register(agent))
  }

  get isRenewalDue(): boolean {
    return this.#parts.clock() >= this.#at.renew
  }

  /** Renews for a call, outside of a run. */
  async renewNow(): Promise<void> {
    await this.#useStoredCertificate()
    if (this.isRenewalDue) await this.#renew()
  }

  nextDelayMs(): number {
    const { heartbeat, renew, register } = this.#at
    const times = this.#parts.settings.agent === undefined ? [heartbeat, renew] : [heartbeat, renew, register]
    return sleepMs(this.#parts.clock(), ...times)
  }

  /**
   * Finishes the node: stores a certificate that would be lost with the process, and removes the agent
   * from the registry. When that fails, the registration expires.
   */
  async finish(withinMs: number): Promise<void> {
    if (this.#isUnsaved) await this.#save()
    if (!this.#isRegistered) return
    try {
      await this.#parts.client.agents.remove({ signal: AbortSignal.timeout(withinMs), budgetMs: withinMs })
    } catch (error) {
      this.#fail('withdraw', error, Infinity)
    }
  }

  #timeToRenew(): Instant {
    const { issued_at, expires_at } = this.#certificate
    const lifetime = { issuedAt: instantOf(issued_at), expiresAt: instantOf(expires_at) }
    return renewalTime(lifetime, this.#parts.random(), this.#parts.renewBeforeHours)
  }

  async #heartbeat(): Promise<void> {
    const { client, clock, followed, lists, settings, signal } = this.#parts
    const { status } = settings
    const { cert_id } = this.#certificate
    const said = typeof status === 'string' ? status : status()
    const genesis_digest = followed.digest
    const answer = await client.enrollment.heartbeat({ cert_id, status: said, genesis_digest }, { signal })
    const nextSeconds = paceSeconds(answer.next_heartbeat_seconds)
    this.#at.heartbeat = after(clock(), nextSeconds)
    settings.emit({ type: 'heartbeat', response: answer, nextSeconds })
    this.#warnOfClock(answer.server_time)
    if (answer.genesis_digest !== undefined && (answer.genesis_digest !== followed.digest || clock() >= this.#followAt))
      await this.#follow('keys', nextSeconds, async () => {
        await this.#follower.follow(signal)
        this.#followAt = clock() + DAY
      })
    await this.#follow('revocations', nextSeconds, () => lists.followCrl(answer))
    await this.#follow('policy', nextSeconds, () => lists.followPolicy(answer))
    const entry = lists.entryOf(cert_id)
    if (entry !== undefined) throw listedAsRevoked(entry)
    await this.#scheduleRenewal(nextSeconds)
  }

  /** A list that could not be fetched is left to the next heartbeat: lists may lag, they never grant. */
  async #follow(
    action: 'revocations' | 'policy' | 'keys',
    retryInSeconds: number,
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await work()
      this.#failures.delete(action)
    } catch (error) {
      if (!this.#parts.signal.aborted) this.#fail(action, error, retryInSeconds)
    }
  }

  /**
   * Once the new key signs, a certificate of the former one is renewed: spread over some heartbeats, so that a fleet
   * does not come at once.
   */
  async #scheduleRenewal(pace: number): Promise<void> {
    const { clock, followed, random } = this.#parts
    if (this.#isMoving || followed.audience !== followed.current) return
    if (await verifyList(this.#certificate, [followed.current])) return
    this.#isMoving = true
    const soon = after(clock(), pace * MOVING_PACES * random())
    if (soon < this.#at.renew) this.#at.renew = soon
  }

  #warnOfClock(serverTime: string): void {
    const there = readInstant(serverTime)
    const offsetSeconds = there === undefined ? 0 : Number(this.#parts.clock() - there) / 1_000_000
    if (Math.abs(offsetSeconds) >= CLOCK_WARNING_SECONDS) this.#parts.settings.emit({ type: 'clock', offsetSeconds })
  }

  /** Uses the stored certificate when it is newer and valid: another process may have joined or renewed. */
  async #useStoredCertificate(): Promise<void> {
    const { settings, expected, store } = this.#parts
    const old = this.#certificate
    // A store that cannot be read just now is no reason to stop using what is in hand.
    const stored = await readStored(await store.read('certificate').catch(() => undefined), expected())
    if (stored === undefined || stored.cert_id === old.cert_id) return
    if (instantOf(stored.issued_at) < instantOf(old.issued_at)) return
    this.#adopt(stored)
    settings.emit({ type: 'replaced', certificate: stored, replaces: old.cert_id })
  }

  async #renew(): Promise<void> {
    const { client, evidence, followed, settings, signal } = this.#parts
    const old = this.#certificate
    const fresh =
      evidence === undefined ? {} : { evidence: await freshEvidence(evidence, followed.audience, old.node_public_key) }
    const certificate = await client.enrollment.renew(
      { cert_id: old.cert_id, validity_hours: lifetimeHours(old), ...fresh },
      { signal },
    )
    await requireOwnOrFollow(certificate, this.#parts)
    this.#adopt(certificate)
    await this.#save()
    settings.emit({ type: 'renewed', certificate, replaces: old.cert_id })
  }

  #adopt(certificate: JoinCertificate): void {
    this.#certificate = certificate
    this.#isMoving = false
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
      this.#failures.delete('save')
    } catch (error) {
      this.#isUnsaved = true
      this.#fail('save', error, 0)
    }
  }

  async #register(agent: AgentFacts): Promise<void> {
    const { client, clock, random, settings, signal } = this.#parts
    const { descriptor, expires_at } = await client.agents.register(agent, { signal })
    this.#isRegistered = true
    this.#at.register = after(clock(), refreshSeconds(lifetimeOf(agent), random()))
    settings.emit({ type: 'registered', agent: descriptor, expiresAt: expires_at })
  }

  /** Runs one call; a temporary failure is reported and retried. */
  async #attempt(action: Due & NodeAction, work: () => Promise<void>): Promise<void> {
    const { clock, random, signal } = this.#parts
    try {
      await work()
      this.#failures.delete(action)
    } catch (thrown) {
      if (signal.aborted) return
      const error = await this.#goOn(thrown).catch((later: unknown) => later)
      if (error === undefined || signal.aborted) return
      if (isFinal(error) && !this.#waitsForAdoption(error)) throw error
      // The key this node speaks to may be retired: the root says which one signs now.
      if (error instanceof RefusedError && error.status === 401)
        await this.#follower.follow(signal).catch(() => undefined)
      const retryInSeconds = retrySeconds((this.#failures.get(action) ?? 0) + 1, random())
      this.#at[action] = after(clock(), retryInSeconds)
      this.#fail(action, error, retryInSeconds)
    }
  }

  /** Returns the error that is left; undefined when a rule of the authority gave another certificate. */
  async #goOn(error: unknown): Promise<unknown> {
    const { settings, signal } = this.#parts
    if (isUnknown(error)) await this.#present()
    if (!isTooLate(error)) return error
    const old = this.#certificate
    const certificate = await rejoin(this.#parts, old, { validityHours: lifetimeHours(old), signal })
    if (certificate === undefined) return error
    this.#adopt(certificate)
    await this.#save()
    settings.emit({ type: 'rejoined', certificate, replaces: old.cert_id })
    return undefined
  }

  /** A restored authority may lack the certificate: it stores it for an operator. Its refusal is final. */
  async #present(): Promise<void> {
    const { client, settings, signal } = this.#parts
    const certificate = this.#certificate
    if (this.#presented === certificate.cert_id) return
    try {
      await client.enrollment.present({ certificate }, { signal })
    } catch (error) {
      // The first refusal says what the node should report: it is unknown there.
      if (error instanceof RefusedError && error.status < 429) return
      throw error
    }
    this.#presented = certificate.cert_id
    settings.emit({ type: 'presented', certificate })
  }

  #waitsForAdoption(error: unknown): boolean {
    return isUnknown(error) && this.#presented === this.#certificate.cert_id
  }

  #fail(action: NodeAction, error: unknown, retryInSeconds: number): void {
    const failures = (this.#failures.get(action) ?? 0) + 1
    this.#failures.set(action, failures)
    this.#parts.settings.emit({ type: 'failed', action, error: toNodeError(error), retryInSeconds, failures })
  }
}

function lifetimeOf(agent: AgentFacts): number {
  return agent.lifetimeSeconds ?? LIMITS.agentLifetimeUsualSeconds
}
