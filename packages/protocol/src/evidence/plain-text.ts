import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/json-value.ts'
import type { FormMembers } from '../reading/trust-form.ts'
import type { Received } from '../signing/received.ts'

/**
 * The text that the signatures of a record cover, where it can be cut out of C(record) as it is in a plainly spelled
 * line, so that nothing is written again; otherwise undefined.
 */
export function cutSignature({ form, wire }: Received<unknown>, plain: string): string | undefined {
  if (form.only !== undefined || hasNullToOmit(form.inside, wire)) return undefined
  const value = form.signature === 'none' ? undefined : member(wire, form.signature)
  if (value === undefined) return plain
  const written = `,"${form.signature}":${JSON.stringify(value)}`
  const start = plain.indexOf(written)
  // A second place with the same text: only a writer knows which of them is the signature.
  if (start < 0 || plain.includes(written, start + 1)) return undefined
  return plain.slice(0, start) + plain.slice(start + written.length)
}

const CONTEXT = '{"context":'
const DECISION = ',"decision":'

/** The two texts of a decision's payload, where the second one begins at the only place that can be its beginning. */
export function splitDecision(
  payload: JsonObject,
  plain: string,
): { readonly context: string; readonly decision: string } | undefined {
  const at = plain.indexOf(DECISION)
  if (at < 0 || plain.includes(DECISION, at + 1) || Object.keys(payload).length !== 2) return undefined
  return { context: plain.slice(CONTEXT.length, at), decision: plain.slice(at + DECISION.length, -1) }
}

/** Members that a signed text leaves out when they are null, and parts that may have such members. */
interface Omitted {
  readonly names: readonly string[]
  readonly inner: readonly (readonly [name: string, inside: FormMembers])[]
}

const omitted = new WeakMap<FormMembers, Omitted>()

function omittedOf(members: FormMembers): Omitted {
  const known = omitted.get(members)
  if (known !== undefined) return known
  const all = Object.entries(members)
  const found = {
    names: all.flatMap(([name, { signed }]) => (signed === 'omit' ? [name] : [])),
    inner: all.flatMap(([name, { inside }]) => {
      if (inside === undefined) return []
      const { names, inner } = omittedOf(inside)
      return names.length + inner.length === 0 ? [] : [[name, inside] as const]
    }),
  }
  omitted.set(members, found)
  return found
}

function hasNullToOmit(members: FormMembers, value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).some((item) => hasNullToOmit(members, item))
  if (!isJsonObject(value)) return false
  const object: JsonObject = value
  const { names, inner } = omittedOf(members)
  return (
    names.some((name) => member(object, name) === null) ||
    inner.some(([name, inside]) => hasNullToOmit(inside, member(object, name)))
  )
}
