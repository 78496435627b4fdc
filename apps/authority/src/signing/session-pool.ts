import { inTime } from '@chancery/service-kit'
import { TokenBusyError } from './vault-signer.ts'
import type { TokenSession } from './token-session.ts'

type Session = Pick<TokenSession, 'sign' | 'close'>

const SIGN_SECONDS = 5

/** A limited number of sessions. Callers queue for one. A failed session is discarded and replaced by a new login. */
export class SessionPool {
  readonly #open: () => Session
  readonly #idle: Session[]
  readonly #waiting = new Set<() => void>()
  readonly #seconds: number
  #free: number

  constructor(open: () => Session, first: Session, size: number, seconds: number = SIGN_SECONDS) {
    this.#open = open
    this.#idle = [first]
    this.#free = size
    this.#seconds = seconds
  }

  async sign(message: Uint8Array): Promise<Uint8Array> {
    await this.#enter()
    const operation = this.#signAlone(message)
    // The slot is released when the token has finished, not when the caller stops waiting.
    void operation.catch(() => undefined).finally(() => this.#leave())
    return inTime(operation, this.#seconds * 1000, new Error('the token did not sign in time'))
  }

  /** Ends the sessions that are not in use, of a key that is not used any more. */
  close(): void {
    for (const session of this.#idle.splice(0)) session.close()
  }

  /** Retries once with a new session, because a token that was restarted or replugged has lost the old ones. */
  async #signAlone(message: Uint8Array): Promise<Uint8Array> {
    const session = this.#idle.pop()
    if (session !== undefined) {
      const signature = await this.#signWith(session, message).catch(() => undefined)
      if (signature !== undefined) return signature
    }
    return this.#signWith(this.#open(), message)
  }

  async #signWith(session: Session, message: Uint8Array): Promise<Uint8Array> {
    try {
      const signature = await session.sign(message)
      this.#idle.push(session)
      return signature
    } catch (error) {
      session.close()
      throw error
    }
  }

  /** Waiting is limited, too. A token that does not respond keeps every slot, and callers would queue without end. */
  async #enter(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1
      return
    }
    let wake = (): void => undefined
    const turn = new Promise<void>((resolve) => {
      wake = resolve
    })
    this.#waiting.add(wake)
    try {
      await inTime(turn, this.#seconds * 1000, new Error('the token has no free session'))
    } catch (error) {
      // A slot that became free at the same moment goes to the next caller.
      if (!this.#waiting.delete(wake)) this.#leave()
      throw new TokenBusyError('the token has no free session', { cause: error })
    }
  }

  #leave(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#free += 1
      return
    }
    this.#waiting.delete(next)
    next()
  }
}
