import { Refusal } from '@chancery/contract'
import type { Pin } from './pin.ts'
import { readFrom } from './read-document.ts'
import { StepFailureError } from './step-failure.ts'
import { readGenesis, readMetadata } from './run-pull.ts'
import type { PartnersState } from './state.ts'
import type { StoredGenesis } from './stored-facts.ts'

const INTRODUCTION_MS = 10_000

export interface Introduced {
  readonly network_name: string
  readonly genesis: StoredGenesis
  readonly metadata_mismatch: boolean
}

/** Reads genesis block and metadata of a partner that is added or pinned again. */
export async function introduce(
  parts: PartnersState,
  url: string,
  pin: Pin,
  sovereign_id: string | undefined,
): Promise<Introduced> {
  const signal = AbortSignal.timeout(INTRODUCTION_MS)
  const read = readFrom(parts, url, signal)
  const checking = { ...parts, checks: parts.checks.until(url, signal) }
  try {
    const { block, facts } = await readGenesis(checking, read, pin, sovereign_id)
    if (block.network_name === parts.network.name) throw new Refusal('partner_mismatch', { reason: 'own_sovereign' })
    const { isSame } = await readMetadata(checking, read, block)
    if (!isSame) throw new Refusal('partner_mismatch', { reason: 'metadata' })
    return { network_name: block.network_name, genesis: facts, metadata_mismatch: !isSame }
  } catch (error) {
    if (!(error instanceof StepFailureError)) throw error
    const isOther = error.outcome === 'unauthentic' || error.outcome === 'mismatch'
    throw new Refusal(isOther ? 'partner_mismatch' : 'partner_unreachable', { reason: error.outcome })
  }
}
