import type { AuditEventType } from '@chancery/contract'
import { type JsonObject, isJsonObject } from '@chancery/protocol'
import type { AuthorityProcess, TestResponse, TestNetwork } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'
import type { Rows } from '../lib/rows.ts'

/** One change of an authority's state, with one audit event in the same transaction. */
export interface Transition {
  readonly event: AuditEventType
  /** Creates what the change needs, without the audit event of the change. */
  prepare(setup: TestSetup): Promise<PreparedRequest>
}

export interface TestSetup {
  readonly process: AuthorityProcess
  readonly network: TestNetwork
  readonly random: Random
  readonly rows: Rows
  /** How often this change was made on this database before. */
  readonly round: number
}

/** Fixed when a request is to be repeated byte for byte. */
export interface Signed {
  readonly nonce: string
  readonly timestamp: string
}

/** A prepared change: a request that can be sent again with a new signature. */
export interface PreparedRequest {
  send(process: AuthorityProcess, signed?: Signed): Promise<TestResponse>
  /** Status when the request changes something. */
  readonly status: number
  /** Status when the change was made before. */
  readonly again: number
  /** Counts that rise by one with the change. */
  readonly effects: readonly string[]
  /** The same request makes another change of its kind. */
  readonly repeats?: true
  /** A statement signed by a node, valid for its lifetime. It has no nonce. */
  readonly hasNoNonce?: true
}

export type Body = Readonly<Record<string, JsonObject[string]>>

export const name = ({ random }: TestSetup, kind: string): string => `${kind}-${random.next()}-${random.next()}`
export const count = (table: string, where = '1 = 1'): string => `select count(*) as n from ${table} where ${where}`

/**
 * Prepares an operator request that is signed each time it is sent. A creating request has the same idempotency key
 * each time.
 */
export function operate(setup: TestSetup, target: string, body: Body): PreparedRequest['send'] {
  const headers = { 'Idempotency-Key': name(setup, 'deed') }
  return (process, signed) => process.as('privileged')('POST', target, body, { headers, ...signed })
}

export async function prepared(setup: TestSetup, target: string, body: Body): Promise<JsonObject> {
  const answer = await operate(setup, target, body)(setup.process)
  if (answer.status >= 300 || !isJsonObject(answer.json))
    throw new Error(`${target} was answered ${answer.status} ${answer.text.slice(0, 200)}`)
  return answer.json
}
