import type { Signer } from '@chancery/sdk'
import type { NetworkStanding, Standing } from './requests/standing.ts'

/** What the page knows of its reader. It lives in memory only and is replaced as a whole when the token changes. */
export interface Session {
  /** Another number is another session: whatever was typed or answered under an earlier one is dropped. */
  readonly number: number
  readonly token: string | undefined
  readonly standing: Standing | undefined
  readonly networkName: string | undefined
  readonly signer: Signer | undefined
  /** Why there is no key any more, when the page forgot it by itself. */
  readonly keyNote: string | undefined
  /** The last good answer, to be put into the next body. */
  readonly lastAnswer: string | undefined
}

/** A request another page prepared; the explorer shows it for review. */
export interface Draft {
  readonly operation: string
  readonly body: string
}

export const NOBODY: Session = {
  number: 0,
  token: undefined,
  standing: undefined,
  networkName: undefined,
  signer: undefined,
  keyNote: undefined,
  lastAnswer: undefined,
}

/** A new token, or none: nothing of the old session stays, least of all its key. */
export function enter(old: Session, token: string, standing: Standing): Session {
  return { ...NOBODY, number: old.number + 1, token, standing, networkName: standing.networks[0]?.name }
}

export function leave(old: Session): Session {
  return { ...NOBODY, number: old.number + 1 }
}

/** Another network has other operators: the key is dropped with the choice. */
export function chooseNetwork(session: Session, networkName: string): Session {
  return networkName === session.networkName ? session : { ...session, networkName, signer: undefined }
}

/** A key that nobody uses is dropped; token and answers stay. */
export function forgetKey(session: Session, keyNote: string): Session {
  return { ...session, signer: undefined, keyNote }
}

export function networkOf({ standing, networkName }: Session): NetworkStanding | undefined {
  return standing?.networks.find(({ name }) => name === networkName)
}
