import { visible, writeJson } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { Output, Result } from '../context.ts'
import type { Explained } from '../explain.ts'
import type { Style } from './style.ts'

/** With --json exactly one document on standard output, otherwise the text. */
export function printResult(output: Output, result: Result, json: boolean): void {
  if (json && result.data !== undefined) output.write(`${writeJson(result.data)}\n`)
  if (!json && result.text !== undefined && result.text !== '') output.write(`${result.text.replace(/\n$/, '')}\n`)
}

/** Errors go to standard error in both forms, so that standard output holds results only. */
export function printError(output: Output, explained: Explained, json: boolean, style: Style): void {
  if (json) {
    output.write(`${writeJson({ error: toJson(explained) })}\n`)
    return
  }
  // The code of a refusal is what documents and programs speak of; other codes are of this program.
  const code = explained.details === undefined ? '' : ` (${explained.code})`
  output.write(`${style.bad('error:')} ${visible(explained.message)}${code}\n`)
  for (const line of (explained.hint ?? '').split('\n')) if (line !== '') output.write(`  ${visible(line)}\n`)
  if (explained.requestId !== undefined) output.write(`  ${style.quiet(`request ${visible(explained.requestId)}`)}\n`)
}

function toJson({ code, message, hint, requestId, details }: Explained): JsonObject {
  const members: { [name: string]: JsonValue } = { code, message }
  if (hint !== undefined) members['hint'] = hint
  if (details !== undefined) members['details'] = details
  if (requestId !== undefined) members['request_id'] = requestId
  return members
}
