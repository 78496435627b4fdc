import type { ListedResult } from '../../proof/check-record.ts'

/** Says why a published list is not the current one; empty when it is. `latest` is the sequence in the summary. */
export function listAge({ sequence, nextUpdate }: Omit<ListedResult, 'isListed'>, latest: number, now: number): string {
  const due = Date.parse(nextUpdate)
  return [
    ...(sequence < latest ? [`older than list #${latest.toLocaleString('en')} of the summary`] : []),
    ...(due < now ? [`out of date since ${new Date(due).toISOString().slice(0, 16).replace('T', ' ')} UTC`] : []),
  ].join(', ')
}
