import { StoreChecker, readEventLine } from '@chancery/protocol'
import { failureText } from '../words/evidence.ts'
import { readExecutors, readGenesis, withHistory } from './gather.ts'

const MAX_PROBLEMS = 20

/** Verifies the lines of one history: digests, envelopes, signatures, and the chains of decisions and resources. */
export async function checkHistory(lines: readonly string[], resource: string | undefined): Promise<readonly string[]> {
  const executors = await readExecutors()
  const first = readEventLine(lines[0] ?? '')
  const authority = await withHistory(
    await readGenesis(),
    first === undefined ? [] : [{ issued_at: first.entry.recorded_at }],
  )
  const checker = new StoreChecker({
    keys: { authority, executor: (id) => executors.get(id) },
    scope: 'view',
    ...(resource === undefined ? {} : { resource }),
  })
  for (const line of lines) await checker.add(line)
  const { failures } = await checker.finish()
  return failures.slice(0, MAX_PROBLEMS).map(failureText)
}
