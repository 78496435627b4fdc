import type { ListedAgentPage, NodePage } from '@chancery/sdk/authority'
import { at, read } from '../client.ts'
import { agentHref, nodeHref, nodeName } from '../node-key.ts'
import type { PaletteMatch } from './palette-row.ts'

const MOST_OF_EACH = 4

/** Nodes and agents that begin with the text: two signed reads of an index. */
export async function searchNetwork(text: string, signal: AbortSignal): Promise<readonly PaletteMatch[]> {
  const asked = { q: text, limit: MOST_OF_EACH }
  const [{ nodes }, { agents }] = await Promise.all([
    read<NodePage>(at`/admin/nodes`, asked, signal),
    read<ListedAgentPage>(at`/admin/agents`, asked, signal),
  ])
  return [
    ...nodes.map((node) => ({
      group: 'Open' as const,
      row: {
        text: nodeName(node),
        note: `node · ${node.state.replaceAll('_', ' ')}`,
        icon: 'node' as const,
        href: nodeHref(node.node_public_key),
      },
    })),
    ...agents.map(({ descriptor }) => ({
      group: 'Open' as const,
      row: {
        text: descriptor.agent_id,
        note: `agent · ${descriptor.capabilities[0] ?? descriptor.endpoint.host}`,
        icon: 'agent' as const,
        href: agentHref(descriptor.node_public_key),
      },
    })),
  ]
}

/** Lists filtered by the text. */
export function findLists(text: string): readonly PaletteMatch[] {
  const query = new URLSearchParams({ q: text }).toString()
  return [
    { group: 'Find', row: { text: `Nodes that begin with ${text}`, icon: 'node', href: `/operator/nodes?${query}` } },
    {
      group: 'Find',
      row: { text: `Agents that begin with ${text}`, icon: 'agent', href: `/operator/agents?${query}` },
    },
  ]
}
