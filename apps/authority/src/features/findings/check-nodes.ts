import { writeSortable } from '@chancery/protocol'
import { type Finding, good, warn } from '@chancery/service-kit'
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
    'Adopt them on the machine of the authority: chancery authority recover --env-file FILE --presented --unknown adopt.',
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
