import { listProblems } from '@chancery/protocol'
import type { Freshness, Instant, IssuerTrust, ListPosition, NetworkTrust } from '@chancery/protocol'
import { type IssuerPolicy, type NetworkPolicy, type Policy, issuersOfNetwork } from '../policy/policy.ts'
import { type SharedIndex, readIndex } from './revocation-index.ts'

/** The current list of one issuer, prepared for verification. It is never changed, only replaced. */
export interface IssuerState {
  readonly policy: IssuerPolicy
  readonly position: ListPosition
  readonly body: Uint8Array
  readonly index: SharedIndex
  /** At least the sequence of the current list. A lower list is refused. */
  readonly floor: number
  /** The authority signed two lists with one sequence. An operator has to check it. */
  readonly isSuspect: boolean
  /** A newer list that the authority signed and this gateway could not read. */
  readonly unread: UnreadList | undefined
}

export interface UnreadList {
  readonly sequence: number
  readonly bytes: number
  readonly reason: 'list_too_large' | 'list_unreadable'
  /**
   * From this time on the current list is below the floor, because the revocations of the newer list are missing here.
   */
  readonly refusedFrom: Instant
}

/** Trust inputs of one request. Plain data, so that it can be sent to other threads. */
export interface TrustData {
  readonly version: number
  readonly revision: string
  readonly networks: readonly NetworkData[]
}

export interface NetworkData {
  readonly name: string
  readonly requiredRoles: readonly string[]
  readonly certificateSkew: Instant
  readonly maxLifetime: Instant | undefined
  readonly issuers: readonly IssuerData[]
}

interface IssuerData {
  readonly issuer: string
  readonly anchors: ReadonlyMap<string, Uint8Array>
  readonly position: ListPosition
  readonly floor: number
  readonly freshness: Freshness
  readonly index: SharedIndex
  readonly period: IssuerPolicy['period']
}

export interface TrustSnapshot {
  readonly data: TrustData
  readonly policy: Policy
  readonly networks: ReadonlyMap<string, NetworkTrust>
  /** By {@link issuerKey}. */
  readonly issuers: ReadonlyMap<string, IssuerState>
}

export function issuerKey(network: string, issuer: string): string {
  return `${network}\0${issuer}`
}

/** Prepares keys and revocation index once, not per request. */
export function assembleSnapshot(
  policy: Policy,
  issuers: ReadonlyMap<string, IssuerState>,
  version: number,
): TrustSnapshot {
  const networks = [...policy.networks.values()].map((network) => toNetworkData(network, issuers))
  const data = { version, revision: policy.revision, networks }
  return { data, policy, issuers, networks: toNetworkTrusts(data) }
}

function toNetworkData(network: NetworkPolicy, states: ReadonlyMap<string, IssuerState>): NetworkData {
  const issuers = issuersOfNetwork(network).flatMap((policy) => {
    const issuerState = states.get(issuerKey(policy.network, policy.issuer))
    if (issuerState === undefined) return []
    const { position, floor, index } = issuerState
    const { issuer, anchors, freshness, period } = policy
    return [{ issuer, anchors, freshness, position, floor, index, period }]
  })
  const { name, requiredRoles, certificateSkew, maxLifetime } = network
  return { name, requiredRoles, certificateSkew, maxLifetime, issuers }
}

/** Converts plain data into the inputs of the evaluation, on any thread. */
export function toNetworkTrusts(data: TrustData): ReadonlyMap<string, NetworkTrust> {
  return new Map(
    data.networks.map((network) => {
      const issuers = new Map(network.issuers.map((issuer) => [issuer.issuer, toIssuerTrust(issuer)]))
      return [network.name, { ...network, issuers }]
    }),
  )
}

function toIssuerTrust({ index, position, period, ...rest }: IssuerData): IssuerTrust {
  return { ...rest, list: position, revocations: readIndex(index), ...(period === undefined ? {} : { period }) }
}

/**
 * Returns whether the certificates of a network can be verified: its primary issuer has a list that may be used. A key
 * that is announced, or a former one, does not decide it.
 */
export function isNetworkUsable({ issuers }: TrustSnapshot, { primary }: NetworkPolicy, now: Instant): boolean {
  const issuerState = issuers.get(issuerKey(primary.network, primary.issuer))
  return issuerState !== undefined && isUsable(issuerState, now)
}

/** Returns whether the list may be used now (protocol/gateway 9.1). */
export function isUsable(issuerState: IssuerState, now: Instant): boolean {
  return listProblems(issuerState.position, issuerState.floor, issuerState.policy.freshness, now).length === 0
}
