import { visible, writeJson } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { ErrorText } from '../errors/explain.ts'
import type { Output, Result } from './result.ts'
import type { Style } from './style.ts'

/** Prints exactly one document on standard output with --json, otherwise the text. */
export function printResult(output: Output, result: Result, json: boolean): void {
  if (json && result.data !== undefined) output.write(`${writeJson(result.data)}\n`)
  if (!json && result.text !== undefined && result.text !== '') output.write(`${result.text.replace(/\n$/, '')}\n`)
}

/** Prints errors to standard error in both forms, so that standard output has only results. */
export function printError(output: Output, explained: ErrorText, json: boolean, style: Style): void {
  if (json) {
    output.write(`${writeJson({ error: toJson(explained) })}\n`)
    return
  }
  // Only the codes of refusals are documented; other codes are internal.
  const code = explained.details === undefined ? '' : ` (${explained.code})`
  output.write(`${style.bad('error:')} ${visible(explained.message)}${code}\n`)
  for (const problem of explained.problems ?? []) output.write(`  ${visible(problem)}\n`)
  for (const line of (explained.hint ?? '').split('\n')) if (line !== '') output.write(`  ${visible(line)}\n`)
  if (explained.requestId !== undefined) output.write(`  ${style.quiet(`request ${visible(explained.requestId)}`)}\n`)
}

function toJson({ code, message, problems = [], hint, requestId, details }: ErrorText): JsonObject {
  const members: { [name: string]: JsonValue } = { code, message: [message, ...problems].join('\n') }
  if (hint !== undefined) members['hint'] = hint
  if (details !== undefined) members['details'] = details
  if (requestId !== undefined) members['request_id'] = requestId
  return members
}
