import type { TreatyPreview } from '@chancery/sdk/authority'
import type { Effect } from '../../signing/act.ts'

/** The dry run in words. */
export function endEffects({
  would_change,
  paths_lost,
  attestations_no_longer_accepted: lost,
}: TreatyPreview): Effect[] {
  if (!would_change) return [{ shape: 'dash', tone: 'ended', text: 'Nothing changes: the treaty has ended already' }]
  const { count, sample, complete, direct_recognition_lost: isDirect } = paths_lost
  const pairs = sample.slice(0, 20).map(({ from, to }) => `${from} → ${to}`)
  const rest = count - pairs.length
  return [
    count === 0
      ? { shape: 'tick', tone: 'good', text: 'No trust path is lost' }
      : {
          shape: 'cross',
          tone: 'bad',
          text: `${complete ? '' : 'At least '}${count === 1 ? '1 trust path is' : `${count} trust paths are`} lost`,
          more: pairs.join(', ') + (rest > 0 ? ` and ${rest} more` : ''),
        },
    isDirect
      ? { shape: 'cross', tone: 'bad', text: 'No other treaty connects the two' }
      : { shape: 'tick', tone: 'good', text: 'Another treaty still connects the two' },
    lost.all
      ? { shape: 'cross', tone: 'bad', text: `All attestations of ${lost.issuer_sovereign_id} are refused` }
      : { shape: 'tick', tone: 'good', text: `Attestations of ${lost.issuer_sovereign_id} stay accepted` },
  ]
}
