import type { GenesisBlock } from '@chancery/protocol'
import type { Findings } from './findings.ts'
import { LIST_BYTES } from './pull-context.ts'
import type { ReadFrom } from './read-document.ts'
import type { PullingParts } from './state.ts'
import { StepFailureError } from './step-failure.ts'

/**
 * Whether the partner announces its next key, so that treaties can name it before it signs. It decides nothing: the key
 * counts when it is in the genesis block. So a document that cannot be read leaves what is known, and fails no pull.
 */
export async function readSuccessionStep(
  parts: PullingParts,
  findings: Findings,
  read: ReadFrom,
  { genesis, announcesKey }: { readonly genesis: GenesisBlock; readonly announcesKey: boolean },
): Promise<void> {
  const { succession: stored, ...facts } = findings.facts
  if (!announcesKey) {
    findings.facts = facts
    return
  }
  // The announced key may be in force by now, and the document the same.
  const isKnown = stored !== undefined && stored.announced?.public_key !== genesis.network_authority.public_key
  const etag = isKnown ? stored.etag : undefined
  try {
    const found = await read({ path: '/key-succession', maxBytes: LIST_BYTES, mayLack: true, etag })
    if (found.status === 304) return
    if (found.status === 404) {
      findings.facts = facts
      return
    }
    const announced = await parts.checks.run('succession', { blocks: found.blocks, genesis })
    const tag = found.etag === undefined ? {} : { etag: found.etag }
    findings.facts = { ...facts, succession: { announced, ...tag } }
    if (announced?.public_key !== stored?.announced?.public_key) findings.changed.push('key_succession')
  } catch (error) {
    if (!(error instanceof StepFailureError)) throw error
  }
}
