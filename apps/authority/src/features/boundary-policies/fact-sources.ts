import { JsonError, isJsonObject, readFactResponse, readJsonBytes, writeInstant, writeJson } from '@chancery/protocol'
import type { ExternalFact, FactQuestion, NoAnswer } from '@chancery/protocol'
import { type Clock, FairQueue, OutboundError, addressKind, callUrl, isCallable } from '@chancery/service-kit'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

/** Questions that wait, in total and of one caller. More are denied at once. */
const MAX_WAITING = 500
const MAX_WAITING_OF_CALLER = 128
const OVERLOADED: NoAnswer = { kind: 'none', failure: 'overloaded' }

export interface QuestionLimits {
  /** Questions asked at the same time, in total and of one caller. */
  readonly atOnce: number
  readonly atOnceOfCaller: number
  /** A question that waited this long for its turn is dropped. */
  readonly maxWaitMs: number
}

/** Questions of decisions: those of different callers in turn, and none that waited too long. */
export class WaitingQuestions {
  readonly #queue: FairQueue
  readonly #maxWaitMs: number
  readonly #waiting = new Map<string, number>()
  #total = 0

  constructor({ maxWaitMs, ...limits }: QuestionLimits) {
    this.#queue = new FairQueue({ ...limits, shortMs: 0, restFactor: 0, restMaxMs: 0 })
    this.#maxWaitMs = maxWaitMs
  }

  async take<Answer>(caller: string, work: () => Promise<Answer>): Promise<Answer | NoAnswer> {
    const own = this.#waiting.get(caller) ?? 0
    if (this.#total >= MAX_WAITING || own >= MAX_WAITING_OF_CALLER) return OVERLOADED
    this.#count(caller, 1)
    const slot = this.#queue.take(caller)
    const limit = setTimeout(() => slot.drop(), this.#maxWaitMs)
    const isGranted = await slot.granted
    clearTimeout(limit)
    this.#count(caller, -1)
    if (!isGranted) return OVERLOADED
    try {
      return await work()
    } finally {
      slot.end()
    }
  }

  #count(caller: string, change: number): void {
    const own = (this.#waiting.get(caller) ?? 0) + change
    this.#total += change
    if (own === 0) this.#waiting.delete(caller)
    else this.#waiting.set(caller, own)
  }
}

const MAX_RESPONSE_BYTES = 65_536
/**
 * Calls to one origin. A slow origin takes none of another. No caller takes all calls, and the longest call ends before
 * a question that waits is dropped.
 */
const CALLS = { atOnce: 16, atOnceOfCaller: 4, maxWaitMs: 2000 }

/** Other systems that gates may ask. */
export interface FactSources {
  mayAsk(origin: string): boolean
  /** Never throws: a failure is an answer that denies. Callers are served in turn. */
  ask(question: FactQuestion, caller: string): Promise<ExternalFact | NoAnswer>
}

/**
 * Asks the origins of NA_FACT_ORIGINS and no others: a signed policy alone causes no call. No
 * redirects, no metadata addresses, plain http only to addresses that are not public, time and size bounded.
 */
export function openFactSources(
  settings: Pick<AuthoritySettings, 'extraRoots' | 'factOrigins'>,
  clock: Clock,
): FactSources {
  const origins = new Map(settings.factOrigins.map((origin) => [origin, new WaitingQuestions(CALLS)]))
  return {
    mayAsk: (origin) => origins.has(origin),
    async ask(question, caller) {
      const waiting = origins.get(question.origin)
      if (waiting === undefined) return none('origin_not_allowed')
      return waiting.take(caller, async () => {
        try {
          return await askOnce(question, settings.extraRoots, clock)
        } catch (error) {
          if (error instanceof JsonError) return none('response_refused')
          return none(error instanceof OutboundError ? FAILURES[error.kind] : 'unreachable')
        }
      })
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
