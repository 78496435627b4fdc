import { type Instant, writeInstant } from '@chancery/protocol'
import { type Clock, type Log, SharedRead } from '@chancery/service-kit'
import type { Database } from '../database/database.ts'
import { type Heads, type LastRecovery, findRollback, readHeads, readLastAnchor, readRecovery } from './positions.ts'
import { isCopyUnfinished } from '../database/copy/unfinished-copy.ts'
import type { SigningHalt } from '../signing/halt-reasons.ts'
import {
  type HighWater,
  isHigher,
  MarkFileError,
  readListFile,
  readMark,
  removeListFiles,
  writeListFile,
  writeMark,
} from './mark-file.ts'
import { MarkMemory } from './mark-memory.ts'
import type { AuthoritySigner, OwnKeys } from '../signing/own-keys.ts'
import { type Versions, readVersions } from '../database/locks/versions.ts'

const WRITE_EVERY_MS = 60_000

export interface RollbackCheckParts {
  readonly database: Database
  readonly signer: AuthoritySigner
  /** A mark of a former key is still accepted. */
  readonly ownKeys: OwnKeys
  readonly networkName: string
  readonly clock: Clock
  readonly log: Log
  /** NA_HIGH_WATER_FILES: the same mark in each. */
  readonly files: readonly string[]
}

/**
 * Detects a rolled back database (reliability 12): a restored backup, or a standby that was promoted without the last
 * commits. Until an operator recovers it, nothing is signed and all requests are refused. The same holds while the mark
 * is missing that would show it.
 */
export class RollbackCheck implements SigningHalt {
  readonly #parts: RollbackCheckParts
  readonly #checks: SharedRead<Heads>
  /** One at a time: an older mark must not be written after a newer one. */
  readonly #isWriting: SharedRead<void>
  readonly #memory: MarkMemory
  #mark: HighWater | undefined
  /** The highest versions that this process has read. Within one history they only rise. */
  readonly #seen = new Map<string, number>()
  #recovery: LastRecovery | undefined
  #below: readonly string[] = []
  #isEvidenceBehind = false
  #isSuspect = true
  #losses = 0
  #replayFloor: Instant = 0n
  /** Digests of the lists next to the marks, by file. */
  readonly #lists = new Map<string, string>()
  #writtenAt = Number.NEGATIVE_INFINITY
  #written = ''

  constructor(parts: RollbackCheckParts) {
    this.#parts = parts
    this.#memory = new MarkMemory(parts)
    this.#checks = new SharedRead(() => this.#compare())
    this.#isWriting = new SharedRead(() => this.#write())
    // After a lost connection another server may respond. It is compared before it is used.
    parts.database.onConnectionLost(() => {
      this.#losses += 1
      this.#isSuspect = true
      this.#memory.forgetFirst()
    })
  }

  /** Timestamps signed up to this time are refused, because nonces spent after the backup are lost. */
  get replayFloor(): Instant {
    return this.#replayFloor
  }

  /** The highest mark of all files. */
  get mark(): HighWater | undefined {
    return this.#mark
  }

  get reason(): 'state_rollback' | 'mark_missing' {
    return this.#below.length > 0 ? 'state_rollback' : 'mark_missing'
  }

  /** For the refusal of a command. */
  get haltText(): string {
    const text = this.reason === 'mark_missing' ? 'its high-water mark is missing' : 'it is rolled back'
    return `the database cannot be used, because ${text}: run chancery authority recover first`
  }

  isHalted(): boolean {
    return this.#below.length > 0 || this.#memory.isMissing
  }

  /** Acknowledged evidence is missing: its sequences must not be used a second time. */
  get isEvidenceBehind(): boolean {
    return this.#isEvidenceBehind
  }

