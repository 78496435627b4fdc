import { verifyList } from '@chancery/protocol'
import type { CrlEntry } from '@chancery/protocol'
import type { Client, HeartbeatAnswer } from '@chancery/sdk'
import { explain } from '../../explain.ts'
import type { NodeConnection } from '../../node-home.ts'
import type { Report } from '../../output/events.ts'
import { findKeptCrl, findKeptPolicy, keepRecord, toHeld, whyNotList } from './kept-lists.ts'
import type { HeldCrl } from './kept-lists.ts'

export interface Following {
  readonly connection: NodeConnection
  readonly client: Client
  readonly report: Report
  readonly stop: AbortSignal
}

/** Keeps revocation list and policy as the authority has them, and fetches neither while it says they are the same. */
export class FollowedLists {
  readonly #parts: Following
  #crl: HeldCrl | undefined
  #policyId: string | undefined
  /** The last number that was too low to be true; said once. */
  #warnedOf: number | undefined

  private constructor(parts: Following, crl: HeldCrl | undefined, policyId: string | undefined) {
    this.#parts = parts
    this.#crl = crl
    this.#policyId = policyId
  }

  /** Goes on where an earlier run ended. */
  static async open(parts: Following): Promise<FollowedLists> {
    const { files, authorityKey } = parts.connection
    const policy = await findKeptPolicy(files, authorityKey)
    return new FollowedLists(parts, await findKeptCrl(files, authorityKey), policy?.policy_id)
  }

  /** Takes what a heartbeat said. A failure is told and left to the next heartbeat: lists may lag, they never grant. */
  async follow({ crl_sequence, policy_id }: HeartbeatAnswer): Promise<void> {
    await this.#attempt('crl', () => this.#followCrl(crl_sequence))
    await this.#attempt('policy', () => this.#followPolicy(policy_id ?? undefined))
  }

  /** Where the held list names this certificate. */
  entryOf(certId: string): CrlEntry | undefined {
    return this.#crl?.entryOf(certId)
  }

  async #attempt(list: 'crl' | 'policy', work: () => Promise<void>): Promise<void> {
    const { report, stop } = this.#parts
    try {
      await work()
    } catch (error) {
      if (stop.aborted) return
      const { code, message } = explain(error)
      const facts = { list, code, message }
      report({ event: 'list_failed', facts, text: `could not fetch the ${list}: ${message}`, tone: 'warn' })
    }
  }

  async #followCrl(told: number | undefined): Promise<void> {
    const held = this.#crl?.mark.sequence
    if (held !== undefined && (told === undefined || told === held)) return
    if (held !== undefined && told !== undefined && told < held) {
      this.#warnOfRollback(told, held)
      return
    }
    const { client, connection, report, stop } = this.#parts
    const crl = await client.crl.current({ signal: stop })
    const problem = await whyNotList(crl, connection.authorityKey, this.#crl)
    if (problem !== undefined) {
      const facts = { list: 'crl', code: 'unusable_list', message: problem, crl_sequence: crl.sequence }
      report({ event: 'list_refused', facts, text: `the revocation list is not taken: ${problem}`, tone: 'bad' })
      return
    }
    if (crl.sequence === held) return
    await keepRecord(connection.files.crl, crl)
    this.#crl = toHeld(crl)
    const count = crl.revoked_certificates.length
    const facts = { crl_sequence: crl.sequence, revoked_count: count }
    report({
      event: 'crl',
      facts,
      text: `revocation list ${crl.sequence} with ${count} ${count === 1 ? 'entry' : 'entries'}`,
    })
  }

  /** An authority that was restored from an old backup looks like this, and so does one that was replaced. */
  #warnOfRollback(told: number, held: number): void {
    if (this.#warnedOf === told) return
    this.#warnedOf = told
    const text = `the authority speaks of revocation list ${told}, but ${held} is known: tell its operator`
    const facts = { list: 'crl', code: 'lower_sequence', crl_sequence: told, held_sequence: held }
    this.#parts.report({ event: 'list_refused', facts, text, tone: 'bad' })
  }

  async #followPolicy(told: string | undefined): Promise<void> {
    if (told === undefined || told === this.#policyId) return
    const { client, connection, report, stop } = this.#parts
    const policy = await client.policy.current({ signal: stop })
    if (!(await verifyList(policy, [connection.authorityKey]))) {
      const message = 'the authority of the genesis block did not sign it'
      const facts = { list: 'policy', code: 'unusable_list', message }
      report({ event: 'list_refused', facts, text: `the policy is not taken: ${message}`, tone: 'bad' })
      return
    }
    await keepRecord(connection.files.policy, policy)
    this.#policyId = policy.policy_id
    report({ event: 'policy', facts: { policy_id: policy.policy_id }, text: `policy ${policy.policy_id}` })
  }
}
