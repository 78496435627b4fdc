import { listProblems } from '@chancery/protocol'
import type { Freshness, Instant, IssuerTrust, ListMark, NetworkTrust } from '@chancery/protocol'
import type { IssuerPolicy, NetworkPolicy, Policy } from '../policy/policy.ts'
import { readIndex } from './revocation-index.ts'
import type { SharedIndex } from './revocation-index.ts'

/** The list of one issuer that is in force, with everything prepared for judging. Never changed, only replaced. */
export interface IssuerStanding {
  readonly policy: IssuerPolicy
  readonly mark: ListMark
  readonly body: Uint8Array
  readonly index: SharedIndex
  /** At least the sequence of the list in force: nothing goes back below it. */
  readonly floor: number
  /** The authority signed two lists under one sequence; an operator has to look. */
  readonly isSuspect: boolean
  /** A newer list that the authority signed and this gateway could not read. */
  readonly unread: UnreadList | undefined
}

export interface UnreadList {
  readonly sequence: number
  readonly bytes: number
  readonly reason: 'list_too_large' | 'list_unreadable'
  /** From then on the held list is below the floor: what the newer one revokes is not known here. */
  readonly refusedFrom: Instant
}

/** What one request is judged by, from its beginning to its end. Plain data, so that it can go to other threads. */
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
  readonly mark: ListMark
  readonly floor: number
  readonly freshness: Freshness
  readonly index: SharedIndex
}

export interface TrustSnapshot {
  readonly data: TrustData
  readonly policy: Policy
  readonly networks: ReadonlyMap<string, NetworkTrust>
  /** By {@link standingKey}. */
  readonly standings: ReadonlyMap<string, IssuerStanding>
}

export function standingKey(network: string, issuer: string): string {
  return `${network}\0${issuer}`
}

/** Parsed keys and revocation index are prepared here once, not per request. */
export function assembleSnapshot(
  policy: Policy,
  standings: ReadonlyMap<string, IssuerStanding>,
  version: number,
): TrustSnapshot {
  const networks = [...policy.networks.values()].map((network) => toNetworkData(network, standings))
  const data = { version, revision: policy.revision, networks }
  return { data, policy, standings, networks: toNetworkTrusts(data) }
}

function toNetworkData(network: NetworkPolicy, standings: ReadonlyMap<string, IssuerStanding>): NetworkData {
  const issuers = [network.primary, ...network.additional].flatMap((policy) => {
    const standing = standings.get(standingKey(policy.network, policy.issuer))
    if (standing === undefined) return []
    const { mark, floor, index } = standing
    return [{ issuer: policy.issuer, anchors: policy.anchors, freshness: policy.freshness, mark, floor, index }]
  })
  const { name, requiredRoles, certificateSkew, maxLifetime } = network
  return { name, requiredRoles, certificateSkew, maxLifetime, issuers }
}

/** The same on every thread: from plain data to what the evaluation takes. */
export function toNetworkTrusts(data: TrustData): ReadonlyMap<string, NetworkTrust> {
  return new Map(
    data.networks.map((network) => {
      const issuers = new Map(network.issuers.map((issuer) => [issuer.issuer, toIssuerTrust(issuer)]))
      return [network.name, { ...network, issuers }]
    }),
  )
}

function toIssuerTrust({ issuer, anchors, mark, floor, freshness, index }: IssuerData): IssuerTrust {
  return { issuer, anchors, list: mark, floor, freshness, revocations: readIndex(index) }
}

/** Whether the list may be relied upon now (protocol/gateway 9.1). */
export function isUsable(standing: IssuerStanding, now: Instant): boolean {
  return listProblems(standing.mark, standing.floor, standing.policy.freshness, now).length === 0
}
