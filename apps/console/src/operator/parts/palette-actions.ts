import { dashboard } from '../dashboard.ts'
import type { PaletteMatch } from './palette-row.ts'

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
