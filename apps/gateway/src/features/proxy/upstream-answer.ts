import { isUtf8 } from 'node:buffer'
import { setImmediate as pause } from 'node:timers/promises'
import { CONTENT_TYPES, GatewayRefusal, REQUEST_ID_PATTERN } from '@chancery/contract'
import type { GatewayErrorName, GatewayOperation } from '@chancery/contract'
import { Answer, after } from '@chancery/service-kit'
import type { Soon } from '@chancery/service-kit'
import type { UpstreamAnswer } from '../../outbound/upstream-exchange.ts'
import { readinessOf } from './readiness-details.ts'

const MAX_RETRY_SECONDS = 86_400

/**
 * What the caller gets for what the authority said (protocol/gateway 12.5). The bytes are checked and passed on as they
 * came: writing them anew would change numbers inside signed records. Nothing of a failed authority's text leaves.
 */
export function passOn(operation: GatewayOperation, answer: UpstreamAnswer, theirId: string | undefined): Soon<Answer> {
  const { status, body } = answer
  const headers = keptHeaders(answer, theirId)
  if (status < 400 && status >= 300) throw refuse('authority_redirect', headers)
  if (status >= 500) {
    const readiness = operation.id === 'health-readyz' && status === 503 ? readinessOf(body) : undefined
    const details = readiness === undefined ? undefined : { readiness }
    throw new GatewayRefusal('authority_error', details, headers === undefined ? {} : { headers })
  }
  if (body === undefined) throw refuse('authority_response_too_large', headers)
  const isLines = operation.response === 'ndjson' && status < 300
  const text = isUtf8(body) ? body.toString('utf8') : undefined
  const settle = (isGood: boolean): Answer => {
    if (text === undefined || !isGood) throw refuse('authority_invalid_response', headers)
    // Valid UTF-8 keeps its bytes through a text, and a text leaves in one piece with its head.
    return new Answer(text, isLines ? CONTENT_TYPES['json-lines'] : CONTENT_TYPES.json, status, headers)
  }
  return after(text !== undefined && (isLines ? areJsonLines(text) : isJson(text)), settle)
}

/** What the authority calls this request, when that can be repeated safely. */
export function upstreamRequestId({ headers }: UpstreamAnswer): string | undefined {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID_PATTERN.test(given) ? given : undefined
}

/** Of the authority's headers only these two survive. */
function keptHeaders(
  { headers }: UpstreamAnswer,
  theirId: string | undefined,
): Readonly<Record<string, string>> | undefined {
  const retryAfter = headers['retry-after']
  if (theirId === undefined && retryAfter === undefined) return undefined
  const isSeconds =
    typeof retryAfter === 'string' && /^[0-9]{1,5}$/.test(retryAfter) && Number(retryAfter) <= MAX_RETRY_SECONDS
  return {
    ...(isSeconds ? { 'retry-after': retryAfter } : {}),
    ...(theirId === undefined ? {} : { 'x-upstream-request-id': theirId }),
  }
}

function refuse(error: GatewayErrorName, headers: Readonly<Record<string, string>> | undefined): GatewayRefusal {
  return new GatewayRefusal(error, undefined, headers === undefined ? {} : { headers })
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Other requests get their turn in between: an export may hold many thousand lines. */
const CHARACTERS_PER_TURN = 262_144

async function areJsonLines(text: string): Promise<boolean> {
  let [start, turnEnd] = [0, CHARACTERS_PER_TURN]
  while (start < text.length) {
    const found = text.indexOf('\n', start)
    const end = found < 0 ? text.length : found
    const line = text.slice(start, end)
    if (line.trim() !== '' && !isJson(line)) return false
    start = end + 1
    if (start <= turnEnd) continue
    turnEnd = start + CHARACTERS_PER_TURN
    await pause()
  }
  return true
}
