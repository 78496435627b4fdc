import type { GenesisBlock, KeyHistory } from '@chancery/protocol'
import type { AgentFacts } from '../api/agents.ts'
import type { ClientOptions } from '../http/connection.ts'
import type { NodeEvidence } from './evidence.ts'
import type { NodeStore } from './followed.ts'

export interface NodeOptions extends Omit<ClientOptions, 'node' | 'operator'> {
  /**
   * The genesis block of the network, from a place you trust: it names the authority this node speaks to,
   * and the root key whose later blocks the node follows.
   */
  readonly genesis: GenesisBlock
  /** With it: the keys its authority had before, as its root signed them. */
  readonly keyHistory?: KeyHistory
  /** Stores key, certificate and lists. */
  readonly store: NodeStore
  /** Spent when the store holds no usable certificate. */
  readonly invite?: string | (() => Promise<string>)
  /**
   * In place of an invite: an admission rule, and where the platform gives evidence for it (`@chancery/sdk/evidence`).
   * Also asked before every renewal.
   */
  readonly evidence?: NodeEvidence
  /**
   * The id of a certificate of this node's key that was issued and never arrived (see JoinInterruptedError). It is
   * renewed, which needs no invite. Looked at when the store holds no usable certificate.
   */
  readonly lostCertificate?: string
  readonly validityHours?: number
  /** Shown in the roster; asked before every heartbeat when it is a function. */
  readonly status?: string | (() => string)
  /** Registered as long as the node runs. */
  readonly agent?: Omit<AgentFacts, 'network_name'>
  /**
   * Reads every new revocation list, for a program that uses {@link Node.crl}. Off by default: the authority refuses the
   * heartbeats of a revoked node, so a node needs no list for itself.
   */
  readonly followCrl?: boolean
  /**
   * Renews this many hours before the certificate ends, or after two thirds of its life if that is later: 24 when not
   * given, at most 720. Before you raise it, set RENEWAL_GRACE_SECONDS of the authority (docs/operate/capacity.md).
   */
  readonly renewBeforeHours?: number
  /** Waits between steps; tests pass their own, like `clock`. */
  readonly sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
  /** From 0 up to 1, for the spread of renewals and retries. */
  readonly random?: () => number
}
