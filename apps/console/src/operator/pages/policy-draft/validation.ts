import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { BoundaryPolicyValidation } from '@chancery/sdk/authority'
import { useEffect, useState } from 'preact/hooks'
import { plain } from '../../../components/plain.ts'
import { CallError, at, send } from '../../client.ts'
import { makePayload } from '../../signing/payload.ts'
import { type TextProblem, isObject, lineOfField, lineOfIssue } from '../policies/policy-text.ts'
import type { Writing } from './draft-format.ts'
import { fieldOfCode, fieldOfIssue } from './problem-field.ts'

/** The result for one text: of another text it does not count. */
export interface Validation {
  readonly text: string
  /** Undefined while the text cannot be read. */
  readonly intent?: JsonObject
  readonly problems: readonly TextProblem[]
  /** Set when the authority found no problem. */
  readonly nextVersion?: number
  readonly warnings: readonly string[]
}

const DELAY_MS = 800
/** Every validation is audited, so there are at most this many in a minute. */
const MAX_PER_MINUTE = 10
const MINUTE_MS = 60_000
let sent: readonly number[] = []

/** Returns how long to wait before the next validation, in milliseconds. */
export function waitBefore(times: readonly number[], now: number): number {
  const recent = times.filter((time) => now - time < MINUTE_MS)
  const oldest = recent.length < MAX_PER_MINUTE ? undefined : recent[recent.length - MAX_PER_MINUTE]
  return Math.max(DELAY_MS, oldest === undefined ? 0 : oldest + MINUTE_MS - now)
}

/** Validates a text a short time after its last change. Undefined until the result of this text is there. */
export function useValidation({ text, format }: Writing, id: string | undefined): Validation | undefined {
  const [found, setFound] = useState<Validation>()
  useEffect(() => {
    const read = format.read(text)
    if (read.intent === undefined) {
      setFound({ text, problems: [read.problem], warnings: [] })
      return undefined
    }
    const other = otherId(text, read.intent, id)
    if (other !== undefined) {
      setFound({ text, intent: read.intent, problems: [other], warnings: [] })
      return undefined
    }
    let isCurrent = true
    const { intent } = read
    const wait = found === undefined ? 0 : waitBefore(sent, Date.now())
    const timer = setTimeout(() => {
      sent = [...sent, Date.now()].slice(-MAX_PER_MINUTE)
      void validate(text, intent, ask).then((result) => isCurrent && setFound(result))
    }, wait)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [text, format.name])
  return found?.text === text ? found : undefined
}

/** A draft of one policy must not be published as another one. */
function otherId(text: string, intent: JsonObject, id: string | undefined): TextProblem | undefined {
  if (id === undefined || intent['policy_id'] === id) return undefined
  return {
    line: lineOfField(text, 'policy_id'),
    field: 'policy_id',
    text: `This is the draft of ${id}. Keep its policy_id, or begin a new policy.`,
  }
}

async function ask(intent: JsonObject): Promise<BoundaryPolicyValidation> {
  const target = at`/admin/boundary-policies/validate`
  return (await send(makePayload({ method: 'POST', target, body: intent }))) as unknown as BoundaryPolicyValidation
}

/** Asks the authority about an intent. A check that could not run is a problem of the draft: it must not look valid. */
export async function validate(
  text: string,
  intent: JsonObject,
  askAuthority: (intent: JsonObject) => Promise<BoundaryPolicyValidation>,
): Promise<Validation> {
  try {
    const answer = await askAuthority(intent)
    const problems = answer.issues.map((issue) => ({
      line: lineOfIssue(text, { message: issue.message, gate_id: issue.gate_id ?? null }),
      field: fieldOfIssue(intent, issue),
      text: `${issue.gate_id ? `Gate ${issue.gate_id}: ` : ''}${issue.message} (${issue.code})`,
    }))
    return {
      text,
      intent,
      problems,
      warnings: answer.warnings.map(({ message }) => message),
      ...(answer.valid ? { nextVersion: answer.next_version } : {}),
    }
  } catch (error) {
    if (error instanceof CallError) return { text, intent, problems: refusalProblems(text, error), warnings: [] }
    const reason = error instanceof Error ? error.message : String(error)
    const problem = { line: undefined, text: `The draft could not be checked: ${reason}` }
    return { text, intent, problems: [problem], warnings: [] }
  }
}

/** A refusal names members with a wrong type, or members that a draft does not have. */
function refusalProblems(text: string, { details, message, code }: CallError): readonly TextProblem[] {
  const list = (value: JsonValue | undefined): readonly JsonValue[] =>
    Array.isArray(value) ? (value as readonly JsonValue[]) : []
  const errors = list(details['errors']).filter(isObject)
  const named = [
    ...errors.map((error) => ({
      field: plain(error['field']),
      text: `${plain(error['field'])} ${plain(error['message'])}`,
    })),
    ...list(details['fields']).map((field) => ({
      field: plain(field),
      text: `${plain(field)} is set by the authority or not known. Remove it.`,
    })),
  ]
  if (named.length === 0) return [{ line: undefined, field: fieldOfCode(code), text: `${message} (${code})` }]
  return named.map((each) => ({ line: lineOfField(text, each.field), field: each.field, text: each.text }))
}
