import { dashboard } from '../dashboard.ts'
import type { IconName } from './icons.ts'
import type { ListedAgentPage, NodePage } from '@chancery/sdk'
import { at, read } from '../client.ts'
import { agentHref, nodeHref, nodeName } from '../router.ts'

export interface PaletteRow {
  readonly text: string
  readonly note?: string
  readonly icon: IconName | 'seal'
  readonly href?: string
  readonly run?: () => void
}

export interface PaletteGroup {
  readonly name: 'Do' | 'Open' | 'Find'
  readonly rows: readonly PaletteRow[]
}

export interface PaletteMatch {
  readonly group: PaletteGroup['name']
  readonly row: PaletteRow
}

interface TreatyFacts {
  readonly subject_sovereign_id?: string
  readonly lifecycle_state?: string
}

/** Actions that need nothing chosen first. Each address opens a drawer or an editor; none signs. */
const ACTIONS = [
  ['Invite a node…', '/operator/nodes?do=invite'],
  ['Recognise a partner…', '/operator/partners?do=recognise'],
  ['Add a partner…', '/operator/partners?do=add'],
  ['Attest a member…', '/operator/partners?tab=members&do=attest'],
  ['New policy…', '/operator/policies/~new/draft'],
  ['Publish a network policy…', '/operator/policies?tab=network&do=publish'],
  ['Publish a recognition policy…', '/operator/policies?tab=recognition&do=publish'],
  ['Publish a data licence…', '/operator/policies?tab=data-licence&do=publish'],
  ['Decide a request…', '/operator/decisions?do=decide'],
  ['Anchor the evidence…', '/operator/evidence?do=anchor'],
  ['Register an executor key…', '/operator/evidence?view=keys&do=register'],
] as const

const toDo = (text: string, href: string, note?: string): PaletteMatch => ({
  group: 'Do',
  row: { text, icon: 'seal', href, ...(note === undefined ? {} : { note }) },
})

/** Returns the actions and partners that match the text. Treaties in force come from the public summary. */
export function findActions(text: string): readonly PaletteMatch[] {
  const words = text.toLowerCase()
  const rows = (dashboard.get()?.value?.treaties ?? []) as readonly TreatyFacts[]
  const inForce = rows.filter(({ lifecycle_state: state }) => state === 'active' || state === 'expiring_soon')
  const names = [...new Set(inForce.map(({ subject_sovereign_id: name }) => name ?? ''))].filter((name) => name !== '')
  const matches = names.flatMap((name) => {
    const href = `/operator/partners/${encodeURIComponent(name)}`
    return [
      toDo(`Renew the treaty with ${name}…`, `${href}?do=renew`),
      toDo(`End the treaty with ${name}…`, `${href}?do=end`, 'final'),
      { group: 'Open' as const, row: { text: name, note: 'partner', icon: 'partners' as const, href } },
    ]
  })
  return [...ACTIONS.map(([title, href]) => toDo(title, href)), ...matches].filter(({ row }) =>
    row.text.toLowerCase().includes(words),
  )
}

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
