import type { Signer } from '@chancery/sdk'
import type { NetworkInfo, TokenInfo } from './requests/token-info.ts'

/** State of the page, in memory only. It is replaced as a whole when the token changes. */
export interface Session {
  /** Changes with each session. Input and responses of an earlier session are dropped. */
  readonly number: number
  readonly token: string | undefined
  readonly tokenInfo: TokenInfo | undefined
  readonly networkName: string | undefined
  readonly signer: Signer | undefined
  /** Why the page itself removed the key. */
  readonly keyNote: string | undefined
  /** The last successful response, for use in the next body. */
  readonly lastResponse: string | undefined
}

/** A request prepared by another page. The explorer shows it for review. */
export interface Draft {
  readonly operation: string
  readonly body: string
}

export const SIGNED_OUT: Session = {
  number: 0,
  token: undefined,
  tokenInfo: undefined,
  networkName: undefined,
  signer: undefined,
  keyNote: undefined,
  lastResponse: undefined,
}

/** Sets a new token, or none, and removes everything of the old session, including its key. */
export function signIn(old: Session, token: string, tokenInfo: TokenInfo): Session {
  return { ...SIGNED_OUT, number: old.number + 1, token, tokenInfo, networkName: tokenInfo.networks[0]?.name }
}

export function signOut(old: Session): Session {
  return { ...SIGNED_OUT, number: old.number + 1 }
}

/** Removes the key with the selection, because another network has other operators. */
export function chooseNetwork(session: Session, networkName: string): Session {
  return networkName === session.networkName ? session : { ...session, networkName, signer: undefined }
}

/** Removes an idle key; token and responses stay. */
export function clearKey(session: Session, keyNote: string): Session {
  return { ...session, signer: undefined, keyNote }
}

export function networkOf({ tokenInfo, networkName }: Session): NetworkInfo | undefined {
  return tokenInfo?.networks.find(({ name }) => name === networkName)
}
