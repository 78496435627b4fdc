import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import { hasOffset, readInstant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { EMPTY_SELECTOR, GATE_READERS, SELECTOR_READERS, description } from '../artifacts/boundary-policy.ts'
import type { BoundaryPolicyIntent, GateSpec, PolicySelector } from '../artifacts/boundary-policy.ts'
import { FormError, type Read } from '../reading/schema.ts'
import { MAX_ITEMS } from '../reading/trust-form.ts'

/** One member that has not its type. Names places and rules, never values. */
export interface IntentError {
  readonly field: string
  readonly message: string
}

const MAX_INTENT_ERRORS = 16

/** An intent with its defaults written out, or what is wrong with its types (protocol/trust-operations 5.2 row 5). */
export type IntentReading =
  | { readonly ok: true; readonly intent: BoundaryPolicyIntent; readonly windowHasOffsets: boolean }
  | { readonly ok: false; readonly errors: readonly IntentError[] }

/**
 * Reads the members of an intent whose names have been checked. Everything that is wrong is collected, so that the
 * author of a policy sees it at once.
 */
export function readPolicyIntent(policy_id: string, body: JsonObject): IntentReading {
  const errors = new Errors()
  const selector = readSelector(member(body, 'selector'), errors)
  const gates = readGates(member(body, 'gates'), errors)
  const from = errors.read(windowBound, body['valid_from'] ?? null, 'valid_from')
  const until = errors.read(windowBound, body['valid_until'] ?? null, 'valid_until')
  const text = errors.read(description, member(body, 'description') ?? '', 'description')
  if (errors.found.length > 0 || from === undefined || until === undefined)
    return { ok: false, errors: errors.found.slice(0, MAX_INTENT_ERRORS) }
  return {
    ok: true,
    intent: {
      policy_id,
      description: text ?? '',
      valid_from: from.text,
      valid_until: until.text,
      selector,
      gates,
    },
    windowHasOffsets: from.hasOffset && until.hasOffset,
  }
}

class Errors {
  readonly found: IntentError[] = []

  /** Undefined when the value has not its type; the reason is then in the list. */
  read<Value>(reader: Read<Value>, value: JsonValue, field: string): Value | undefined {
    try {
      return reader(value, field)
    } catch (error) {
      if (!(error instanceof FormError)) throw error
      this.found.push({ field: error.field, message: error.problem })
      return undefined
    }
  }

  /** The members of a closed object, each read by its own reader. */
  members(value: JsonObject, readers: { readonly [name: string]: Read<unknown> }, field: string): JsonObject {
    const out: { [name: string]: unknown } = {}
    for (const [name, given] of Object.entries(value)) {
      const reader = Object.hasOwn(readers, name) ? readers[name] : undefined
      // The name is the caller's text: only the path of the object is reported.
      if (reader === undefined) this.found.push({ field, message: 'has an unknown member' })
      else out[name] = this.read(reader, given, `${field}.${name}`)
    }
    return out as JsonObject
  }
}

interface WindowBound {
  readonly text: string
  readonly hasOffset: boolean
}

/** Stored in UTC, so that every reader of a policy gets the same instant. */
function windowBound(value: JsonValue, field: string): WindowBound {
  const instant = typeof value === 'string' ? readInstant(value) : undefined
  if (typeof value !== 'string' || instant === undefined) throw new FormError(field, 'an ISO 8601 instant is needed')
  return { text: writeInstant(instant), hasOffset: hasOffset(value) }
}

function readSelector(value: JsonValue | undefined, errors: Errors): PolicySelector {
  if (value === undefined || value === null) return EMPTY_SELECTOR
  if (!isJsonObject(value)) {
    errors.found.push({ field: 'selector', message: 'an object is needed' })
    return EMPTY_SELECTOR
  }
  return { ...EMPTY_SELECTOR, ...(errors.members(value, SELECTOR_READERS, 'selector') as Partial<PolicySelector>) }
}

function readGates(value: JsonValue | undefined, errors: Errors): readonly GateSpec[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) {
    errors.found.push({ field: 'gates', message: 'an array is needed' })
    return []
  }
  if (value.length > MAX_ITEMS) {
    errors.found.push({ field: 'gates', message: 'has too many items' })
    return []
  }
  return (value as readonly JsonValue[]).map((each, index) => readGate(each, `gates[${index}]`, errors))
}

const GATE_DEFAULTS = { mode: 'enforce', config: {}, disclose_input: false } as const

function readGate(value: JsonValue, field: string, errors: Errors): GateSpec {
  const given = isJsonObject(value) ? value : undefined
  if (given === undefined) errors.found.push({ field, message: 'an object is needed' })
  for (const name of ['gate_id', 'gate_type', 'order'] as const)
    if (given !== undefined && member(given, name) === undefined)
      errors.found.push({ field: `${field}.${name}`, message: 'is missing' })
  const read = given === undefined ? {} : errors.members(given, GATE_READERS, field)
  // Complete whenever no error was found; with errors it is never used.
  return { gate_id: '', gate_type: '', order: 0, ...GATE_DEFAULTS, ...(read as Partial<GateSpec>) }
}
