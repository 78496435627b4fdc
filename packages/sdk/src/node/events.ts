import type {
  AdvanceRefusal,
  AgentDescriptor,
  Crl,
  FollowRefusal,
  GenesisBlock,
  JoinCertificate,
  PolicyManifest,
} from '@chancery/protocol'
import type { HeartbeatAnswer } from '../areas/enrollment.ts'

/** What a running node tells. */
export interface NodeEvents {
  /** A certificate is in use: the first one, or that of an earlier run. */
  readonly started: { readonly certificate: JoinCertificate; readonly resumed: boolean }
  readonly heartbeat: { readonly answer: HeartbeatAnswer; readonly nextSeconds: number }
  /** Somebody joined or renewed beside this process: what the store holds is used from here on. */
  readonly taken: { readonly certificate: JoinCertificate; readonly replaces: string }
  readonly renewed: { readonly certificate: JoinCertificate; readonly replaces: string }
  readonly announced: { readonly descriptor: AgentDescriptor; readonly expires_at: string }
  readonly crl: { readonly crl: Crl }
  readonly policy: { readonly policy: PolicyManifest }
  /** The root named another key: its block is held from here on. */
  readonly followed: { readonly genesis: GenesisBlock; readonly digest: string }
  /** A block that was offered and is not the root's, or older than the one held. Said once. */
  readonly unfollowed: { readonly reason: FollowRefusal }
  /** A list the authority offers or speaks of but that is not taken. Said once until something else is offered. */
  readonly refused: RefusedList
  /** Tried again by itself after this time. */
  readonly failed: {
    readonly action: NodeAction
    readonly error: Error
    readonly retryInSeconds: number
    /** In a row, this one included. */
    readonly failures: number
  }
  /** Local clock minus that of the authority, when it is more than a minute. */
  readonly clock: { readonly offsetSeconds: number }
  /** The node does nothing any more. With an error when nothing it could do later would help. */
  readonly stopped: { readonly error: Error | undefined }
}

export interface RefusedList {
  readonly list: 'crl' | 'policy'
  /** not_signed: by the authority of this network. The others compare it with the list held (protocol/gateway 9.2). */
  readonly reason: 'not_signed' | AdvanceRefusal
  /** Numbers of a revocation list: the one offered, and the one held. */
  readonly offered?: number
  readonly held?: number
}

export type NodeAction = 'heartbeat' | 'renew' | 'announce' | 'save' | 'crl' | 'policy' | 'withdraw' | 'follow'

type Listener<Name extends keyof NodeEvents> = (event: NodeEvents[Name]) => void

/** Listeners by name. One that throws must not take the node with it: its error is thrown outside. */
export class NodeEmitter {
  readonly #listeners = new Map<keyof NodeEvents, Set<(event: never) => void>>()

  on<Name extends keyof NodeEvents>(name: Name, listener: Listener<Name>): () => void {
    const all = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, all.add(listener))
    return () => void all.delete(listener)
  }

  emit<Name extends keyof NodeEvents>(name: Name, event: NodeEvents[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        ;(listener as Listener<Name>)(event)
      } catch (error) {
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}
