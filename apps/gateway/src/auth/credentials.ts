import { hash } from 'node:crypto'
import type { ClientPolicy } from '../policy/policy.ts'

interface Entry {
  readonly digest: string
  readonly client: ClientPolicy
}

/** Shorter tokens are guessable, longer ones can only be OIDC tokens (protocol/gateway 4). */
export const TOKEN_BYTES = { min: 32, max: 1024 } as const

/** Clients by the digest of their tokens; the tokens themselves are nowhere. */
export class CredentialIndex {
  readonly #entries = new Map<string, Entry>()

  constructor(clients: readonly ClientPolicy[]) {
    for (const client of clients) {
      for (const text of client.tokenDigests) {
        const digest = Buffer.from(text, 'hex').toString('latin1')
        this.#entries.set(digest, { digest, client })
      }
    }
  }

  find(token: string): ClientPolicy | undefined {
    if (token.length < TOKEN_BYTES.min || token.length > TOKEN_BYTES.max) return undefined
    // One byte per character: the form the platform gives with the least work.
    const digest = hash('sha256', token, 'latin1')
    const entry = this.#entries.get(digest)
    // The look-up already compared; this one takes the same time whatever the difference.
    return entry !== undefined && isSame(entry.digest, digest) ? entry.client : undefined
  }
}

function isSame(kept: string, presented: string): boolean {
  let difference = kept.length ^ presented.length
  for (let at = 0; at < kept.length; at += 1) difference |= kept.charCodeAt(at) ^ presented.charCodeAt(at)
  return difference === 0
}
