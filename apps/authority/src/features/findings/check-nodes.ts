import { MINUTE, writeSortable } from '@chancery/protocol'
import { type Finding, bad, good, warn } from '@chancery/service-kit'
import { digestKeyring } from '../../auth/operator-keys-check.ts'
import { countWaiting } from '../enrollment/index.ts'
import { type BoundedCount, type NodeCounts, countLateRenewals, momentOf } from '../roster/index.ts'
import type { CheckedNetwork } from './check-lists.ts'

const MAX_COUNTED = 10_001

/** Checks nodes without heartbeat, and nodes that do not renew. */
export async function checkNodes({ silent }: NodeCounts, network: CheckedNetwork): Promise<readonly Finding[]> {
  const late = await countLateRenewals(network.database.read, network.now, momentOf(network.now, network.windowSeconds))
  const waiting = await countWaiting(network.database.read, writeSortable(network.now), MAX_COUNTED)
  const minutes = network.windowSeconds / 60
  return [
    silent.count === 0
      ? good('nodes-silent', 'no node is silent')
      : warn(
          'nodes-silent',
          `${nodes(silent)} silent`,
          'Check that they run. The page Nodes of the console lists them.',
          { effect: `No heartbeat for ${minutes} minutes. Their certificates stay valid.` },
        ),
    ...(waiting === 0 ? [] : [presentedCertificates(waiting)]),
    late.count === 0
      ? good('certificates-ending', 'all are renewed in time')
      : warn(
          'certificates-ending',
          lateText(late),
          'A node renews by itself. Check the log of each node that does not.',
          { effect: 'A node without a certificate is refused.' },
        ),
  ]
}

/** Nodes present their certificates when the database lacks them: it was restored. */
function presentedCertificates(waiting: number): Finding {
  const number = waiting === MAX_COUNTED ? `More than ${MAX_COUNTED - 1}` : String(waiting)
  return warn(
    'certificates-presented',
    `${number} ${waiting === 1 ? 'node has a certificate' : 'nodes have certificates'} that the database lacks`,
    'Adopt them on the machine of the authority: chancery authority recover --home FOLDER --presented --unknown adopt.',
    { effect: 'These nodes are refused until then.' },
  )
}

function nodes({ count, more }: BoundedCount): string {
  if (more) return `More than ${count} nodes are`
  return count === 1 ? '1 node is' : `${count} nodes are`
}

function lateText({ count, more }: BoundedCount): string {
  if (count === 1) return '1 certificate ends within 24 hours and was not renewed'
  return `${more ? 'More than ' : ''}${count} certificates end within 24 hours and were not renewed`
}

/** How long an instance counts as running after it was last seen (reliability 13). */
const SEEN_WITHIN = 3n * MINUTE

export async function checkInstances({
  database,
  settings,
  operators,
  now,
}: CheckedNetwork): Promise<readonly Finding[]> {
  const rows = await database.read
    .selectFrom('instances')
    .select(['instance', 'operator_digest'])
    .where('seen_at', '>=', writeSortable(now - SEEN_WITHIN))
    .orderBy('instance')
    .limit(100)
    .execute()
  const others = rows.filter((row) => row.operator_digest !== digestKeyring(operators))
  return [
    // Workers are instances, too.
    rows.length > settings.workers && !settings.haMode
      ? bad(
          'instances',
          `${rows.length} instances run on this database with NA_HA_MODE off`,
          'Set NA_HA_MODE=on for all of them, or stop all but one. One that was killed is counted for three minutes.',
        )
      : good('instances', `${rows.length} seen within three minutes`),
    ...(others.length === 0
      ? []
      : [
          bad(
            'instance-operators',
            `${others.map((row) => row.instance).join(', ')}: other operator keys or tiers than these settings`,
            'Roll OPERATOR_PUBLIC_KEYS_JSON and OPERATOR_KEY_TIERS_JSON out to every instance.',
          ),
        ]),
  ]
}
