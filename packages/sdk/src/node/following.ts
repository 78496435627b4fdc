import { type JoinCertificate, genesisDigest } from '@chancery/protocol'
import type { Client } from '../client.ts'
import { CertificateError, type Expected, requireOwnCertificate } from './certificate.ts'
import type { NodeEmitter } from './events.ts'
import type { FollowedKeys } from './followed.ts'

interface Following {
  readonly client: Client
  readonly followed: FollowedKeys
  readonly expected: () => Expected
}

/** A certificate that does not verify may be of a key the root has named meanwhile: asked for, then checked again. */
export async function requireOwnOrFollow(
  certificate: JoinCertificate,
  { client, followed, expected }: Following,
): Promise<void> {
  try {
    await requireOwnCertificate(certificate, expected())
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error
    const outcome = await followed.follow(client).catch(() => 'unchanged')
    if (outcome !== 'changed') throw error
    await requireOwnCertificate(certificate, expected())
  }
}

/** Uses a newer block and emits an event; emits a refusal once. */
export class Follower {
  readonly #parts: { readonly client: Client; readonly followed: FollowedKeys; readonly events: NodeEmitter }
  #reported = ''

  constructor(parts: { readonly client: Client; readonly followed: FollowedKeys; readonly events: NodeEmitter }) {
    this.#parts = parts
  }

  async follow(signal: AbortSignal): Promise<void> {
    const { client, followed, events } = this.#parts
    const before = followed.digest
    const outcome = await followed.follow(client, signal)
    if (outcome === 'unchanged') return
    if (outcome === 'changed') {
      const { genesis } = followed.keys
      const digest = genesisDigest(genesis)
      if (digest !== before) events.emit('followed', { genesis, digest })
      return
    }
    if (outcome !== this.#reported) events.emit('unfollowed', { reason: outcome })
    this.#reported = outcome
  }
}
