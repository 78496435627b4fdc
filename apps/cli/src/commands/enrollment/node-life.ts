import { instantOf, readInstant } from '@chancery/protocol'
import type { Instant, JoinCertificate } from '@chancery/protocol'
import { RefusedError, isFinalRefusal, schedule } from '@chancery/sdk'
import type { Client } from '@chancery/sdk'
import type { CommandContext } from '../../context.ts'
import { describeSpan } from '../../durations.ts'
import { explain } from '../../explain.ts'
import { Failure } from '../../failure.ts'
import { keepCertificate, loadCertificate, requireOurs } from '../../node-home.ts'
import type { NodeConnection } from '../../node-home.ts'
import type { Report } from '../../output/events.ts'
import type { FollowedLists } from './follow-lists.ts'
import { lifeHours } from './renew.ts'

const { after, isDue, paceSeconds, renewalTime, retrySeconds, sleepMs } = schedule

export interface NodeLifeParts {
  readonly context: Pick<CommandContext, 'now' | 'random'>
  readonly connection: NodeConnection
  readonly client: Client
  readonly report: Report
  readonly stop: AbortSignal
  readonly lists: FollowedLists
  readonly status: string
}

const CLOCK_WARNING_SECONDS = 60

/** One node: its certificate, and when it does what next. */
export class NodeLife {
  readonly #parts: NodeLifeParts
  #certificate: JoinCertificate
  #renewAt: Instant
  #heartbeatAt: Instant
  /** Renewed, but the disk would not take it; held here until it does. */
  #unsaved: JoinCertificate | undefined
  #failures = { heartbeat: 0, renew: 0 }

  private constructor(parts: NodeLifeParts, certificate: JoinCertificate) {
    this.#parts = parts
    this.#certificate = certificate
    this.#renewAt = this.#timeToRenew()
    this.#heartbeatAt = parts.context.now()
  }

  static async begin(parts: NodeLifeParts): Promise<NodeLife> {
    const certificate = await loadCertificate(parts.connection.files)
    const life = new NodeLife(parts, certificate)
    const { cert_id, expires_at } = certificate
    const text = `running with certificate ${cert_id}, valid until ${expires_at}`
    parts.report({ event: 'started', facts: { cert_id, expires_at, url: parts.connection.url }, text })
    return life
  }

