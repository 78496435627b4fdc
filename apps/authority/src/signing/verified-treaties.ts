import { readJson, readOrUndefined, readRecognitionTreaty, verifyList } from '@chancery/protocol'
import type { RecognitionTreaty } from '@chancery/protocol'
import { CachedByText } from '../database/batched-read.ts'
import type { Database } from '../database/database.ts'
import { isRevokedInAudit } from '../audit/revoked-treaties.ts'
import { type OwnKeys, ownKeysAt } from './own-keys.ts'
import type { RecordFaults } from './record-faults.ts'

/** Maximum size, in characters, of the cache of verified texts. */
const MAX_CACHED_CHARACTERS = 8_000_000
/** Rows of one round through the treaties in force. */
const ROWS_PER_READ = 500
const MAX_NAMED = 20

/** The columns whose values are also in the signed text. */
export interface SignedTreatyRow {
  readonly treaty_id: string
  readonly issuer_sovereign_id: string
  readonly subject_sovereign_id: string
  readonly valid_from: string
  readonly expires_at: string
  readonly treaty_json: string
  readonly status: string
  /** The state by the audit log, whatever the row contains. */
  readonly revoked_in_audit: boolean | number
}

const COLUMNS = ['treaty_id', 'issuer_sovereign_id', 'subject_sovereign_id', 'valid_from', 'expires_at'] as const

/**
 * Stored treaties count only with our own valid signature. A row that was written or edited in the database could name
 * keys and sovereigns that this authority never recognised. A revoked treaty stays revoked by the audit log, whatever
 * its column contains.
 */
export class VerifiedTreaties {
  readonly #ownKeys: OwnKeys
  readonly #faults: RecordFaults
  readonly #checked = new CachedByText<RecognitionTreaty | 'unsigned'>(MAX_CACHED_CHARACTERS)
  /** The position of the round through the rows, and whether it found a fault. */
  #after = ''
  #hasMet = false

  constructor(ownKeys: OwnKeys, faults: RecordFaults) {
    this.#ownKeys = ownKeys
    this.#faults = faults
  }

  /** Returns the treaty of a row. Undefined, with an alarm, when the row does not verify or hides its revocation. */
  async read(row: SignedTreatyRow): Promise<RecognitionTreaty | undefined> {
    const treaty = await this.#check(row.treaty_json)
    const isSigned = treaty !== 'unsigned' && COLUMNS.every((name) => treaty[name] === row[name])
    const isHidden = Boolean(row.revoked_in_audit) && row.status !== 'revoked'
    if (isSigned && !isHidden) return treaty
    this.#hasMet = true
    const problem = isSigned ? 'the audit log has its revocation' : 'it does not verify'
    this.#faults.report('treaties', { treaty_id: row.treaty_id, problem })
    return undefined
  }

  /**
   * Verifies some of the unrevoked treaties, the next ones each time. A fault ends with a complete round without one.
   */
  async look(database: TreatyReader): Promise<void> {
    if (this.#after === '') this.#hasMet = false
    const rows = await listUnrevoked(database, this.#after)
    for (const row of rows) await this.read(row)
    this.#after = rows.length < ROWS_PER_READ ? '' : (rows.at(-1)?.treaty_id ?? '')
    if (this.#after === '' && !this.#hasMet) this.#faults.clear('treaties')
  }

  /** Ids of unrevoked treaties that do not verify, or were revoked; some of them when there are many. */
  async findUnsigned(database: TreatyReader): Promise<readonly string[]> {
    const found: string[] = []
    for (let after = ''; ;) {
      const rows = await listUnrevoked(database, after)
      for (const row of rows) if ((await this.read(row)) === undefined) found.push(row.treaty_id)
      after = rows.at(-1)?.treaty_id ?? ''
      if (rows.length < ROWS_PER_READ || found.length >= MAX_NAMED) return found.slice(0, MAX_NAMED)
    }
  }

  async #check(text: string): Promise<RecognitionTreaty | 'unsigned'> {
    const known = this.#checked.find(text)
    if (known !== undefined) return known
    const treaty = parse(text)
    const isSigned = treaty !== undefined && (await verifyList(treaty, ownKeysAt(this.#ownKeys, treaty.issued_at)))
    const checked = isSigned ? treaty : 'unsigned'
    this.#checked.keep(text, checked)
    return checked
  }
}

type TreatyReader = Pick<Database, 'engine' | 'read'>

function listUnrevoked({ engine, read }: TreatyReader, after: string): Promise<readonly SignedTreatyRow[]> {
  return read
    .selectFrom('recognition_treaties')
    .select([...COLUMNS, 'status', 'treaty_json'])
    .select(isRevokedInAudit(engine).as('revoked_in_audit'))
    .where('status', '=', 'active')
    .where('treaty_id', '>', after)
    .orderBy('treaty_id')
    .limit(ROWS_PER_READ)
    .execute()
}

function parse(text: string): RecognitionTreaty | undefined {
  return readOrUndefined(() => readRecognitionTreaty(readJson(text)))
}
