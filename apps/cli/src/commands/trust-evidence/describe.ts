import type { TrustEvidence } from '@chancery/protocol'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'

export function describeEvidence(evidence: TrustEvidence, style: Style): string {
  return fields(
    [
      ['evidence', evidence.evidence_id],
      ['issuer', evidence.issuer_sovereign_id],
      ['about', `${evidence.source_sovereign_id} ──▶ ${evidence.target_sovereign_id}`],
      ['verdict', `${evidence.verdict}${evidence.reason === '' ? '' : ` (${evidence.reason})`}`],
      ['hops', String(evidence.hop_count)],
      ['graph', evidence.graph_digest],
    ],
    style,
  )
}
