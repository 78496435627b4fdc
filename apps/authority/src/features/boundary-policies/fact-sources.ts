import { JsonError, isJsonObject, readFactResponse, readJsonBytes, writeInstant, writeJson } from '@chancery/protocol'
import type { ExternalFact, FactQuestion, NoAnswer } from '@chancery/protocol'
import { OutboundError, addressKind, callUrl, isCallable } from '@chancery/service-kit'
import type { Clock } from '@chancery/service-kit'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

const MAX_RESPONSE_BYTES = 65_536
/** Calls to one origin at the same time. More are denied at once. An origin that is slow takes none of another. */
const MAX_CALLS = 16

/** Other systems that gates may ask. */
export interface FactSources {
  mayAsk(origin: string): boolean
  /** Never throws: a failure is an answer that denies. */
  ask(question: FactQuestion): Promise<ExternalFact | NoAnswer>
}

/**
 * Asks the origins of NA_FACT_ORIGINS and no others: a signed policy alone causes no call. No
 * redirects, no metadata addresses, plain http only to addresses that are not public, time and size bounded.
 */
export function openFactSources(
  settings: Pick<AuthoritySettings, 'factOrigins' | 'factRoots'>,
  clock: Clock,
): FactSources {
  const origins: ReadonlySet<string> = new Set(settings.factOrigins)
  const calls = new Map<string, number>()
  return {
    mayAsk: (origin) => origins.has(origin),
    async ask(question) {
      const { origin } = question
      if (!origins.has(origin)) return none('origin_not_allowed')
      const active = calls.get(origin) ?? 0
      if (active >= MAX_CALLS) return none('overloaded')
      calls.set(origin, active + 1)
      try {
        return await askOnce(question, settings.factRoots, clock)
      } catch (error) {
        if (error instanceof JsonError) return none('response_refused')
        return none(error instanceof OutboundError ? FAILURES[error.kind] : 'unreachable')
      } finally {
        calls.set(origin, (calls.get(origin) ?? 1) - 1)
      }
    },
  }
}

const FAILURES = { unreachable: 'unreachable', timeout: 'time_limit', too_large: 'response_refused' } as const

async function askOnce(
  question: FactQuestion,
  extraRoots: readonly string[],
  clock: Clock,
): Promise<ExternalFact | NoAnswer> {
  const url = new URL(question.path, question.origin)
  // A path such as //host names another host.
  if (url.origin !== question.origin) return none('origin_not_allowed')
  const isPlain = url.protocol === 'http:'
  const { status, body } = await callUrl({
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: writeJson(question.body),
    timeoutMs: question.time_limit_ms,
    maxBytes: MAX_RESPONSE_BYTES,
    extraRoots,
    isAllowed: (address) => isCallable(address, true) && !(isPlain && addressKind(address) === 'public'),
  })
  if (status !== 200) return none('response_refused')
  const response = readJsonBytes(body)
  if (!isJsonObject(response)) return none('response_refused')
  return readFactResponse(question, response, writeInstant(clock.now()))
}

function none(failure: NoAnswer['failure']): NoAnswer {
  return { kind: 'none', failure }
}
