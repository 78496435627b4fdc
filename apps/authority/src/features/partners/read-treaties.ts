import { type OfferedTreaty, PAGE_ROWS } from './check-treaties.ts'
import type { Pull } from './alarms.ts'

const PAGE_BYTES = 2_097_152
const MAX_PAGES = 10
/** Of one partner. */
export const MAX_TREATIES = 10_000

/** Step 6: the treaties that the partner lists as active. A treaty that does not hold is counted and left out. */
export async function readTreatiesStep({ parts, sovereign_id, read, keys, findings }: Pull): Promise<void> {
  const treaties: OfferedTreaty[] = []
  let [refused, cursor] = [0, undefined as string | undefined]
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const place = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const { blocks } = await read({
      path: `/recognition-treaties?status=active&limit=${PAGE_ROWS}${place}`,
      maxBytes: PAGE_BYTES,
    })
    const task = { blocks, sovereign_id, keys, now: parts.clock.now() }
    const page = await parts.checks.run('treaties', task)
    treaties.push(...page.treaties)
    refused += page.refused
    cursor = page.next
    if (cursor === undefined || treaties.length >= MAX_TREATIES) break
  }
  const truncated = cursor !== undefined || treaties.length > MAX_TREATIES
  findings.treaties = { treaties: treaties.slice(0, MAX_TREATIES), refused, truncated }
  findings.outcomes.push('ok')
}
