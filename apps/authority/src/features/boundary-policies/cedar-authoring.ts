import { Refusal } from '@chancery/contract'
import { type CedarAnswer, type CedarQuestion, type JsonValue, type NoAnswer, writeJson } from '@chancery/protocol'
import { FairQueue, SerialQueue, TimeLimitError } from '@chancery/service-kit'
import type { OperatorKey } from '../../auth/operator-keys.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { CedarTexts } from './cedar-thread.ts'
import { type CedarSource, type CedarThread, CedarThreads, PREPARE_MS } from './cedar-threads.ts'

/** For all texts of one policy at publication. Its thread is new, so its first texts take longer on a busy machine. */
const CHECK_MS = 5000
/** Work of two operator keys at a time. Each key has one turn at a time, and the keys are served in turn. */
const TURNS = { atOnce: 2, shortMs: 0, restFactor: 0, restMaxMs: 0 }

/** Who wants the work, and until when: the signal ends with the request. */
export interface Author extends Pick<OperatorCall, 'signal'> {
  readonly operator: Pick<OperatorKey, 'key_id' | 'tier'>
}

/** What one gate gives to Cedar besides the request. */
export interface CedarGate extends CedarTexts {
  readonly entities: readonly JsonValue[]
}

/** Answers the questions of one simulation, in a separate thread. */
export interface SimulatedCedar {
  /** Never throws for a failure of Cedar. Refuses when the simulation is over. */
  ask(question: CedarQuestion, texts: CedarTexts): Promise<CedarAnswer | NoAnswer>
  close(): Promise<void>
}

/**
 * Checks and simulations of operators. They share no queue and no thread with decisions, nor with each other, and those
 * of privileged keys none with those of standard keys.
 */
export class CedarAuthoring {
  readonly #checks = new Turns()
  readonly #simulations = new Turns()
  readonly #source: CedarSource
  readonly #start: () => Promise<CedarThread>

  /** `start` gives a new thread to its caller. */
  constructor(source: CedarSource, start: () => Promise<CedarThread>) {
    this.#source = { ...source, isUrgent: false }
    this.#start = start
  }

  /** A policy without a Cedar gate waits for nothing. */
  async check(gates: readonly CedarGate[], author: Author): Promise<readonly (readonly string[])[]> {
    if (gates.length === 0) return []
    const end = await this.#checks.take(author)
    try {
      const thread = await this.#start()
      const found = await untilEnd(author, thread, () => checkGates(thread, gates, this.#source.now))
      // A thread that was ended for its caller has found nothing about the texts.
      if (author.signal.aborted) throw overTime()
      return found
    } finally {
      end()
    }
  }

  simulate(author: Author): SimulatedCedar {
    const threads = new CedarThreads(this.#source)
    const questions = new SerialQueue()
    let turn: Promise<() => void> | undefined
    const close = async (): Promise<void> => {
      await threads.close()
      const end = await turn?.catch(() => undefined)
      end?.()
    }
    author.signal.addEventListener('abort', () => void close(), { once: true })
    return {
      ask: (question, texts) =>
        questions.take(async () => {
          turn ??= this.#simulations.take(author)
          await turn
          const answer = await threads.ask(question, texts)
          if (author.signal.aborted) throw overTime()
          return answer
        }),
      close,
    }
  }
}

/** The caller has gone, or the time is over. */
export function overTime(): Refusal {
  return new Refusal('service_unavailable', { reason: 'deadline' })
}

/** A queue for each tier, and in it one for each key. */
class Turns {
  readonly #queues = { privileged: new FairQueue(TURNS), standard: new FairQueue(TURNS) }

  /** Returns what ends the turn. A request that is over does not wait any longer. */
  async take({ operator, signal }: Author): Promise<() => void> {
    const slot = this.#queues[operator.tier].take(operator.key_id)
    const drop = (): void => slot.drop()
    signal.addEventListener('abort', drop, { once: true })
    if (signal.aborted) drop()
    const isGranted = await slot.granted
    signal.removeEventListener('abort', drop)
    if (!isGranted) throw overTime()
    return () => slot.end()
  }
}

/** Ends the thread after the work, or with the request. */
async function untilEnd<Result>({ signal }: Author, thread: CedarThread, work: () => Promise<Result>): Promise<Result> {
  const close = (): void => void thread.close()
  signal.addEventListener('abort', close, { once: true })
  if (signal.aborted) close()
  try {
    return await work()
  } finally {
    signal.removeEventListener('abort', close)
    await thread.close()
  }
}

/** After the limit, or after a failure inside WebAssembly, the thread is used no more. */
async function checkGates(
  thread: CedarThread,
  gates: readonly CedarGate[],
  now: () => number,
): Promise<readonly (readonly string[])[]> {
  const end = now() + CHECK_MS
  const found: (readonly string[])[] = []
  for (const { policySet, schema, entities } of gates) {
    const leftMs = end - now()
    try {
      const asked = { policySet, schema, entities: writeJson(entities) }
      found.push(await thread.check(asked, Math.min(leftMs, PREPARE_MS)))
    } catch (error) {
      found.push([error instanceof TimeLimitError ? tooSlow(leftMs) : 'Cedar cannot read the texts'])
      break
    }
  }
  return gates.map((_, index) => found[index] ?? ['not checked, because the check of another gate failed'])
}

/** Names the limit that ended a check: that of the gate, or that of all gates when less of it was left. */
function tooSlow(leftMs: number): string {
  if (leftMs < PREPARE_MS) return `the texts of the policy take longer than ${CHECK_MS} ms to check`
  return `the texts of the gate take longer than ${PREPARE_MS} ms to check`
}
