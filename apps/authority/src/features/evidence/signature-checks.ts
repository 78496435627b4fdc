import { availableParallelism } from 'node:os'
import { toUtf8, verifySignature } from '@chancery/protocol'
import { Batcher, type Log, Thread, endOfLoopTurn } from '@chancery/service-kit'

/** A text, and the signature that it is said to have under a public key. */
export interface SignedClaim {
  readonly key: string
  readonly signed: string
  readonly sig: string
}

/** Fewer are verified on the event loop: a message to another thread would take longer. */
const FEW = 8
const MAX_ITEMS = 100
const MAX_WAITING = 2000
/** A batch takes about 10 ms, and the first one the start of the thread, too. A thread that takes this long hangs and is ended. */
const LIMIT_MS = 5000
/** For this time after a thread failed, signatures are verified here. Then another thread is started. */
const PAUSE_MS = 10_000

export interface SignatureCheckOptions {
  /** Tests replace it. */
  readonly openThread?: () => Thread
  readonly pauseMs?: number
}

/**
 * Verifies signatures of submissions. Those that arrive together are verified in a separate thread where there is a
 * second core. When the thread fails or hangs, they are verified here: a failure is never a verdict.
 */
export class SignatureChecks {
  readonly #log: Pick<Log, 'warn'>
  readonly #openThread: () => Thread
  readonly #pauseMs: number
  readonly #hasCore = availableParallelism() > 1
  readonly #checks = new Batcher((claims: SignedClaim[]) => this.#verifyAll(claims), {
    maxItems: MAX_ITEMS,
    maxWaiting: MAX_WAITING,
    delay: endOfLoopTurn,
  })
  #thread: Thread | undefined
  #pausedUntil = 0
  #isClosed = false

  constructor(
    log: Pick<Log, 'warn'>,
    { openThread = openSignatureThread, pauseMs = PAUSE_MS }: SignatureCheckOptions = {},
  ) {
    this.#log = log
    this.#openThread = openThread
    this.#pauseMs = pauseMs
  }

  verify(claim: SignedClaim): Promise<boolean> {
    return this.#hasCore ? this.#checks.add(claim).catch(() => verifyHere(claim)) : verifyHere(claim)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#checks.close()
    await this.#thread?.close()
  }

  async #verifyAll(claims: readonly SignedClaim[]): Promise<boolean[]> {
    const isPaused = this.#isClosed || performance.now() < this.#pausedUntil
    if (claims.length < FEW || isPaused) return Promise.all(claims.map(verifyHere))
    if (this.#thread === undefined || this.#thread.hasEnded) this.#thread = this.#openThread()
    try {
      return await this.#thread.call<boolean[]>('verify', claims)
    } catch (error) {
      if (this.#thread.hasEnded) this.#pausedUntil = performance.now() + this.#pauseMs
      this.#log.warn('signatures of evidence are verified without a separate thread', { error })
      throw error
    }
  }
}

function openSignatureThread(): Thread {
  return new Thread('./signature-thread', import.meta.url, { env: {}, limitMs: LIMIT_MS })
}

function verifyHere({ key, signed, sig }: SignedClaim): Promise<boolean> {
  return verifySignature(key, toUtf8(signed), sig)
}
