import { LIMITS } from '@chancery/contract'
import { good, warn } from '@chancery/service-kit'
import type { Finding } from '@chancery/service-kit'
import type { NodeCounts } from '../roster/index.ts'

type Count = NodeCounts['all']

/** Checks nodes without heartbeat, and nodes that do not renew. */
export function checkNodes({ silent, ends_soon: ending }: NodeCounts): readonly Finding[] {
  const minutes = LIMITS.activeNodeWindowSeconds / 60
  return [
    silent.count === 0
      ? good('nodes-silent', 'no node is silent')
      : warn(
          'nodes-silent',
          `${nodes(silent)} silent`,
          'Check that they run. The page Nodes of the console lists them.',
          { effect: `No heartbeat for ${minutes} minutes. Their certificates stay valid.` },
        ),
    ending.count === 0
      ? good('certificates-ending', 'none within 24 hours')
      : warn(
          'certificates-ending',
          `${certificates(ending)} within 24 hours`,
          'A node that runs renews by itself. Check the log of each node that does not.',
          { effect: 'They were not renewed yet. A node without a certificate is refused.' },
        ),
  ]
}

function nodes({ count, more }: Count): string {
  if (more) return `More than ${count} nodes are`
  return count === 1 ? '1 node is' : `${count} nodes are`
}

function certificates({ count, more }: Count): string {
  if (more) return `More than ${count} certificates end`
  return count === 1 ? '1 certificate ends' : `${count} certificates end`
}
