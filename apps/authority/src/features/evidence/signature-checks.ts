import { availableParallelism } from 'node:os'
import { toUtf8, verifySignature } from '@chancery/protocol'
import { Batcher, Thread, endOfLoopTurn } from '@chancery/service-kit'
import type { Log } from '@chancery/service-kit'

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

/**
 * Verifies signatures of submissions. Those that arrive together are verified in a separate thread where there is a
 * second core. When the thread fails, they are verified here: a failure is never a verdict.
 */
export class SignatureChecks {
  readonly #log: Pick<Log, 'warn'>
  readonly #hasCore = availableParallelism() > 1
  readonly #checks = new Batcher((claims: SignedClaim[]) => this.#verifyAll(claims), {
    maxItems: MAX_ITEMS,
    maxWaiting: MAX_WAITING,
    delay: endOfLoopTurn,
  })
  #thread: Thread | undefined

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log
  }

  verify(claim: SignedClaim): Promise<boolean> {
    return this.#hasCore ? this.#checks.add(claim).catch(() => verifyHere(claim)) : verifyHere(claim)
  }

  async close(): Promise<void> {
    await this.#checks.close()
    await this.#thread?.close()
  }

  async #verifyAll(claims: readonly SignedClaim[]): Promise<boolean[]> {
    if (claims.length < FEW || this.#thread?.hasEnded === true) return Promise.all(claims.map(verifyHere))
    this.#thread ??= new Thread('./signature-thread', import.meta.url, { env: {} })
    try {
      return await this.#thread.call<boolean[]>('verify', claims)
    } catch (error) {
      this.#log.warn('signatures of evidence are verified without a separate thread', { error })
      throw error
    }
  }
}

function verifyHere({ key, signed, sig }: SignedClaim): Promise<boolean> {
  return verifySignature(key, toUtf8(signed), sig)
}
