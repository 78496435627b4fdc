import { dashboard } from '../../dashboard.ts'
import type { PaletteSource } from '../../parts/palette.tsx'
import { partnerHref } from './reads.ts'

interface TreatyFacts {
  readonly subject_sovereign_id?: string
  readonly lifecycle_state?: string
}

const FIXED = [
  ['Recognise a partner…', '/operator/partners?do=recognise'],
  ['Add a partner…', '/operator/partners?do=add'],
  ['Attest a member…', '/operator/partners?tab=members&do=attest'],
] as const

/** «Do» rows for treaties in force, from the public summary. */
export const findPaletteRows: PaletteSource = (text) => {
  const words = text.toLowerCase()
  const rows = (dashboard.get()?.value?.treaties ?? []) as readonly TreatyFacts[]
  const inForce = rows.filter(({ lifecycle_state: state }) => state === 'active' || state === 'expiring_soon')
  const names = new Set(inForce.map(({ subject_sovereign_id: name }) => name ?? ''))
  const found = [...names].filter((name) => name !== '' && `renew end ${name}`.toLowerCase().includes(words))
  const fixed = FIXED.filter(([title]) => title.toLowerCase().includes(words))
  return [
    ...fixed.map(([title, href]) => ({ group: 'Do' as const, row: { text: title, icon: 'seal' as const, href } })),
    ...found.flatMap((name) => [
      ...(['renew', 'end'] as const).map((act) => ({
        group: 'Do' as const,
        row: {
          text: `${act === 'renew' ? 'Renew' : 'End'} the treaty with ${name}…`,
          icon: 'seal' as const,
          href: `${partnerHref(name)}?do=${act}`,
          ...(act === 'end' ? { note: 'final' } : {}),
        },
      })),
      {
        group: 'Open' as const,
        row: { text: name, note: 'partner', icon: 'partners' as const, href: partnerHref(name) },
      },
    ]),
  ]
}