  /** Reads the marks, then compares. A file that is not a mark of this authority stops the start. */
  async open(): Promise<void> {
    const { files, log } = this.#parts
    for (const file of files) if (!(await this.#adopt(file))) log.info('no high-water mark written yet', { file })
    await this.#checks.read()
  }

  /** Called with each read of the versions. A database of the same history has at least these versions. */
  see(versions: Versions): Versions {
    for (const [name, version] of versions.versions)
      if (version > (this.#seen.get(name) ?? -1)) this.#seen.set(name, version)
    return versions
  }

  /** Uses the mark of a file when it is higher: another instance may have written it. */
  async #adopt(file: string): Promise<boolean> {
    const mark = await readMark(file, this.#parts.ownKeys.all)
    if (mark !== undefined && isHigher(mark, this.#mark)) this.#mark = mark
    return mark !== undefined
  }

  /** A file that was damaged while this process runs is written again from memory. */
  async #adoptAll(): Promise<void> {
    for (const file of this.#parts.files) {
      try {
        await this.#adopt(file)
      } catch (error) {
        if (!(error instanceof MarkFileError)) throw error
        this.#parts.log.error('high-water mark file damaged, rewritten', { alarm: true, file })
      }
    }
  }

  /** True from a lost connection to the end of the next comparison. */
  get needsRecheck(): boolean {
    return this.#isSuspect
  }

  /** Compares. Rejects while the database does not respond. */
  async recheck(): Promise<void> {
    await this.#checks.read()
  }

  /** Compares, and updates the mark: after every change and every anchor, and every minute. */
  async writeMark(): Promise<void> {
    await this.#isWriting.read()
  }

  async #write(): Promise<void> {
    const { clock, database, networkName, files } = this.#parts
    // The versions are cheap to read. A list may be megabytes.
    const versions = JSON.stringify([...(await readVersions(database)).versions, await readLastAnchor(database.read)])
    const isWritten = versions === this.#written && clock.monotonicMs() - this.#writtenAt < WRITE_EVERY_MS
    if (isWritten && !this.#isSuspect && !this.isHalted()) return this.#memory.answer()
    const heads = await this.#checks.read()
    if (this.#memory.isMissing) await this.#memory.ask()
    if (this.isHalted()) return
    if (files.length === 0) return this.#memory.answer()
    // Missing entries stay in the mark. Otherwise the next start would not detect the loss.
    const stored = this.#isEvidenceBehind ? this.#mark : heads
    const evidence = { evidence: stored?.evidence ?? null, anchor: stored?.anchor ?? null }
    const written_at = writeInstant(clock.now())
    const mark = { mark_version: 1, network_name: networkName, written_at, ...heads, ...evidence } as const
    for (const file of files) await this.#writeFile(file, mark)
    this.#mark = mark
    this.#written = versions
    this.#writtenAt = clock.monotonicMs()
    // After the file: who finds the record finds the mark, too.
    await this.#memory.record()
  }

  async #writeFile(file: string, mark: HighWater): Promise<void> {
    const { database, signer } = this.#parts
    // The list of a mark is written once, before the first mark that names it.
    const list = mark.last_crl === null ? mark.crl : null
    const isNew = list !== null && this.#lists.get(file) !== list.digest
    if (isNew) await writeListFile(database.read, file, list)
    await writeMark(file, mark, signer)
    if (isNew) await removeListFiles(file, list.sequence)
    if (list !== null) this.#lists.set(file, list.digest)
  }

  /**
   * The text of the list that the mark names: a member of the mark, or a file next to it. Null when the mark names none,
   * undefined when the file is missing or damaged in all places.
   */
  async readLastList(): Promise<string | null | undefined> {
    const mark = this.#mark
    if (mark === undefined || mark.crl === null || mark.last_crl !== null) return mark?.last_crl ?? null
    for (const file of this.#parts.files) {
      const text = await readListFile(file, mark.crl)
      if (text !== undefined) return text
    }
    return undefined
  }

  /** Only the evidence store is disabled. The rest of the authority does not depend on the missing evidence. */
  #closeEvidence(isBehind: boolean): void {
    if (isBehind && !this.#isEvidenceBehind)
      this.#parts.log.error('evidence store disabled: acknowledged entries missing', { alarm: true })
    this.#isEvidenceBehind = isBehind
  }

  async #compare(): Promise<Heads> {
    const { database, log } = this.#parts
    const losses = this.#losses
    // Before the files: the record is written after its mark.
    const record = await this.#memory.read()
    // Marks of other instances count as well: their last commits may not be in our own mark yet.
    await this.#adoptAll()
    const heads = await readHeads(database.read)
    const recovery = await readRecovery(database.read)
    const found = this.#mark === undefined ? [] : await findRollback(database.read, heads, this.#mark, recovery.at)
    // A running instance must not accept a database while rows are still being copied into it.
    if (await isCopyUnfinished(database)) found.push('unfinished copy')
    found.push(...this.#findUnseen(await readVersions(database), recovery))
    const below = [...new Set(found)].filter((name) => name !== 'evidence')
    this.#closeEvidence(found.includes('evidence'))
    this.#memory.see(record, this.#mark !== undefined)
    this.#replayFloor = recovery.floor
    if (below.length > 0 && this.#below.length === 0)
      log.error('database rolled back: run chancery authority recover', {
        alarm: true,
        behind: below.join(', '),
      })
    if (below.length === 0 && this.#below.length > 0) log.info('database has reached the high-water mark again')
    this.#below = below
    // The connection was lost again in the meantime: the next caller compares again.
    if (losses === this.#losses) {
      this.#isSuspect = false
      if (below.length === 0) database.confirmServer()
    }
    return heads
  }

  /**
   * A version lower than one this process has read belongs to another history, whatever the age of the mark. A recovery
   * starts a new comparison.
   */
  #findUnseen(versions: Versions, recovery: LastRecovery): string[] {
    const before = this.#recovery
    if (before !== undefined && recovery.position < before.position) return ['recoveries']
    if (before === undefined || recovery.position > before.position) this.#seen.clear()
    this.#recovery = recovery
    const lower = [...versions.versions].filter(([name, version]) => version < (this.#seen.get(name) ?? -1))
    if (lower.length === 0) this.see(versions)
    return lower.map(([name]) => `${name} version`)
  }
}
