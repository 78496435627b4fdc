import { readFile, stat } from 'node:fs/promises'
import { isOperatorsFileError, readOperatorsFile } from '@chancery/contract'
import { sha256Hex, toUtf8 } from '@chancery/protocol'
import type { Log } from '@chancery/service-kit'
import { listNewestEvents } from '../audit/newest.ts'
import type { Audit } from '../audit/record.ts'
import type { Database, Reader } from '../database/database.ts'
import { type LiveKeyring, type OperatorKeyring, buildKeyring } from './operator-keys.ts'

export interface OperatorsFileParts {
  readonly path: string
  readonly ring: LiveKeyring
  /** Keys that no operator may have: those of the root and of the authority. */
  /** Keys of the network. They change with a key succession. */
  readonly reserved: () => readonly string[]
  readonly instance: string
  readonly database: Database
  readonly audit: Audit
  readonly log: Log
  /** True while nothing may be written, because the database is rolled back. */
  readonly isHalted: () => boolean
}

/** Enough for 1000 operators and 1000 former ones. */
const MAX_BYTES = 1_048_576

/**
 * Reads the operators file again when it has changed. The state of the file is compared for every operator request, so
 * a removed operator is refused from the next request on. The audit event is stored before the new operators apply. A
 * file that cannot be used leaves the former operators in place, because an incomplete edit must not lock out all
 * operators. Revoked ids and public keys stay refused, whatever the file lists: they are checked after the keyring.
 */
export class OperatorsFileReader {
  readonly #parts: OperatorsFileParts
  #seen: string | undefined
  #isFirst = true
  #reading: Promise<void> | undefined

  constructor(parts: OperatorsFileParts) {
    this.#parts = parts
  }

  async refresh(): Promise<void> {
    // A reading that began before the last change does not count, so the state is compared again after it.
    while (!this.#parts.isHalted() && (await fileState(this.#parts.path)) !== this.#seen) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = undefined
      })
      await this.#reading
    }
  }

  async #read(): Promise<void> {
    const { path, ring, log } = this.#parts
    const seen = await fileState(path)
    const loaded = await this.#load()
    if ('problem' in loaded) {
      log.error('operators file not usable, former operators stay', {
        alarm: true,
        file: path,
        problem: loaded.problem,
      })
      this.#seen = seen
      return
    }
    await this.#record(loaded.ring)
    ring.replace(loaded.ring)
    this.#isFirst = false
    this.#seen = seen
  }

  async #load(): Promise<{ readonly ring: OperatorKeyring } | { readonly problem: string }> {
    try {
      // The read of a pipe would never end, and every operator request waits for it.
      const found = await stat(this.#parts.path)
      if (!found.isFile() || found.size > MAX_BYTES) return { problem: `it is not a file of up to ${MAX_BYTES} bytes` }
      const { operators } = readOperatorsFile(await readFile(this.#parts.path, 'utf8'))
      const { ring, problems } = buildKeyring(
        new Map(operators.map(({ key_id, public_key }) => [key_id, public_key])),
        new Map(operators.map(({ key_id, tier }) => [key_id, tier])),
      )
      const keys = this.#parts.reserved()
      const reserved = operators.find(({ public_key }) => keys.includes(public_key))
      if (reserved !== undefined) return { problem: `${reserved.key_id} is the root or authority key` }
      return problems[0] === undefined ? { ring } : { problem: problems[0] }
    } catch (error) {
      if (isOperatorsFileError(error)) return { problem: error.message }
      if (error instanceof Error && 'code' in error) return { problem: `it cannot be read (${String(error.code)})` }
      throw error
    }
  }

  /** Compares with the last event, so that a change during a stop is recorded, and by one instance only. */
  async #record(ring: OperatorKeyring): Promise<void> {
    const { database, audit, instance } = this.#parts
    const operators = describeRing(ring)
    await database.write(async (tx) => {
      await tx.lock('operator-keys')
      const before = new Set(await recordedOperators(tx.query))
      const after = new Set(operators)
      const added = operators.filter((each) => !before.has(each))
      const removed = [...before].filter((each) => !after.has(each))
      if (added.length === 0 && removed.length === 0) return
      const cause = this.#isFirst ? 'start' : 'reload'
      await audit.record(tx, { type: 'operator_keys_changed', details: { cause, added, removed, operators, instance } })
    })
  }
}

/** Returns the operators of the newest event that recorded a change of their keys. */
async function recordedOperators(db: Reader): Promise<readonly string[]> {
  const [text] = await listNewestEvents(db, ['operator_keys_changed'], 1)
  if (text === undefined) return []
  const { details } = JSON.parse(text) as { readonly details: { readonly operators?: readonly string[] } }
  return details.operators ?? []
}

/** Equal as long as the file is the same. A missing file has a state, too. */
async function fileState(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
  }
}

function describeRing(ring: OperatorKeyring): readonly string[] {
  return [...ring.values()]
    .map(({ key_id, tier, publicKey }) => `${key_id} ${tier} ${sha256Hex(toUtf8(publicKey)).slice(0, 16)}`)
    .sort()
}
