import { good, warn } from '@chancery/service-kit'
import type { Finding } from '@chancery/service-kit'
import { countLateRenewals, momentOf } from '../roster/index.ts'
import type { BoundedCount, NodeCounts } from '../roster/index.ts'
import type { CheckedNetwork } from './parts.ts'

/** Checks nodes without heartbeat, and nodes that do not renew. */
export async function checkNodes({ silent }: NodeCounts, network: CheckedNetwork): Promise<readonly Finding[]> {
  const late = await countLateRenewals(network.database.read, network.now, momentOf(network.now, network.windowSeconds))
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

function nodes({ count, more }: BoundedCount): string {
  if (more) return `More than ${count} nodes are`
  return count === 1 ? '1 node is' : `${count} nodes are`
}

function lateText({ count, more }: BoundedCount): string {
  if (count === 1) return '1 certificate ends within 24 hours and was not renewed'
  return `${more ? 'More than ' : ''}${count} certificates end within 24 hours and were not renewed`
}
