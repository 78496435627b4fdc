import type {
  AdvanceRefusal,
  AgentDescriptor,
  Crl,
  FollowRefusal,
  GenesisBlock,
  JoinCertificate,
  PolicyManifest,
} from '@chancery/protocol'
import type { HeartbeatResponse } from '@chancery/contract'

/** The events of a running node. */
export interface NodeEvents {
  /** A certificate is in use: the first one, or that of an earlier run. */
  readonly started: { readonly certificate: JoinCertificate; readonly resumed: boolean }
  readonly heartbeat: { readonly response: HeartbeatResponse; readonly nextSeconds: number }
  /** Another process joined or renewed: this node now uses the stored certificate. */
  readonly certificateReplaced: { readonly certificate: JoinCertificate; readonly replaces: string }
  readonly renewed: { readonly certificate: JoinCertificate; readonly replaces: string }
  /** The certificate expired, and a rule of the authority gave the node another. */
  readonly rejoined: { readonly certificate: JoinCertificate; readonly replaces: string }
  /** The authority lacks the certificate, as after a restore; an operator adopts it there. Emitted once. */
  readonly presented: { readonly certificate: JoinCertificate }
  readonly announced: { readonly descriptor: AgentDescriptor; readonly expires_at: string }
  /** `count` is the number of entries. The entries of `crl` become values only when they are read. */
  readonly crl: { readonly crl: Crl; readonly count: number }
  readonly policy: { readonly policy: PolicyManifest }
  /** The root named another key: this node now uses its block. */
  readonly followed: { readonly genesis: GenesisBlock; readonly digest: string }
  /** An offered block is not signed by the root, or is older than the stored one. Emitted once. */
  readonly unfollowed: { readonly reason: FollowRefusal }
  /** The node refused an offered or announced list. Emitted once per offer. */
  readonly listRefused: RefusedList
  /** An action failed; the node tries again after `retryInSeconds`. */
  readonly actionFailed: {
    readonly action: NodeAction
    readonly error: Error
    readonly retryInSeconds: number
    /** In a row, this one included. */
    readonly failures: number
  }
  /** Local clock minus that of the authority, when it is more than a minute. */
  readonly clock: { readonly offsetSeconds: number }
  /** The node has stopped. With an error when a retry cannot help. */
  readonly stopped: { readonly error: Error | undefined }
}

export interface RefusedList {
  readonly list: 'crl' | 'policy'
  /** not_signed: not by the authority of this network. The others compare it with the stored list (protocol/gateway 9.2). */
  readonly reason: 'not_signed' | AdvanceRefusal
  /** Sequences of a revocation list: offered and stored. */
  readonly offered?: number
  readonly stored?: number
}

export type NodeAction = 'heartbeat' | 'renew' | 'announce' | 'save' | 'crl' | 'policy' | 'withdraw' | 'follow'

type Listener<Name extends keyof NodeEvents> = (event: NodeEvents[Name]) => void

/** Listeners by name. An error of a listener is thrown outside the node, so that it does not stop the node. */
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
