import { type PolicyManifest, visible } from '@chancery/protocol'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'

/** Returns one manifest as text. */
export function describePolicy(policy: PolicyManifest, signature: string, style: Style): string {
  const rows = fields(
    [
      ['issued at', policy.issued_at],
      ['issued by', policy.issued_by],
      ['signature', signature],
      ['minimum client', policy.min_client_version],
      ['allowed ports', listed(policy.allowed_ports.map(String))],
      ['allowed services', listed(policy.allowed_services)],
      ['transports', listed(policy.routing.preferred_transports)],
      ['maximum hops', String(policy.routing.max_hops)],
    ],
    style,
  )
  return `${style.title(visible(policy.policy_id))}\n${rows}`
}

function listed(words: readonly string[]): string {
  return words.length === 0 ? '-' : words.join(', ')
}
