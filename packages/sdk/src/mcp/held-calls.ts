import { type JsonObject, type JustificationProof, digestOf, waitingApproval } from '@chancery/protocol'

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
  note(
    capability: string,
    parameters: JsonObject,
    result: { readonly authorized: boolean; readonly justification: JustificationProof },
  ): void {
    const key = keyOf(capability, parameters)
    const waitsFor = result.authorized ? undefined : waitingApproval(result.justification)
    this.#approvals.delete(key)
    if (waitsFor === undefined) return
    const [oldest] = this.#approvals.keys()
    if (this.#approvals.size >= MAX_HELD && oldest !== undefined) this.#approvals.delete(oldest)
    this.#approvals.set(key, waitsFor.approval_id)
  }
}

function keyOf(capability: string, parameters: JsonObject): string {
  const { mcp, ...rest } = parameters
  const isObject = typeof mcp === 'object' && mcp !== null && !Array.isArray(mcp)
  const { meta_digest: _meta, ...bound } = isObject ? (mcp as JsonObject) : {}
  return digestOf({ capability, parameters: { ...rest, mcp: bound } })
}
