import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { FormError, anchorDigest, isJsonObject, orderAnchors, readReceived, storeAnchorForm } from '@chancery/protocol'
import type { JsonValue, StoreAnchor } from '@chancery/protocol'
import type { Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { errorCode, toFailure, typed } from '../../files/files.ts'
import { loadJsonObject } from '../../files/json-file.ts'

/** Loads the anchors of a folder, each sequence once. Two contents for one sequence are an error. */
export async function loadAnchors({ cwd }: CommandContext, options: Options): Promise<readonly StoreAnchor[]> {
  const named = options.text('anchors')
  if (named === undefined) return []
  const folder = resolve(cwd, named)
  const saved = await readSavedAnchors(cwd, folder)
  // Without an anchor, a cut or replaced store is not detected.
  if (saved.length === 0)
    throw usageError(
      `--with ${typed(cwd, folder)}: this folder contains no anchor.`,
      'Give the folder with the saved .json files of chancery evidence anchor --out, or leave it out.',
    )
  const { anchors, fork } = orderAnchors(saved.map(({ anchor }) => anchor))
  if (fork === undefined) return anchors
  const files = saved.filter(({ anchor }) => anchor.anchor_sequence === fork).map(({ file }) => typed(cwd, file))
  throw new CommandError({
    code: 'anchor_fork',
    message: `Two contents of anchor ${fork} are in ${typed(cwd, folder)}: ${[...new Set(files)].join(', ')}.`,
    hint: 'Each store has one. If the authority signed both, it rewrote its store: store copies of both elsewhere.',
  })
}

export interface SavedAnchor {
  readonly file: string
  readonly anchor: StoreAnchor
}

/** Reads every .json file of a folder: an anchor, a response with one, or a page of anchors. */
export async function readSavedAnchors(cwd: string, folder: string): Promise<readonly SavedAnchor[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw toFailure(error, folder, 'read')
  })
  const found: SavedAnchor[] = []
  for (const name of names.filter((each) => each.endsWith('.json')).sort()) {
    const file = join(folder, name)
    const value = await loadJsonObject(cwd, file)
    const page = Array.isArray(value['anchors']) ? (value['anchors'] as readonly JsonValue[]) : undefined
    for (const each of page ?? [isJsonObject(value['anchor']) ? value['anchor'] : value])
      found.push({ file, anchor: readAnchorFrom(file, each) })
  }
  return found
}

function readAnchorFrom(file: string, value: JsonValue): StoreAnchor {
  try {
    return readReceived(storeAnchorForm, value).record
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    throw new CommandError(
      { code: 'invalid_record', message: `${file} is not an anchor: ${error.message}.` },
      { cause: error },
    )
  }
}

/** What a folder knows of each sequence: the digests of its contents. More than one is a fork. */
export class KnownAnchors {
  readonly #digests = new Map<number, Set<string>>()
  #last = 0

  /** A folder that does not exist yet knows nothing. `check` throws for an anchor that must not count. */
  static async read(cwd: string, folder: string, check: (saved: SavedAnchor) => Promise<void>): Promise<KnownAnchors> {
    const known = new KnownAnchors()
    const saved = await readSavedAnchors(cwd, folder).catch((error: unknown) => {
      if (error instanceof CommandError && errorCode(error.cause) === 'ENOENT') return []
      throw error
    })
    for (const each of saved) {
      await check(each)
      known.#add(each.anchor)
    }
    return known
  }

  get last(): number {
    return this.#last
  }

  #add(anchor: StoreAnchor): void {
    const { anchor_sequence: sequence } = anchor
    this.#digests.set(sequence, (this.#digests.get(sequence) ?? new Set()).add(anchorDigest(anchor)))
    this.#last = Math.max(this.#last, sequence)
  }

  has(anchor: StoreAnchor): boolean {
    return this.#digests.get(anchor.anchor_sequence)?.has(anchorDigest(anchor)) === true
  }

  /** True for an anchor that cannot be in one chain with everything in the folder. */
  contradicts(anchor: StoreAnchor): boolean {
    const { anchor_sequence: sequence, previous_anchor_digest: previous } = anchor
    const differs = (at: number, digest: string): boolean =>
      [...(this.#digests.get(at) ?? [])].some((known) => known !== digest)
    return differs(sequence, anchorDigest(anchor)) || differs(sequence - 1, previous ?? '')
  }
}
