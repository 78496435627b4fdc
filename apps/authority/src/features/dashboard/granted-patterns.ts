import { FormError, JsonError, readJson, readRecognitionTreaty, treatyCapabilities } from '@chancery/protocol'
import type { Core } from '../../core.ts'
import type { TreatyRow } from '../connectome/index.ts'
import { listTreatyTexts } from './queries.ts'

/** `capability_patterns`: number of capabilities and patterns that the treaty grants in decisions. */
export type GrantingTreatyRow = TreatyRow & { readonly capability_patterns: number }

/** Number of capability patterns per treaty. A treaty never changes, so each text is read once while it is shown. */
export class GrantedPatterns {
  readonly #database: Core['database']
  #counts: ReadonlyMap<string, number> = new Map()

  constructor({ database }: Pick<Core, 'database'>) {
    this.#database = database
  }

  async addTo(rows: readonly TreatyRow[]): Promise<readonly GrantingTreatyRow[]> {
    const known = this.#counts
    const missing = rows.flatMap(({ treaty_id }) => (known.has(treaty_id) ? [] : [treaty_id]))
    const texts = missing.length === 0 ? [] : await listTreatyTexts(this.#database.read, missing)
    const read = new Map(texts.map(({ treaty_id, treaty_json }) => [treaty_id, countPatterns(treaty_json)]))
    const counted = rows.map((row) => {
      const { treaty_id } = row
      return { ...row, capability_patterns: known.get(treaty_id) ?? read.get(treaty_id) ?? 0 }
    })
    // Only the treaties that are shown stay in memory.
    this.#counts = new Map(counted.map((row) => [row.treaty_id, row.capability_patterns]))
    return counted
  }
}

function countPatterns(text: string): number {
  try {
    return treatyCapabilities(readRecognitionTreaty(readJson(text)).scope)?.length ?? 0
  } catch (error) {
    // The check of stored treaties reports such a text. It grants nothing.
    if (error instanceof JsonError || error instanceof FormError) return 0
    throw error
  }
}
