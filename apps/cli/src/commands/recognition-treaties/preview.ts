import { visible } from '@chancery/protocol'
import type { TreatyPreview } from '@chancery/sdk'
import { countedText } from '../../prompts/preview.ts'

/** Returns the effects of ending a treaty as text lines. */
export function previewLines(preview: TreatyPreview): readonly string[] {
  const { paths_lost: paths, attestations_no_longer_accepted: members } = preview
  if (!preview.would_change) return [`Treaty ${visible(preview.treaty_id)} has ended already.`]
  const from = visible(members.issuer_sovereign_id)
  const accepted = members.all
    ? `Would stop being accepted: all attestations of ${from}`
    : `Attestations of ${from} stay accepted, if at all, through another treaty.`
  const sample = paths.sample.map((path) => `${path.from} ──▶ ${path.to}`)
  const least = paths.complete ? '' : 'at least '
  return [accepted, `Would be cut off: ${least}${countedText({ count: paths.count, sample }, 'path')}`]
}
