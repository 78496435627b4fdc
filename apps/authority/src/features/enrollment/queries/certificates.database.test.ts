import { MINUTE, writeSortable } from '@chancery/protocol'
import { ManualClock, startTestAuthority } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { rowsOf } from '../../../testing/rows.suite.ts'
import { countLiveNodes } from '../../../database/liveness-counts.ts'
import { activeMoment, countActiveNodes, countByRows } from './certificates.ts'

it('counts each active key once, by rows and by the counter', async () => {
  const clock = new ManualClock()
  const na = await startTestAuthority({ clock })
  const { database } = na.core
  const db = rowsOf(database)
  const [now, old, later] = [0n, -6n * MINUTE, MINUTE].map((by) => writeSortable(clock.now() + by))
  // Two certificates of one key, one key without a recent heartbeat, one superseded, one in its grace period.
  const rows = [
    ['a1', 'key-a', now, null],
    ['a2', 'key-a', now, null],
    ['b1', 'key-b', old, null],
    ['c1', 'key-c', now, old],
    ['d1', 'key-d', now, later],
    ['e1', 'key-e', now, null],
  ] as const
  for (const [cert_id, node_public_key, last_heartbeat = '', revoke_after = null] of rows) {
    await db
      .insertInto('issued_certs')
      .values({
        cert_id,
        node_public_key,
        cert_json: '{}',
        roles_json: '[]',
        issued_at: now ?? '',
        expires_at: later ?? '',
        max_validity_hours: 1,
        status: 'issued',
      })
      .execute()
    await db
      .insertInto('node_liveness')
      .values({
        cert_id,
        node_public_key,
        last_heartbeat,
        heartbeat_status: 'ok',
        remote_addr: '192.0.2.1',
        revoke_after,
      })
      .execute()
  }
  const moment = activeMoment(na.core)
  expect(await countActiveNodes(database.read, moment)).toBe(3)
  expect(await countByRows(database.read, moment)).toBe(3)
  // The job marks the key without a recent heartbeat.
  await db
    .updateTable('node_liveness')
    .set({ silent_since: old ?? '' })
    .where('cert_id', '=', 'b1')
    .execute()
  expect(await countLiveNodes(database.read, moment)).toBe(3)
  await na.stop()
})
