import { enrollment } from '@chancery/contract'
import { type JoinCertificate, type JsonValue, asJson, field, readJoinCertificate, shape } from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import { requireNode } from '../http/node-signing.ts'
import { type InventoryApi, inventoryApi } from './inventory.ts'
import { type InvitesApi, invitesApi } from './invites.ts'

/** protocol/core 8; absent members get the defaults of the authority. */
export interface InviteRequest {
  readonly roles?: readonly string[]
  readonly max_validity_hours?: number
  readonly token_expiry_hours?: number
  readonly recipient_public_key?: string
  /** Name of the node for operators, 1 to 64 characters. */
  readonly label?: string
}

export interface Invite {
  /** A secret: anyone with it can join once. The authority stores only its digest and cannot show it again. */
  readonly token_id: string
  readonly expires_at: string
}

/** What a platform says of this node (docs/protocol/admission.md). It is a secret until it expires. */
export type JoinEvidence = {
  readonly rule_id: string
  readonly token: string
  /** For X.509-SVIDs: the leaf first, each as base64 of its DER form. */
  readonly certificate_chain?: readonly string[]
}

/** With an invite or with evidence, one of them. */
export type JoinRequest = (
  | { readonly invite_token: string; readonly evidence?: never }
  | { readonly evidence: JoinEvidence; readonly invite_token?: never }
) & { readonly validity_hours?: number }

export interface HeartbeatRequest {
  readonly cert_id: string
  /** Shown in the roster; `unknown` when not given. */
  readonly status?: string
  /** Fingerprint of the genesis block of this node: the authority counts the nodes that follow a key succession. */
  readonly genesis_digest?: string
}

/** The last three are undefined from an authority that sends no interval (protocol/core 7). */
export interface HeartbeatResponse {
  readonly server_time: string
  readonly next_heartbeat_seconds: number | undefined
  readonly crl_sequence: number | undefined
  readonly policy_id: string | null | undefined
  /** Fingerprint of the newest block of the root; only for nodes that sent theirs, and after a succession. */
  readonly genesis_digest?: string | undefined
}

export interface RenewRequest {
  readonly cert_id: string
  readonly validity_hours?: number
  /** Fresh, of the same rule; needed for a certificate that came from evidence. */
  readonly evidence?: JoinEvidence
}

/** A workload identity token of a certificate (docs/protocol/wimse.md). Beta. */
export interface IssuedWit {
  readonly wit: string
  readonly expires_at: string
}

/** `waiting`: an operator decides. `known`: the authority has it, and accepts it. */
export interface PresentedCertificate {
  readonly cert_id: string
  readonly state: string
}

/** A type, not an interface: it is JSON and may be passed on as such. */
export type RosterEntry = {
  readonly node_public_key: string
  readonly roles: readonly string[]
  readonly status: string
  readonly last_heartbeat: string
  readonly remote_addr: string
  readonly expires_at: string
  /** Null when the node has none, or the authority has no labels. */
  readonly label: string | null
}

export interface Roster {
  readonly count: number
  /** By certificate id. */
  readonly nodes: Readonly<Record<string, RosterEntry>>
}

export interface EnrollmentApi extends InvitesApi, InventoryApi {
  /**
   * As operator. The response contains a secret and is never sent twice, so an attempt with an unknown outcome is not
   * repeated.
   */
  invite(request?: InviteRequest, options?: WriteOptions): Promise<Invite>
  /** Spends the invite. Verify the certificate with protocol's verifyJoinCertificate before you use it. */
  join(request: JoinRequest, options?: CallOptions): Promise<JoinCertificate>
  heartbeat(request: HeartbeatRequest, options?: CallOptions): Promise<HeartbeatResponse>
  /**
   * May be repeated within the grace period of the old certificate: a lost response only costs one more certificate.
   */
  renew(request: RenewRequest, options?: CallOptions): Promise<JoinCertificate>
  /** Returns a WIMSE token of this certificate; refused with `wimse_disabled` when the authority issues none. Beta. */
  wit(request: { readonly cert_id: string }, options?: CallOptions): Promise<IssuedWit>
  /** Presents a valid certificate that a restored authority lacks, for its adoption by an operator. Beta. */
  present(request: { readonly certificate: JoinCertificate }, options?: CallOptions): Promise<PresentedCertificate>
  /** Returns the number of active nodes. Public. */
  nodes(options?: CallOptions): Promise<{ readonly count: number }>
  /** Returns the active nodes, for an operator. */
  roster(options?: CallOptions): Promise<Roster>
}

