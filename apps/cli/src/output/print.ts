import { type JsonObject, type JsonValue, visible, writeJson } from '@chancery/protocol'
import type { ErrorText } from '../errors/explain.ts'
import { type Output, type Result, type Style, toSeconds } from './screen.ts'

export interface PrintForm {
  readonly json: boolean
  /** Prints only ids, when the result has some. */
  readonly quiet: boolean
}

/** Prints exactly one document on standard output with --json, otherwise the text or the ids. */
export function printResult(output: Output, result: Result, { json, quiet }: PrintForm): void {
  const { data, text = '', ids } = result
  if (json) {
    if (data !== undefined) output.write(`${writeJson(data)}\n`)
    return
  }
  if (quiet && ids !== undefined) {
    for (const id of ids) output.write(`${visible(id)}\n`)
    return
  }
  if (text !== '') output.write(`${toSeconds(text).replace(/\n$/, '')}\n`)
}

/** Prints errors to standard error in both forms, so that standard output has only results. */
export function printError(output: Output, explained: ErrorText, json: boolean, style: Style): void {
  if (json) {
    output.write(`${writeJson({ error: toJson(explained) })}\n`)
    return
  }
  // Only the codes of refusals are documented; other codes are internal.
  const code = explained.details === undefined ? '' : ` [${explained.code}]`
  output.write(`${style.bad('error:')} ${visible(explained.message)}${code}\n`)
  for (const problem of explained.problems ?? []) output.write(`  ${visible(problem)}\n`)
  for (const [name, value] of Object.entries(explained.details ?? {})) output.write(`  ${detailLine(name, value)}\n`)
  for (const line of (explained.hint ?? '').split('\n')) if (line !== '') output.write(`  ${visible(line)}\n`)
  if (explained.requestId !== undefined) output.write(`  ${style.quiet(`request ${visible(explained.requestId)}`)}\n`)
}

const MAX_DETAIL = 300

/** The messages of the contract name members of the details, so that a person needs them as well. --json has all of it. */
function detailLine(name: string, value: JsonValue): string {
  const text = typeof value === 'string' ? value : writeJson(value)
  return visible(`${name}: ${text.length > MAX_DETAIL ? `${text.slice(0, MAX_DETAIL)}…` : text}`)
}

function toJson({ code, message, problems = [], hint, requestId, details, exitCode }: ErrorText): JsonObject {
  const members: { [name: string]: JsonValue } = { code, message: [message, ...problems].join('\n') }
  if (hint !== undefined) members['fix'] = hint
  members['exit_code'] = exitCode
  if (details !== undefined) members['details'] = details
  if (requestId !== undefined) members['request_id'] = requestId
  return members
}
