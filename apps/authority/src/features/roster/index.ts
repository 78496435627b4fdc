import { Refusal, roster } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import { whenClockIsCorrect } from '../../clock/purge-clock.ts'
import type { Feature } from '../../core.ts'
import type { Reader } from '../../database/database.ts'
import { isLargeTable } from '../../database/large-tables.ts'
import { NodeCounter, list } from './list.ts'
import { MarkPosition, type Moment, type RosterParts, markSilent, momentOf } from './mark-silent.job.ts'
import { type NodeCounts, countNodes } from './queries/counts.ts'
import { type JsonObject, isJsonObject, readJson, readPublicKey } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { readPlace, toWireTime, writePlace } from '../../requests/list-position.ts'
import { findAgentText, findInviteOf, listCertificatesOf } from './queries/one-node.ts'
import { readNodes, viewNode } from './queries/rows.ts'
import { redactEvent } from '../../audit/export.ts'
import { EVENT_ORDER, listEventsOf } from '../../audit/insert.ts'
import { readPage, writeCursor } from '../../requests/paging.ts'

export { momentOf } from './mark-silent.job.ts'
export type { Moment } from './mark-silent.job.ts'
export { readNodes } from './queries/rows.ts'
export type { NodeRow } from './queries/rows.ts'
export type { BoundedCount, NodeCounts } from './queries/counts.ts'
export { countLateRenewals } from './queries/late-renewals.ts'

/**
 * GET /admin/nodes/{node_public_key}
 * Returns one node key with its certificates, agent and invite.
 */
async function find(call: OperatorCall, parts: RosterParts): Promise<JsonObject> {
  const key = readNodeKey(call)
  const { activeWindow, database, clock } = parts
  const moment = momentOf(clock.now(), activeWindow.seconds)
  const node = (await readNodes(database, [key], moment)).get(key)
  if (node === undefined) throw new Refusal('node_not_found')
  const { certificates, more } = await listCertificatesOf(database.read, key)
  const [invite, agent] = [await findInviteOf(database.read, key), await findAgentText(database.read, key, moment.now)]
  return {
    ...viewNode(node),
    certificates: certificates.map((row) => ({
      cert_id: row.cert_id,
      issued_at: toWireTime(row.issued_at),
      expires_at: toWireTime(row.expires_at),
      renewed_from: row.renewed_from,
      superseded_at: toWireTime(row.revoke_after),
      revoked_at: toWireTime(row.revoked_at),
      revocation_reason: row.revocation_reason,
      certificate: readJson(row.cert_json),
    })),
    more_certificates: more,
    agent: agent === undefined ? null : readJson(agent),
    invite:
      invite === undefined
        ? null
        : {
            token_fingerprint: invite.fingerprint,
            roles: readJson(invite.assigned_roles_json),
            max_validity_hours: invite.max_validity_hours,
            recipient_public_key: invite.recipient_public_key,
            created_at: toWireTime(invite.created_at),
            created_by: invite.created_by,
            expires_at: toWireTime(invite.expires_at),
            used_at: toWireTime(invite.used_at),
          },
  }
}

/** A public key as base64url without padding: slashes have a meaning in paths. */
function readNodeKey(call: Pick<Call, 'params'>): string {
  const text = call.params['node_public_key'] ?? ''
  if (!/^[A-Za-z0-9_-]{43}$/.test(text)) throw new Refusal('invalid_public_key')
  const key = `${text.replaceAll('-', '+').replaceAll('_', '/')}=`
  if (readPublicKey(key) === undefined) throw new Refusal('invalid_public_key')
  return key
}

const DEFAULT_ROWS = 50

/**
 * GET /admin/nodes/{node_public_key}/events
 * Returns audit events that name the key, one of its newest certificates or its invite, newest first.
 */
async function events(call: OperatorCall, parts: RosterParts): Promise<JsonObject> {
  const key = readNodeKey(call)
  const { limit, after } = readPage(call.query, DEFAULT_ROWS)
  const before = readPlace(EVENT_ORDER, after)
  const db = parts.database.read
  const { certificates } = await listCertificatesOf(db, key)
  if (certificates.length === 0) throw new Refusal('node_not_found')
  const invite = await findInviteOf(db, key)
  const ids = certificates.map(({ cert_id }) => cert_id)
  const subjects = [key, ...ids, ...(invite === undefined ? [] : [invite.fingerprint])]
  const found = await listEventsOf(db, subjects, { before, limit: limit + 1 })
  const shown = found.slice(0, limit)
  const last = found.length > limit ? shown.at(-1) : undefined
  return {
    count: shown.length,
    events: shown.map(({ event_json }) => {
      const event = readJson(event_json)
      return isJsonObject(event) ? redactEvent(event) : {}
    }),
    next_cursor: last === undefined ? null : writeCursor(writePlace(EVENT_ORDER, last)),
  }
}

export interface Roster extends Feature {
  /** Undefined when the counts of a large network are not ready. */
  countNodes(): Promise<NodeCounts | undefined>
}

/** Counts nodes by state, bounded. */
export async function countNodeStates(db: Reader, moment: Moment): Promise<NodeCounts> {
  return countNodes(db, moment, await isLargeTable(db, 'node_liveness'))
}

export function openRoster(parts: RosterParts): Roster {
  const { activeWindow, clock, clockCheck, database } = parts
  const counter = new NodeCounter(clock, () =>
    countNodeStates(database.read, momentOf(clock.now(), activeWindow.seconds)),
  )
  const own = { ...parts, counter }
  const marks = new MarkPosition()
  return {
    routes: [
      bindRead(roster.list, parts, (call, from) => list(call, { ...own, database: from })),
      bind(roster.find, (call) => find(call, own)),
      bindRead(roster.events, parts, (call, from) => events(call, { ...own, database: from })),
    ],
    jobs: [
      {
        name: 'mark-silent',
        everySeconds: 10,
        run: whenClockIsCorrect(clockCheck, (signal) => markSilent(own, marks, signal)),
      },
    ],
    countNodes: async () => counter.read(await isLargeTable(database.read, 'node_liveness')),
    close: () => Promise.resolve(),
  }
}
