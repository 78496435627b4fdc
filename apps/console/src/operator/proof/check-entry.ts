import { readEventLine, verifyLine } from '@chancery/protocol'
import { FAILURE_WORDS } from '../words/evidence.ts'
import { readExecutors, readGenesis, withHistory } from './gather.ts'

export interface EntryFinding {
  readonly text: string
  readonly status: 'passed' | 'failed' | 'unchecked'
}

/** Verifies one stored line: digests, the link to the line before it, envelope and signature. */
export async function checkEntry(line: string, before: string | undefined): Promise<readonly EntryFinding[]> {
  const event = readEventLine(line)
  if (event === undefined) return [{ text: 'The line is not an entry of the store.', status: 'failed' }]
  const { entry } = event
  const executors = entry.entry_kind === 'execution' ? await readExecutors() : undefined
  const authority = await withHistory(await readGenesis(), [{ issued_at: entry.recorded_at }])
  const verified = await verifyLine(line, { authority, executor: (id) => executors?.get(id) })
  const problems = verified?.problems ?? []
  const isDigest = ({ reason }: { readonly reason: string }): boolean => reason.endsWith('_digest_mismatch')
  const others = problems.filter((problem) => !isDigest(problem))
  return [
    problems.some(isDigest)
      ? { text: `The digests differ: ${event.entryDigest} was computed here.`, status: 'failed' }
      : { text: 'The digests are those of the stored bytes.', status: 'passed' },
    linkFinding(entry.prev_entry_digest, entry.store_sequence, before),
    ...(['rejection', 'usage_violation'].includes(entry.entry_kind) && others.length === 0
      ? [{ text: 'It has no separate signature.', status: 'unchecked' as const }]
      : others.length === 0
        ? [{ text: 'The signature and the envelope are valid.', status: 'passed' as const }]
        : others.map(({ reason, detail }) => ({
            text: `Invalid: ${FAILURE_WORDS[reason]} (${reason}, ${detail}).`,
            status: 'failed' as const,
          }))),
  ]
}

function linkFinding(link: string | null, sequence: number, before: string | undefined): EntryFinding {
  if (link === null && sequence === 1) return { text: 'It is the first entry.', status: 'passed' }
  const earlier = before === undefined ? undefined : readEventLine(before)
  if (earlier === undefined) return { text: 'The entry before it cannot be read here.', status: 'unchecked' }
  return earlier.entryDigest === link
    ? { text: `It links to #${earlier.entry.store_sequence}.`, status: 'passed' }
    : {
        text: `It links to ${link ?? 'nothing'}, and #${earlier.entry.store_sequence} is ${earlier.entryDigest}.`,
        status: 'failed',
      }
}
