import type { TreatyRow } from '@chancery/sdk/authority'
import { authority } from '../../authority.ts'

export interface ListedTreaty {
  readonly id: string
  readonly label: string
  readonly tone: string
  readonly state: string
}

const SHOWN = 50

/** Returns the treaties that a network issued, then those that name it. */
export async function findTreaties(id: string): Promise<readonly ListedTreaty[]> {
  const { recognitionTreaties } = authority()
  const [issued, received] = await Promise.all([
    recognitionTreaties.list({ issuer_sovereign_id: id, limit: SHOWN }),
    recognitionTreaties.list({ subject_sovereign_id: id, limit: SHOWN }),
  ])
  return [...issued.recognition_treaties, ...received.recognition_treaties].map((row) => describe(row, id))
}

const TONES: Readonly<Record<string, string>> = { active: 'good', expiring_soon: 'watch', expired: 'bad' }

function describe({ treaty, lifecycle }: TreatyRow, id: string): ListedTreaty {
  const isIssuer = treaty.issuer_sovereign_id === id
  return {
    id: treaty.treaty_id,
    label: isIssuer ? `recognises ${treaty.subject_sovereign_id}` : `recognised by ${treaty.issuer_sovereign_id}`,
    tone: TONES[lifecycle.state] ?? 'ended',
    state: lifecycle.state.replaceAll('_', ' '),
  }
}