const word = shape.required(shape.string)
const whole = shape.integer(0, Number.MAX_SAFE_INTEGER)

const readInvite = shape.open({ token_id: word, expires_at: shape.required(field.timestamp) })

const readHeartbeat = shape.open({
  server_time: shape.required(field.timestamp),
  next_heartbeat_seconds: shape.withDefault<number | undefined>(whole, undefined),
  crl_sequence: shape.withDefault<number | undefined>(whole, undefined),
  policy_id: shape.withDefault<string | null | undefined>(shape.nullable(shape.string), undefined),
  genesis_digest: shape.withDefault<string | undefined>(shape.string, undefined),
})

const readIssuedWit = shape.open({ wit: word, expires_at: shape.required(field.timestamp) })

const readPresented = shape.open({ cert_id: word, state: word })

const readCount = shape.open({ count: shape.required(whole) })

const readEntry = shape.open({
  node_public_key: word,
  roles: shape.required(shape.arrayOf(shape.string, { max: 64 })),
  status: word,
  last_heartbeat: word,
  remote_addr: word,
  expires_at: word,
  label: shape.withDefault(shape.nullable(shape.string), null),
})

const readRoster = shape.open({ count: shape.required(whole), nodes: shape.required(readEntries) })

function readEntries(value: JsonValue, place: string): Readonly<Record<string, RosterEntry>> {
  const entries = Object.entries(shape.object(value, place))
  return Object.fromEntries(entries.map(([id, entry]) => [id, readEntry(entry, `${place}.${id}`)]))
}

type ProvenCall = 'join' | 'heartbeat' | 'renew' | 'wit' | 'present'

export function enrollmentApi(connection: Connection): EnrollmentApi {
  const { call, node } = connection
  /** A call that the key of the node proves. All but a join may be repeated. */
  const proven = async <Value>(
    name: ProvenCall,
    given: object,
    read: (value: JsonValue) => Value,
    options?: CallOptions,
  ) => {
    const identity = requireNode(node, name)
    return call({
      route: enrollment[name],
      body: (now) => identity.prove(name, omitUndefined({ ...given }), now),
      ...(name === 'join' ? {} : { repeatable: true as const }),
      read: json(read),
      options,
    })
  }
  return {
    ...invitesApi(connection),
    ...inventoryApi(connection),
    invite: (request = {}, options) =>
      call({
        route: enrollment.invite,
        body: omitUndefined({ ...request }),
        idempotencyKey: options?.idempotencyKey,
        read: json((value) => readInvite(value, '')),
        options,
      }),
    join: (request, options) => proven('join', request, readJoinCertificate, options),
    heartbeat: (request, options) => proven('heartbeat', request, (value) => readHeartbeat(value, ''), options),
    renew: (request, options) => proven('renew', request, readJoinCertificate, options),
    wit: (request, options) => proven('wit', request, (value) => readIssuedWit(value, ''), options),
    present: ({ certificate }, options) =>
      proven('present', { certificate: asJson(certificate) }, (value) => readPresented(value, ''), options),
    nodes: (options) => call({ route: enrollment.nodes, read: json((value) => readCount(value, '')), options }),
    roster: (options) =>
      call({ route: enrollment.nodes, asOperator: true, read: json((value) => readRoster(value, '')), options }),
  }
}
