import { type GenesisBlock, type Instant, NO_POLICY_MANIFEST, instantOf } from '@chancery/protocol'
import { genesisFingerprint } from '../../files/genesis-file.ts'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'

/** Returns the facts of a block that a person must check before using it. */
export function describeGenesis(block: GenesisBlock, now: Instant, style: Style): string {
  const { network_authority: authority, signatures, bootstrap_anchors: anchors } = block
  return fields(
    [
      ['network', `${block.network_name} ${block.network_version}`],
      ['fingerprint', genesisFingerprint(block)],
      ['root key', block.root_public_key],
      ['authority key', authority.public_key],
      ['valid', `${authority.valid_from} to ${authority.valid_to}${windowText(block, now)}`],
      ['policy', block.policy_manifest.hash === NO_POLICY_MANIFEST ? 'none pinned' : block.policy_manifest.hash],
      ['anchors', anchors.length === 0 ? '-' : anchors.map(({ id, endpoint }) => `${id} (${endpoint})`).join(', ')],
      ['signed by', signatures.length === 0 ? 'not signed' : signatures.map((each) => each.key_id).join(', ')],
    ],
    style,
  )
}

/** Whether the authority may sign now; an authority refuses to start outside this window. */
export function windowOf({ network_authority: authority }: GenesisBlock, now: Instant): 'open' | 'not_yet' | 'over' {
  if (now < instantOf(authority.valid_from)) return 'not_yet'
  return now > instantOf(authority.valid_to) ? 'over' : 'open'
}

function windowText(block: GenesisBlock, now: Instant): string {
  const texts = { open: '', not_yet: ' (not yet)', over: ' (over: the authority will not start with it)' } as const
  return texts[windowOf(block, now)]
}
