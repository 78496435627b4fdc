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
import type { ChanceryError, RevokedError } from '../errors.ts'

/** What happens while a node runs. */
export type NodeEvent =
  /** A certificate is in use: the first one, or that of an earlier run. */
  | { readonly type: 'started'; readonly certificate: JoinCertificate; readonly resumed: boolean }
  | { readonly type: 'heartbeat'; readonly nextSeconds: number; readonly response: HeartbeatResponse }
  /**
   * replaced: another process joined or renewed, and this node uses the stored certificate. rejoined: the certificate
   * expired, and a rule of the authority gave the node another.
   */
  | {
      readonly type: 'renewed' | 'replaced' | 'rejoined'
      readonly certificate: JoinCertificate
      readonly replaces: string
    }
  /** The authority lacks the certificate, as after a restore; an operator adopts it there. Once. */
  | { readonly type: 'presented'; readonly certificate: JoinCertificate }
  | { readonly type: 'registered'; readonly agent: AgentDescriptor; readonly expiresAt: string }
  /** `count` is the number of entries. The entries of `list` become values only when they are read. */
  | { readonly type: 'revocations'; readonly list: Crl; readonly count: number }
  | { readonly type: 'policy'; readonly policy: PolicyManifest }
  /** The root named another key: this node now uses its block. */
  | { readonly type: 'keys'; readonly genesis: GenesisBlock; readonly digest: string }
  /** An offered block is not signed by the root, or is older than the stored one. Once. */
  | { readonly type: 'keys_refused'; readonly reason: FollowRefusal }
  /** The node refused an offered or announced list. Once per offer. */
  | ({ readonly type: 'list_refused' } & RefusedList)
  /** Clock of this machine minus that of the authority, when it is more than half a minute. */
  | { readonly type: 'clock'; readonly offsetSeconds: number }
  /** An action failed; the node tries again after `retryInSeconds`. */
  | ({ readonly type: 'failed' } & FailedAction)

export interface FailedAction {
  readonly action: NodeAction
  readonly error: ChanceryError
  readonly retryInSeconds: number
  /** In a row, this one included. */
  readonly failures: number
}

export type NodeAction = 'heartbeat' | 'renew' | 'register' | 'save' | 'revocations' | 'policy' | 'withdraw' | 'keys'

/** Why a node ended. */
export type NodeEnd =
  | { readonly reason: 'stopped' }
  | { readonly reason: 'revoked'; readonly error: RevokedError }
  | { readonly reason: 'failed'; readonly error: ChanceryError }

export interface RefusedList {
  readonly list: 'crl' | 'policy'
  /** not_signed: not by the authority of this network. The others compare it with the stored list (protocol/gateway 9.2). */
  readonly reason: 'not_signed' | AdvanceRefusal
  /** Sequences of a revocation list: offered and stored. */
  readonly offered?: number
  readonly stored?: number
}

export type EmitEvent = (event: NodeEvent) => void

/** Calls the listener. What it throws is thrown outside the node, so that it does not stop the node. */
export function emitterOf(listener: EmitEvent | undefined): EmitEvent {
  return (event) => {
    try {
      listener?.(event)
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }
}
