import { createHash, timingSafeEqual } from 'node:crypto'
import type { ClientPolicy } from '../policy/policy.ts'

interface Entry {
  readonly digest: Buffer
  readonly client: ClientPolicy
}

/** Shorter tokens are guessable, longer ones can only be OIDC tokens (protocol/gateway 4). */
export const TOKEN_BYTES = { min: 32, max: 1024 } as const

/** Clients by the digest of their tokens; the tokens themselves are nowhere. */
export class CredentialIndex {
  readonly #entries = new Map<string, Entry>()

  constructor(clients: readonly ClientPolicy[]) {
    for (const client of clients) {
      for (const digest of client.tokenDigests)
        this.#entries.set(digest, { digest: Buffer.from(digest, 'hex'), client })
    }
  }

  find(token: string): ClientPolicy | undefined {
    if (token.length < TOKEN_BYTES.min || token.length > TOKEN_BYTES.max) return undefined
    const digest = createHash('sha256').update(token).digest()
    const entry = this.#entries.get(digest.toString('hex'))
    // The look-up already compared; this one takes the same time whatever the difference.
    return entry !== undefined && timingSafeEqual(entry.digest, digest) ? entry.client : undefined
  }
}
