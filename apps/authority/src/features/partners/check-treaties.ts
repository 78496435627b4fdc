import {
  CLOCK_TOLERANCE,
  CheckSlices,
  asJson,
  digestOf,
  instantOf,
  isJsonObject,
  readInstant,
  readOrUndefined,
  readRecognitionTreaty,
  signedBytes,
  verifyAny,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { Instant, JsonObject, JsonValue, RecognitionTreaty, Signature } from '@chancery/protocol'
import { type Blocks, type Checked, type Signer, checked, readBlocks } from './check-material.ts'
import { type AcceptedKeys, StepFailureError, keysAt } from './stored-facts.ts'

/** As many rows as a request for a page asks for. */
export const PAGE_ROWS = 1000
/** Verifications for one row, and on average for all rows of a page: a full page takes about a second. */
const CHECKS_PER_ROW = 16
const MEAN_CHECKS = 4
const LEAST_CHECKS = 64

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
    if (!isJsonObject(page) || !Array.isArray(rows)) throw new StepFailureError('malformed')
    if (rows.length > PAGE_ROWS) throw new StepFailureError('malformed')
    const checks = new PageChecks(rows.length)
    const treaties: OfferedTreaty[] = []
    for (const row of rows) {
      const found = await checkRow(task, row, checks)
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

async function checkRow(
  task: Signer & { readonly now: Instant },
  row: JsonValue,
  checks: PageChecks,
): Promise<OfferedTreaty | undefined> {
  if (!isJsonObject(row) || row['status'] !== 'active') return undefined
  const treaty = readOrNone(row)
  if (treaty === undefined || treaty.issuer_sovereign_id !== task.sovereign_id || treaty.status !== 'active')
    return undefined
  const [starts, ends] = [instantOf(treaty.valid_from), instantOf(treaty.expires_at)]
  if (starts - CLOCK_TOLERANCE > task.now || task.now >= ends) return undefined
  const { signatures, ...signed } = treaty
  const pairs = pairsOf(signatures, task.keys, readInstant(treaty.issued_at) ?? 0n)
  if (!(await checks.hasValid(signedBytes(treaty, 'signatures'), pairs))) return undefined
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

type Pair = readonly [key: string, signature: Signature]

/** Keys and signatures that may belong together. Those whose key id names a key come first, then the current key. */
function pairsOf(signatures: readonly Signature[], keys: AcceptedKeys, date: Instant): readonly Pair[] {
  const accepted = keysAt(keys, date)
  const ids = new Map(keys.former.map(({ key_id, public_key }) => [key_id, public_key]))
  const once = [...new Map(signatures.map((signature) => [signature.sig, signature])).values()]
  const all = accepted.flatMap((key) => once.map((signature): Pair => [key, signature]))
  const isNamed = ([key, { key_id }]: Pair): boolean => key_id === key || ids.get(key_id) === key
  return [...all.filter(isNamed), ...all.filter((pair) => !isNamed(pair))]
}

/** The verifications of a page. A page that needs more than a valid one is refused as a whole. */
class PageChecks {
  readonly #slices = new CheckSlices()
  #left: number

  constructor(rows: number) {
    this.#left = Math.max(LEAST_CHECKS, rows * MEAN_CHECKS)
  }

  async hasValid(message: Uint8Array, pairs: readonly Pair[]): Promise<boolean> {
    for (const [key, signature] of pairs.slice(0, CHECKS_PER_ROW)) {
      if (this.#left === 0) throw new StepFailureError('malformed')
      this.#left -= 1
      await this.#slices.next()
      if (await verifyAny(message, [signature], [key])) return true
    }
    return false
  }
}

function readOrNone(row: JsonObject): RecognitionTreaty | undefined {
  return readOrUndefined(() => readRecognitionTreaty(row['treaty'] ?? null))
}
