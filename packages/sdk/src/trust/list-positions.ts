import { isJsonObject, member, readJson, writeJson } from '@chancery/protocol'
import type { AdvanceRefusal, JsonObject, JsonValue, ListPosition } from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import type { KeyStore } from '../node/followed.ts'

/** The position of the newest accepted list of a key id, over restarts. */
interface Stored {
  readonly sequence: number
  readonly entries_digest: string
}

/**
 * The newest accepted list of each key, over restarts: without it, a party that starts again takes an older list, in which
 * the latest revocations are missing.
 */
export class ListPositions {
  readonly #store: KeyStore
  readonly #stored: Map<string, Stored>

  private constructor(store: KeyStore, stored: Map<string, Stored>) {
    this.#store = store
    this.#stored = stored
  }

  /** Throws UsageError for a stored text that cannot be read: a party without its memory must not accept any list. */
  static async open(store: KeyStore): Promise<ListPositions> {
    const text = await store.read('positions')
    return new ListPositions(store, text === undefined ? new Map() : readPositions(text))
  }

  /** Returns why a list must not be the first of its key in this run. An earlier signing of the same entries may be. */
  findProblem({ issuer, sequence, entriesDigest }: ListPosition): AdvanceRefusal | undefined {
    const stored = this.#stored.get(issuer)
    if (stored === undefined || sequence > stored.sequence) return undefined
    if (sequence < stored.sequence) return 'rollback'
    return entriesDigest === stored.entries_digest ? undefined : 'equivocation'
  }

  /** Stores the position of an accepted list, when it is newer. */
  async accept({ issuer, sequence, entriesDigest }: ListPosition): Promise<void> {
    const stored = this.#stored.get(issuer)
    if (stored !== undefined && sequence <= stored.sequence) return
    const next = new Map(this.#stored).set(issuer, { sequence, entries_digest: entriesDigest })
    await this.#store.write('positions', writeJson(Object.fromEntries(next) as unknown as JsonObject))
    this.#stored.set(issuer, { sequence, entries_digest: entriesDigest })
  }
}

function readPositions(text: string): Map<string, Stored> {
  const value = readOrUndefined(text)
  const entries = isJsonObject(value) ? Object.entries(value) : [['', null] as const]
  return new Map(
    entries.map(([issuer, position]) => {
      const [sequence, digest] = isJsonObject(position)
        ? [member(position, 'sequence'), member(position, 'entries_digest')]
        : []
      if (typeof sequence !== 'number' || !Number.isSafeInteger(sequence) || typeof digest !== 'string')
        throw new UsageError('the stored positions of lists are damaged: restore them, or begin with an empty store')
      return [issuer, { sequence, entries_digest: digest }]
    }),
  )
}

function readOrUndefined(text: string): JsonValue | undefined {
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}
