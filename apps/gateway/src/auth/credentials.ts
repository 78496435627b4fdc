import { hash } from 'node:crypto'
import type { ClientPolicy } from '../policy/policy.ts'

interface Entry {
  readonly digest: string
  readonly client: ClientPolicy
}

/** Shorter tokens can be guessed. Longer ones can only be OIDC tokens (protocol/gateway 4). */
export const TOKEN_BYTES = { min: 32, max: 1024 } as const

/** Finds clients by the digest of their tokens. The tokens are not stored. */
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
    // The latin1 form needs the least work on this platform.
    const digest = hash('sha256', token, 'latin1')
    const entry = this.#entries.get(digest)
    // The map has compared already. This comparison takes the same time for every difference.
    return entry !== undefined && isSame(entry.digest, digest) ? entry.client : undefined
  }
}

function isSame(stored: string, presented: string): boolean {
  let difference = stored.length ^ presented.length
  for (let at = 0; at < stored.length; at += 1) difference |= stored.charCodeAt(at) ^ presented.charCodeAt(at)
  return difference === 0
}
