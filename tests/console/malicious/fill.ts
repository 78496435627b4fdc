import type { MaliciousSetup } from './setup.ts'
import { networkFields } from './network-fields.ts'
import { nodeFields } from './node-fields.ts'
import type { Fields } from './requests.ts'
import { ruleFields } from './rule-fields.ts'

/** How many texts each field stored, 0 included, and addresses of the console that show one of each. */
export interface Filled {
  readonly stored: Record<string, number>
  readonly addresses: string[]
}

/**
 * Writes each text into every field that a node, a partner or an operator can fill, with the requests they would send.
 * A text that the authority refuses is stored nowhere.
 */
export async function fillMalicious(setup: MaliciousSetup, texts: readonly string[]): Promise<Filled> {
  const filled: Filled = { stored: {}, addresses: [] }
  for (const [number, text] of texts.entries())
    for (const [field, write] of Object.entries(fieldsOf(setup, text, number))) {
      const addresses = await write().catch(() => undefined)
      const before = filled.stored[field] ?? 0
      filled.stored[field] = before + (addresses === undefined ? 0 : 1)
      if (before === 0) filled.addresses.push(...(addresses ?? []))
    }
  return filled
}

const fieldsOf = (setup: MaliciousSetup, text: string, number: number): Fields => ({
  ...nodeFields(setup, text, number),
  ...networkFields(setup, text, number),
  ...ruleFields(setup, text, number),
})
