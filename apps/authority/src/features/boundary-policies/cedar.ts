import type { CedarAnswer, CedarQuestion, NoAnswer } from '@chancery/protocol'
import { type Author, CedarAuthoring, type CedarGate, type SimulatedCedar } from './cedar-authoring.ts'
import type { CedarTexts } from './cedar-thread.ts'
import { CedarThreads } from './cedar-threads.ts'
import { WaitingQuestions } from './fact-sources.ts'

export type { CedarTexts } from './cedar-thread.ts'

const CEDAR_MODULE = '@cedar-policy/cedar-wasm/nodejs'

/** missing: the package is not installed. failed: it cannot be started now. */
export type CedarState = 'ready' | 'missing' | 'failed'

export interface CedarEngine {
  /**
   * Problems of each gate of one policy, for its author, in their order. Each gate has a time limit, and all of them
   * together have one. Throws CedarMissingError without the package.
   */
  check(gates: readonly CedarGate[], author: Author): Promise<readonly (readonly string[])[]>
  /** For the questions of one simulation. The caller closes it. */
  simulate(author: Author): SimulatedCedar
  /** Whether questions can be answered. Loads Cedar unless it is loaded. */
  probe(): Promise<CedarState>
  /** For decisions. Never throws: a failure is an answer that denies. Callers are served in turn. */
  ask(question: CedarQuestion, texts: CedarTexts, caller: string): Promise<CedarAnswer | NoAnswer>
  close(): Promise<void>
}

/**
 * Cedar of the optional package, loaded on first use. It runs in threads, so that no text can hold the event loop.
 * `now` returns milliseconds of a clock that only moves forward.
 */
export function openCedarEngine(
  module: string = CEDAR_MODULE,
  now: () => number = () => performance.now(),
): CedarEngine {
  const source = { module, now, isUrgent: true }
  const threads = new CedarThreads(source)
  const waiting = new WaitingQuestions({ atOnce: 1, atOnceOfCaller: 1, maxWaitMs: 1000 })
  const authoring = new CedarAuthoring(source, () => threads.start(false))
  return {
    check: (gates, author) => authoring.check(gates, author),
    simulate: (author) => authoring.simulate(author),
    async probe() {
      try {
        if ((await threads.ready()) !== undefined) return 'ready'
      } catch {
        // The state of the threads says why.
      }
      return threads.isMissing ? 'missing' : 'failed'
    },
    async ask(question, texts, caller) {
      // The time of the first start is no waiting for other questions. A failure is found again by the threads.
      await threads.ready().catch(() => undefined)
      return waiting.take(caller, () => threads.ask(question, texts))
    },
    close: () => threads.close(),
  }
}

/** Cedar for a program with one user. */
export interface LocalCedar {
  check(gates: readonly CedarGate[]): Promise<readonly (readonly string[])[]>
  ask(question: CedarQuestion, texts: CedarTexts): Promise<CedarAnswer | NoAnswer>
  close(): Promise<void>
}

export function openLocalCedar(): LocalCedar {
  const cedar = openCedarEngine()
  const signal = new AbortController().signal
  return {
    check: (gates) => cedar.check(gates, { operator: { key_id: '', tier: 'privileged' }, signal }),
    ask: (question, texts) => cedar.ask(question, texts, ''),
    close: () => cedar.close(),
  }
}

/** Whether Cedar can be used here, for a program that asks it nothing else. */
export async function probeCedar(): Promise<CedarState> {
  const cedar = openCedarEngine()
  try {
    return await cedar.probe()
  } finally {
    await cedar.close()
  }
}
