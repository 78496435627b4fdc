import {
  CLOCK_TOLERANCE,
  FormError,
  asJson,
  digestOf,
  instantOf,
  isJsonObject,
  readInstant,
  readRecognitionTreaty,
  verifyList,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { Instant, JsonObject, JsonValue, RecognitionTreaty } from '@chancery/protocol'
import { checked, readBlocks } from './check-material.ts'
import type { Blocks, Checked, Signer } from './check-material.ts'
import { keysAt } from './pin.ts'
import { StepFailure } from './step-failure.ts'

/** A treaty that a partner lists, as it is stored. */
export interface OfferedTreaty {
  readonly treaty_id: string
  readonly subject_sovereign_id: string
  readonly treaty_json: string
  readonly digest: string
  readonly valid_from: string
  readonly expires_at: string
  readonly starts_at: string
  readonly ends_at: string
}

export interface CheckedTreaties {
  readonly treaties: readonly OfferedTreaty[]
  readonly refused: number
  readonly next: string | undefined
}

export function checkTreaties(
  task: Signer & { readonly blocks: Blocks; readonly now: Instant },
): Promise<Checked<CheckedTreaties>> {
  return checked(async () => {
    const page = readBlocks(task.blocks)
    const rows = isJsonObject(page) ? page['recognition_treaties'] : undefined
    if (!isJsonObject(page) || !Array.isArray(rows)) throw new StepFailure('malformed')
    const treaties: OfferedTreaty[] = []
    for (const row of rows) {
      const found = await checkRow(task, row)
      if (found !== undefined) treaties.push(found)
    }
    const next = page['next_cursor']
    return {
      treaties,
      refused: rows.length - treaties.length,
      next: typeof next === 'string' && next.length <= 1024 ? next : undefined,
    }
  })
}

async function checkRow(task: Signer & { readonly now: Instant }, row: JsonValue): Promise<OfferedTreaty | undefined> {
  if (!isJsonObject(row) || row['status'] !== 'active') return undefined
  const treaty = readOrNone(row)
  if (treaty === undefined || treaty.issuer_sovereign_id !== task.sovereign_id || treaty.status !== 'active')
    return undefined
  const [starts, ends] = [instantOf(treaty.valid_from), instantOf(treaty.expires_at)]
  if (starts - CLOCK_TOLERANCE > task.now || task.now >= ends) return undefined
  const keys = keysAt(task.keys, readInstant(treaty.issued_at) ?? 0n)
  if (!(await verifyList(treaty, keys).catch(() => false))) return undefined
  const { signatures: _signatures, ...signed } = treaty
  return {
    treaty_id: treaty.treaty_id,
    subject_sovereign_id: treaty.subject_sovereign_id,
    treaty_json: writeJson(row['treaty'] ?? null),
    digest: digestOf(asJson(signed)),
    valid_from: treaty.valid_from,
    expires_at: treaty.expires_at,
    starts_at: writeSortable(starts),
    ends_at: writeSortable(ends),
  }
}

function readOrNone(row: JsonObject): RecognitionTreaty | undefined {
  try {
    return readRecognitionTreaty(row['treaty'] ?? null)
  } catch (error) {
    if (error instanceof FormError) return undefined
    throw error
  }
}
