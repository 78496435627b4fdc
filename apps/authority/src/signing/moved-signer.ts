import { type KeyObject, createPrivateKey } from 'node:crypto'
import { Thread } from '@chancery/service-kit'
import type { AuthoritySigner } from './signer.ts'

/** The bytes of a PKCS #8 key of Ed25519 before its seed (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** What the thread gets: the key as an object of the crypto library, never as text. */
export interface SigningThreadData {
  readonly key: KeyObject
}

export interface MovedMessage {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly length: number
}

/**
 * Signs long messages with a seed in a thread, started with the first one. The thread pool would copy the message on the
 * event loop first, which takes 50 ms for 80 MB.
 */
export function movedSigner(seed: Uint8Array): NonNullable<AuthoritySigner['signMoved']> {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })
  let thread: Thread | undefined
  return (bytes, length) => {
    if (thread === undefined || thread.hasEnded)
      thread = new Thread('./signing-thread', import.meta.url, {
        env: {},
        workerData: { key } satisfies SigningThreadData,
      })
    return thread.call('sign', { bytes, length } satisfies MovedMessage, [bytes.buffer])
  }
}