  /** Does what is due. Throws only when nothing that could be done later would help. */
  async step(): Promise<void> {
    const now = this.#parts.context.now()
    // A clock that was turned back must not put a heartbeat off for ever; a renewal then simply has more time.
    const isHeartbeatDue = isDue(this.#heartbeatAt, now)
    if (now < this.#renewAt && !isHeartbeatDue) return
    if (this.#unsaved === undefined) await this.#takeUpCertificate()
    else await this.#save(this.#unsaved)
    if (this.#parts.context.now() >= this.#renewAt) await this.#attempt('renew', () => this.#renew())
    if (isHeartbeatDue && !this.#parts.stop.aborted) await this.#attempt('heartbeat', () => this.#heartbeat())
  }

  restMs(): number {
    return sleepMs(this.#parts.context.now(), this.#heartbeatAt, this.#renewAt)
  }

  #timeToRenew(): Instant {
    const { issued_at, expires_at } = this.#certificate
    const life = { issuedAt: instantOf(issued_at), expiresAt: instantOf(expires_at) }
    return renewalTime(life, this.#parts.context.random())
  }

  /** Somebody may have renewed or joined beside this process: what lies on the disk counts. */
  async #takeUpCertificate(): Promise<void> {
    const found = await loadCertificate(this.#parts.connection.files)
    if (found.cert_id === this.#certificate.cert_id) return
    this.#adopt(found)
    const facts = { cert_id: found.cert_id, expires_at: found.expires_at }
    this.#parts.report({ event: 'certificate', facts, text: `the certificate on the disk is now ${found.cert_id}` })
  }

  #adopt(certificate: JoinCertificate): void {
    this.#certificate = certificate
    this.#renewAt = this.#timeToRenew()
  }

  async #heartbeat(): Promise<void> {
    const { client, context, lists, report, status, stop } = this.#parts
    const { cert_id } = this.#certificate
    const answer = await client.enrollment.heartbeat({ cert_id, status }, { signal: stop })
    const pace = paceSeconds(answer.next_heartbeat_seconds)
    this.#heartbeatAt = after(context.now(), pace)
    const { server_time, crl_sequence, policy_id } = answer
    const facts = { cert_id, server_time, next_heartbeat_seconds: pace, crl_sequence, policy_id }
    report({ event: 'heartbeat', facts, text: `heartbeat acknowledged, next in ${pace} s` })
    this.#warnOfClock(server_time)
    await lists.follow(answer)
    const entry = lists.entryOf(cert_id)
    if (entry === undefined) return
    throw new Failure({
      code: 'certificate_revoked',
      message: `The revocation list names this certificate (${entry.reason}, ${entry.revoked_at}).`,
      hint: 'Find out why, then ask an operator for a new invite and join again.',
    })
  }

  #warnOfClock(serverTime: string): void {
    const { context, report } = this.#parts
    const there = readInstant(serverTime)
    const offset = there === undefined ? 0 : Number(context.now() - there) / 1_000_000
    if (Math.abs(offset) < CLOCK_WARNING_SECONDS) return
    const seconds = Math.round(offset)
    const text = `the clock of this machine is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the authority: set it right`
    report({ event: 'clock', facts: { offset_seconds: seconds }, text, tone: 'warn' })
  }

  async #renew(): Promise<void> {
    const { client, connection, context, report, stop } = this.#parts
    const old = this.#certificate
    const request = { cert_id: old.cert_id, validity_hours: lifeHours(old) }
    const certificate = await client.enrollment.renew(request, { signal: stop })
    const expected = { genesis: connection.genesis, publicKey: connection.signer.publicKey, now: context.now() }
    await requireOurs(certificate, expected)
    this.#adopt(certificate)
    await this.#save(certificate)
    const { cert_id, expires_at } = certificate
    const facts = { cert_id, expires_at, replaces: old.cert_id }
    report({ event: 'renewed', facts, text: `renewed: ${cert_id}, valid until ${expires_at}`, tone: 'good' })
  }

  /**
   * A full disk must not cost the certificate: renewing again would be refused once the grace time is over. It is tried
   * again before every heartbeat.
   */
  async #save(certificate: JoinCertificate): Promise<void> {
    try {
      await keepCertificate(this.#parts.connection.files, certificate)
      this.#unsaved = undefined
    } catch (error) {
      this.#unsaved = certificate
      const { code, message } = explain(error)
      const text = `the new certificate is not on the disk yet: ${message} Do not stop this process`
      this.#parts.report({ event: 'failed', facts: { action: 'save', code, message }, text, tone: 'bad' })
    }
  }

  /** Runs one call; a failure that time may heal is told and tried again until it is done. */
  async #attempt(what: 'heartbeat' | 'renew', work: () => Promise<void>): Promise<void> {
    const { context, report, stop } = this.#parts
    try {
      await work()
      this.#failures[what] = 0
    } catch (error) {
      if (stop.aborted) return
      if (isFinal(error)) throw error
      this.#failures[what] += 1
      const wait = retrySeconds(this.#failures[what], context.random())
      const at = after(context.now(), wait)
      if (what === 'renew') this.#renewAt = at
      else this.#heartbeatAt = at
      const { code, message } = explain(error)
      const facts = { action: what, code, message, retry_in_seconds: Math.ceil(wait), failures: this.#failures[what] }
      const text = `${what} failed: ${message} Trying again in ${Math.ceil(wait)} s${what === 'renew' ? this.#timeLeft() : ''}`
      report({ event: 'failed', facts, text, tone: 'warn' })
    }
  }

  #timeLeft(): string {
    const left = instantOf(this.#certificate.expires_at) - this.#parts.context.now()
    return left > 0n ? `; ${describeSpan(left)} are left` : '; it has expired'
  }
}

function isFinal(error: unknown): boolean {
  if (error instanceof RefusedError) return isFinalRefusal(error)
  // A file that cannot be written or read is not healed by waiting; a certificate that does not verify may be.
  return error instanceof Failure && error.code !== 'invalid_certificate'
}
