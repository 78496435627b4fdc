import type { AuditEventType } from '@chancery/contract'
import { isJsonObject } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { AuthorityProcess, TestResponse, TestNetwork } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'
import type { Rows } from '../lib/rows.ts'

/** One change of an authority's state, told by one audit event in the same transaction. */
export interface Transition {
  readonly event: AuditEventType
  /** Makes whatever the change needs; nothing of it may tell the same event. */
  prepare(scene: TestSetup): Promise<PreparedRequest>
}

export interface TestSetup {
  readonly process: AuthorityProcess
  readonly network: TestNetwork
  readonly random: Random
  readonly rows: Rows
  /** How often the same change was made on this database before. */
  readonly round: number
}

/** Fixed where a request is to be repeated byte for byte. */
export interface Signed {
  readonly nonce: string
  readonly timestamp: string
}

/** A change that is about to be made, by a request that can be sent again, signed anew. */
export interface PreparedRequest {
  send(process: AuthorityProcess, signed?: Signed): Promise<TestResponse>
  /** When it changes something. */
  readonly status: number
  /** When it was made before. */
  readonly again: number
  /** Numbers, each of which goes up by one with the change. */
  readonly effects: readonly string[]
  /** The same request makes another change of its kind. */
  readonly repeats?: true
  /** A node's word, good for as long as its time: it has no nonce that could be spent. */
  readonly hasNoNonce?: true
}

export type Body = Readonly<Record<string, JsonObject[string]>>

export const name = ({ random }: TestSetup, kind: string): string => `${kind}-${random.next()}-${random.next()}`
export const count = (table: string, where = '1 = 1'): string => `select count(*) as n from ${table} where ${where}`

/** A request of an operator that is signed each time it is sent; what creates carries the same key each time. */
export function operate(scene: TestSetup, target: string, body: Body): PreparedRequest['send'] {
  const headers = { 'Idempotency-Key': name(scene, 'deed') }
  return (process, signed) => process.as('privileged')('POST', target, body, { headers, ...signed })
}

export async function prepared(scene: TestSetup, target: string, body: Body): Promise<JsonObject> {
  const answer = await operate(scene, target, body)(scene.process)
  if (answer.status >= 300 || !isJsonObject(answer.json))
    throw new Error(`${target} was answered ${answer.status} ${answer.text.slice(0, 200)}`)
  return answer.json
}
