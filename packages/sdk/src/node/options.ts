import type { AgentDescriptor, Attestation, CrlEntry } from '@chancery/protocol'
import type { AgentFacts } from '../api/agent-calls.ts'
import type { ConnectionOptions } from '../http/call.ts'
import type { NetworkIdentity } from '../trust/identity.ts'
import type { NodeEvent } from './events.ts'
import type { PlatformEvidence } from './evidence.ts'
import type { NodeStore } from './followed.ts'

export interface JoinOptions extends ConnectionOptions, NetworkIdentity {
  /** Stores key, certificate and lists. */
  readonly store: NodeStore
  /** Spent when the store holds no usable certificate. */
  readonly invite?: string | (() => Promise<string>)
  /**
   * In place of an invite: an admission rule, and where the platform gives evidence for it (`@chancery/sdk/platform`).
   * Also asked before every renewal.
   */
  readonly platform?: PlatformEvidence
  /** Used by ask() and fetch() when the call names none. */
  readonly attestation?: Attestation | string
  readonly validityHours?: number
  /**
   * Renews this many hours before the certificate ends, or after two thirds of its life if that is later: 24 when not
   * given, at most 720. Before you raise it, set RENEWAL_GRACE_SECONDS of the authority (docs/operate/capacity.md).
   */
  readonly renewBeforeHours?: number
  /**
   * The id of a certificate of this node's key that was issued and never arrived (see JoinInterruptedError). It is
   * renewed, which needs no invite. Looked at when the store holds no usable certificate.
   */
  readonly lostCertificate?: string
}

/** Chance and pauses; tests and the command line replace them. */
export interface NodeParts {
  readonly sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
  /** From 0 up to 1, for the spread of renewals and retries. */
  readonly random?: () => number
}

export interface RunOptions {
  /** Registered as long as the node runs: its facts, or a descriptor to take them from. */
  readonly agent?: Omit<AgentFacts, 'network_name'> | AgentDescriptor
  /** Shown in the roster; asked before every heartbeat when it is a function. */
  readonly status?: string | (() => string)
  /**
   * Reads every new revocation list, for a program that uses the list. Off by default: the authority refuses the
   * heartbeats of a revoked node, so a node needs no list for itself.
   */
  readonly followRevocations?: boolean
  readonly signal?: AbortSignal
  readonly onEvent?: (event: NodeEvent) => void
}

/** The revoked certificate, where the node found it in a list. */
export type RevokedEntry = CrlEntry
