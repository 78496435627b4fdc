import { type JsonObject, digestOf } from '@chancery/protocol'
import type { GovernedResult } from '../governed/governor.ts'

/** Calls that are noted at once; the oldest is dropped first. */
const MAX_HELD = 1000

/**
 * The approvals that calls of one caller wait for, by capability and parameters. A model that calls again with the same
 * arguments uses the approval without knowing its id. Metadata of a call may differ from the first one.
 */
export class HeldCalls {
  readonly #approvals = new Map<string, string>()

  /** The approval that the same call waited for. */
  find(capability: string, parameters: JsonObject): string | undefined {
    return this.#approvals.get(keyOf(capability, parameters))
  }

  /** Notes the approval of a held call, and drops the one of a call that was decided otherwise. */
  note(capability: string, parameters: JsonObject, result: GovernedResult<unknown>): void {
    const key = keyOf(capability, parameters)
    this.#approvals.delete(key)
    if (result.allowed || !result.answer.held) return
    const [oldest] = this.#approvals.keys()
    if (this.#approvals.size >= MAX_HELD && oldest !== undefined) this.#approvals.delete(oldest)
    this.#approvals.set(key, result.answer.approvalId)
  }
}

function keyOf(capability: string, parameters: JsonObject): string {
  const { mcp, ...rest } = parameters
  const isObject = typeof mcp === 'object' && mcp !== null && !Array.isArray(mcp)
  const { meta_digest: _meta, ...bound } = isObject ? (mcp as JsonObject) : {}
  return digestOf({ capability, parameters: { ...rest, mcp: bound } })
}
